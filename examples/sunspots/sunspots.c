/* sunspots.c: the length of the sunspot cycle, found on whatever accelerator there is.
 * Usage: sunspots FOLDER, where FOLDER has sunspots.csv, periodogram.cl and strongest.cl. */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_MAX = 1024, TRIALS = 4096, BLOCK = 64 };

static void check(accel_status status)
{
    if (status == ACCEL_OK)
        return;
    fprintf(stderr, "sunspots: %s\n", accel_last_error_message());
    exit(1);
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static uint32_t read_numbers(const char *folder, float *numbers)
{
    char line[128];
    int year;
    uint32_t count = 0;
    FILE *file = open_file(folder, "sunspots.csv");
    while (count < NUMBER_MAX && fgets(line, sizeof line, file) != NULL)
        count += sscanf(line, "%d,%f", &year, &numbers[count]) == 2;
    fclose(file);
    return count;
}

static accel_module *compile(const char *folder, const char *name, accel_kernel **kernel)
{
    char source[8192];
    accel_module *module;
    accel_module_options options = {.struct_size = sizeof options, .file_name = name};
    FILE *file = open_file(folder, name);
    size_t size = fread(source, 1, sizeof source, file);
    fclose(file);
    check(accel_module_create_from_source(ACCEL_DEVICE_CURRENT, source, size, &options, &module));
    check(accel_module_get_kernel_at(module, 0, kernel));
    return module;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    float numbers[NUMBER_MAX], longest = 100, shortest = 2, answer[2];
    uint32_t count = read_numbers(folder, numbers), trials = TRIALS;
    void *series, *periods, *powers, *result;
    accel_kernel *periodogram, *strongest;
    accel_device_info info = {.struct_size = sizeof info};

    check(accel_device_describe(ACCEL_DEVICE_CURRENT, &info));
    printf("%u yearly numbers on %s\n", count, info.name);
    accel_module *first = compile(folder, "periodogram.cl", &periodogram);
    accel_module *second = compile(folder, "strongest.cl", &strongest);
    check(accel_memory_alloc(NULL, sizeof numbers, NULL, &series));
    check(accel_memory_alloc(NULL, TRIALS * sizeof(float), NULL, &periods));
    check(accel_memory_alloc(NULL, TRIALS * sizeof(float), NULL, &powers));
    check(accel_memory_alloc(NULL, sizeof answer, NULL, &result));
    check(accel_copy(series, numbers, count * sizeof numbers[0], NULL));

    const accel_kernel_arg trial[] = {ACCEL_ARG_POINTER(series), ACCEL_ARG_VALUE(count),
                                      ACCEL_ARG_VALUE(longest),  ACCEL_ARG_VALUE(shortest),
                                      ACCEL_ARG_VALUE(trials),   ACCEL_ARG_POINTER(periods),
                                      ACCEL_ARG_POINTER(powers)};
    check(accel_kernel_launch(
        periodogram, NULL, &(accel_launch_shape){{TRIALS / BLOCK, 1, 1}, {BLOCK, 1, 1}}, trial, 7));
    const accel_kernel_arg pick[] = {
        ACCEL_ARG_POINTER(periods), ACCEL_ARG_POINTER(powers), ACCEL_ARG_VALUE(trials),
        ACCEL_ARG_LOCAL(BLOCK * sizeof(uint32_t)), ACCEL_ARG_POINTER(result)};
    check(accel_kernel_launch(strongest, NULL, &(accel_launch_shape){{1, 1, 1}, {BLOCK, 1, 1}},
                              pick, 5));
    check(accel_copy(answer, result, sizeof answer, NULL));
    check(accel_synchronize(ACCEL_DEVICE_CURRENT));
    printf("Strongest period: %.2f years\n", (double)answer[0]);

    void *memory[] = {series, periods, powers, result};
    for (int i = 0; i < 4; i++)
        check(accel_memory_free(memory[i]));
    accel_module_release(first);
    accel_module_release(second);
    return answer[0] > 10 && answer[0] < 12 ? 0 : 1;
}
