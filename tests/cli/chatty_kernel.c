/* chatty_kernel.c: a native object for `accel run` that prints to standard output when it is loaded, when
 * it runs and when the process ends, as some drivers do. None of it may stand among the results. */
#include <accel/cpu.h>
#include <stdio.h>
#include <unistd.h>

static void chat(const char *text)
{
    printf("printf: %s\n", text);
    fflush(stdout);
    dprintf(STDOUT_FILENO, "write: %s\n", text);
}

static void __attribute__((constructor)) when_loaded(void)
{
    chat("loaded");
}

static void __attribute__((destructor)) when_the_process_ends(void)
{
    chat("ending");
}

static const char *run(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    int32_t *data = *(int32_t **)launch->arguments[0];
    for (uint64_t block = first; block < last; block++)
        for (uint32_t item = 0; item < launch->block[0]; item++)
            data[block * launch->block[0] + item] = 42;
    chat("running");
    printf("left in the buffer");
    return NULL;
}

static const accel_param params[] = {
    {"data", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_I32, 1, 0, sizeof(int32_t)}};
static const accel_cpu_kernel kernels[] = {
    {.name = "chat", .function = run, .params = params, .param_count = 1}};

/* What an object exports. */
extern const accel_cpu_object accel_cpu_module;
const accel_cpu_object accel_cpu_module = {ACCEL_CPU_ABI, 1, kernels};
