/* SPDX-License-Identifier: MIT
 * random_fill.c: prints the median time of a fill of 256 KiB on cpu:0 in nanoseconds, through the public
 * API. A process of its own, so that ACCEL_CPU_THREADS and ACCEL_CPU_SIMD, which it is given, hold.
 *
 *   bench_random_fill raw|uniform|normal
 */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 65536, FILLS = 40, SAMPLES = 15 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static accel_status fill(const char *kind, void *memory, accel_generator *generator,
                         accel_stream *stream)
{
    if (strcmp(kind, "raw") == 0)
        return accel_random_raw(memory, ACCEL_DATA_TYPE_U32, COUNT, generator, stream);
    if (strcmp(kind, "uniform") == 0)
        return accel_random_uniform(memory, ACCEL_DATA_TYPE_F32, COUNT, generator, stream);
    return accel_random_normal(memory, ACCEL_DATA_TYPE_F32, COUNT, generator, stream);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static accel_status sample(const char *kind, void *memory, accel_generator *generator,
                           accel_stream *stream, double *out_time)
{
    accel_status status = ACCEL_OK;
    const double begin = now();
    for (int i = 0; status == ACCEL_OK && i < FILLS; i++)
        status = fill(kind, memory, generator, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    *out_time = (now() - begin) / FILLS;
    return status;
}

/* A name of ACCEL_CPU_SIMD that this processor has not is told through the log, and measured as nothing. */
static bool refused;

static void on_log(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)backend, (void)user;
    refused = refused ||
              (level == ACCEL_LOG_LEVEL_WARNING && strstr(text, "ACCEL_CPU_SIMD") != NULL);
}

int main(int argc, char **argv)
{
    double times[SAMPLES];
    accel_device device;
    accel_stream *stream = NULL;
    accel_generator *generator = NULL;
    void *memory = NULL;
    if (argc != 2)
        return 2;
    accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, on_log, NULL);
    accel_status status = accel_device_parse("cpu:0", &device);
    if (status == ACCEL_OK)
        status = accel_stream_create(device, NULL, &stream);
    if (status == ACCEL_OK)
        status = accel_generator_create(device, &generator);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, COUNT * 4, NULL, &memory);
    if (status == ACCEL_OK) /* touches the memory, wakes everything */
        status = sample(argv[1], memory, generator, stream, &times[0]);
    for (int i = 0; status == ACCEL_OK && i < SAMPLES; i++)
        status = sample(argv[1], memory, generator, stream, &times[i]);
    if (status != ACCEL_OK || refused) {
        fprintf(stderr, "%s\n", accel_last_error_message());
        return 1;
    }
    qsort(times, SAMPLES, sizeof times[0], by_value);
    printf("%.1f\n", times[SAMPLES / 2]);
    return 0;
}
