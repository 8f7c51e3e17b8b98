/* fork_safe.c: a job of several processes. The parent asks what there is and never uses a device, so
 * each child may: the pattern of data loaders, servers and test runners.
 *
 * Each worker adds the squares of its share of 1 … n by a kernel and reports the sum through a pipe.
 * The parent compares the total with n (n + 1) (2 n + 1) / 6, which nobody had to add up. */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 4, SHARE = 1 << 18, BLOCK = 128, BLOCKS = SHARE / BLOCK };

static const char source[] =
    "__kernel void squares(ulong first, __local ulong *part, __global ulong *sums)\n"
    "{\n"
    "    uint self = get_local_id(0);\n"
    "    ulong x = first + get_global_id(0);\n"
    "    part[self] = x * x;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {\n"
    "        if (self < half_size)\n"
    "            part[self] += part[self + half_size];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (self == 0)\n"
    "        sums[get_group_id(0)] = part[0];\n"
    "}\n";

static void check(accel_status status)
{
    if (status == ACCEL_OK)
        return;
    fprintf(stderr, "fork_safe: %s\n", accel_last_error_message());
    exit(1);
}

/* In a child: everything that touches the device happens here. */
static uint64_t add_squares(accel_device device, uint64_t first)
{
    static uint64_t sums[BLOCKS];
    uint64_t total = 0;
    void *memory;
    accel_stream *stream;
    accel_module *module;
    accel_kernel *kernel;
    check(accel_stream_default(device, &stream));
    check(accel_module_create_from_source(device, source, strlen(source), NULL, &module));
    check(accel_module_get_kernel(module, "squares", &kernel));
    check(accel_memory_alloc(stream, sizeof sums, NULL, &memory));
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(first), ACCEL_ARG_LOCAL(BLOCK * sizeof first),
                                     ACCEL_ARG_POINTER(memory)};
    const accel_launch_shape shape = {{BLOCKS, 1, 1}, {BLOCK, 1, 1}};
    check(accel_kernel_launch(kernel, stream, &shape, args, 3));
    check(accel_copy(sums, memory, sizeof sums, stream));
    check(accel_stream_synchronize(stream));
    check(accel_memory_free(memory));
    accel_module_release(module);
    for (int i = 0; i < BLOCKS; i++)
        total += sums[i];
    return total;
}

/* Asking starts nothing: no driver, no thread, no device file. */
static accel_device ask(int32_t *out_count)
{
    accel_device device;
    check(accel_current_accelerator(true, &device));
    if (device.backend == ACCEL_BACKEND_NONE) {
        fputs("fork_safe: this machine has no usable accelerator\n", stderr);
        exit(1);
    }
    check(accel_device_count(device.backend, out_count));
    return device;
}

static void work(accel_device device, int worker, int report)
{
    uint64_t sum = add_squares(device, (uint64_t)worker * SHARE + 1);
    if (write(report, &sum, sizeof sum) != (ssize_t)sizeof sum)
        exit(1);
    exit(0);
}

int main(void)
{
    int32_t count = 0;
    int ends[2];
    uint64_t total = 0;
    uint64_t sum;
    bool good = true;
    accel_device device = ask(&count);
    if (pipe(ends) != 0)
        return 1;
    printf("%d workers on %d device(s) of %s\n", WORKERS, count,
           accel_backend_name(device.backend));
    fflush(stdout);
    for (int worker = 0; worker < WORKERS; worker++)
        if (fork() == 0)
            work(ACCEL_DEVICE(device.backend, worker % count), worker, ends[1]);
    close(ends[1]);
    while (read(ends[0], &sum, sizeof sum) == (ssize_t)sizeof sum)
        total += sum;
    for (int worker = 0; worker < WORKERS; worker++) {
        int status = 0;
        good = wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
    }
    uint64_t n = (uint64_t)WORKERS * SHARE;
    uint64_t expected = n * (n + 1) / 2 * (2 * n + 1) / 3;
    good = good && total == expected;
    printf("1² + 2² + … + %llu² = %llu: %s\n", (unsigned long long)n, (unsigned long long)total,
           good ? "right" : "WRONG");
    return good ? 0 : 1;
}
