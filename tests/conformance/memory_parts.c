/* memory_parts.c: pools, the cache of pinned memory, guard and poison, as each backend has them. */
#include "conformance.h"

enum { MIB = 1024 * 1024 };

/* The settings of the whole run, while a test has its own. */
static char settings_before[1024];

static accel_status begin_settings(const char *settings)
{
    const accel_status status = accel_allocator_get_config(settings_before, sizeof settings_before,
                                                           NULL);
    return status == ACCEL_OK ? accel_allocator_set_config(settings) : status;
}

static accel_status end_settings(void)
{
    return accel_allocator_set_config(settings_before);
}

/* What is freed into a pool is handed out by it alone, and copies and fills take it as any memory. */
static void use_pool(cf_run *run)
{
    enum { SIZE = 3 * MIB };
    accel_memory_pool *own = NULL;
    void *memory[3] = {NULL};
    uint32_t back[4] = {0};
    size_t size = 0;
    const uint32_t pattern = 0x12345678;
    OK(accel_memory_pool_create(run->device, NULL, &own));
    const accel_memory_options options = {.struct_size = sizeof options, .pool = own};
    OK(accel_memory_alloc(run->stream, SIZE, &options, &memory[0]));
    OK(accel_fill(memory[0], &pattern, 4, SIZE, run->stream));
    OK(accel_copy(back, (char *)memory[0] + SIZE - sizeof back, sizeof back, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(back[0] == pattern && back[3] == pattern);
    OK(accel_memory_free(memory[0]));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory[1]));
    OK(accel_memory_alloc(run->stream, SIZE, &options, &memory[2]));
    CHECK(memory[1] != memory[0]);
    CHECK(memory[2] == memory[0]);
    OK(accel_memory_free(memory[1]));
    OK(accel_memory_free(memory[2]));
    OK(accel_stream_synchronize(run->stream));
    OK(accel_memory_pool_trim(own, &size));
    CHECK(size >= SIZE);
    OK(accel_memory_pool_release(own));
    GIVES(accel_memory_alloc(run->stream, SIZE, &options, &memory[0]),
          ACCEL_ERROR_INVALID_ARGUMENT);
}

static void use_pinned_cache(cf_run *run)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_host_memory_statistics figures = {.struct_size = sizeof figures};
    void *memory = NULL;
    void *again = NULL;
    OK(accel_empty_host_cache());
    OK(accel_host_memory_stats(run->device, &figures));
    CHECK(figures.active_requests.current == 0 && figures.reserved_bytes.current == 0);
    OK(accel_memory_alloc(run->stream, MIB + 1, &options, &memory));
    memset(memory, 1, MIB + 1);
    OK(accel_host_memory_stats(run->device, &figures));
    CHECK(figures.requested_bytes.current == MIB + 1);
    CHECK(figures.active_bytes.current == MIB + 4096);
    OK(accel_memory_free(memory));
    OK(accel_memory_alloc(run->stream, MIB + 1, &options, &again));
    CHECK(again == memory);
    OK(accel_memory_free(again));
    OK(accel_empty_host_cache());
    OK(accel_host_memory_stats(run->device, &figures));
    CHECK(figures.active_requests.current == 0 && figures.reserved_bytes.current == 0);
}

/* A freed block of pinned memory is the program's again only when the copies from it have passed. */
static void pinned_reuse(cf_run *run)
{
    enum { SIZE = 100000 };
    static unsigned char back[SIZE];
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    void *host[2] = {NULL};
    void *memory = NULL;
    OK(accel_memory_alloc(run->stream, SIZE, &options, &host[0]));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory));
    memset(host[0], 7, SIZE);
    OK(cf_hold(run, run->stream));
    OK(accel_copy(memory, host[0], SIZE, run->stream));
    OK(accel_memory_free(host[0]));
    OK(accel_memory_alloc(run->stream, SIZE, &options, &host[1]));
    memset(host[1], 9, SIZE);
    cf_let_go(run);
    OK(accel_copy(back, memory, SIZE, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < SIZE; i++)
        CHECK(back[i] == 7);
    OK(accel_memory_free(host[1]));
    OK(accel_memory_free(memory));
}

/* A kernel that writes one element too many is found; one that does not is not. */
static accel_status write_and_free(cf_run *run, uint32_t count)
{
    const uint32_t zero = 0;
    void *memory = NULL;
    accel_status status = accel_memory_alloc(run->stream, 1000, NULL, &memory);
    if (status == ACCEL_OK)
        status = accel_fill(memory, &zero, 4, 1000, run->stream);
    if (status == ACCEL_OK)
        status = cf_launch_add(run, run->stream, memory, 5, count);
    const accel_status freed = accel_memory_free(memory);
    return status == ACCEL_OK ? freed : status;
}

static void guard(cf_run *run)
{
    if (!cf_has_kernels(run))
        SKIP("no kernels");
    OK(begin_settings("guard:True"));
    const accel_status good = write_and_free(run, 250);
    const accel_status bad = write_and_free(run, 251);
    OK(end_settings());
    GIVES(good, ACCEL_OK);
    GIVES(bad, ACCEL_ERROR_CORRUPTED);
    CHECK(strstr(accel_last_error_message(), "byte 1 behind its end (offset 1000)") != NULL);
}

static void poison(cf_run *run)
{
    unsigned char back[64] = {0};
    void *memory = NULL;
    OK(begin_settings("poison:True"));
    const accel_status status = accel_memory_alloc(run->stream, 1000, NULL, &memory);
    OK(end_settings());
    GIVES(status, ACCEL_OK);
    OK(accel_copy(back, (char *)memory + 1000 - sizeof back, sizeof back, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (size_t i = 0; i < sizeof back; i++)
        CHECK(back[i] == 0xa5);
    OK(accel_memory_free(memory));
}

static void pool(cf_run *run)
{
    OK(begin_settings(""));
    use_pool(run);
    OK(end_settings());
}

static void pinned_cache(cf_run *run)
{
    OK(begin_settings(""));
    use_pinned_cache(run);
    OK(end_settings());
}

const cf_test cf_memory_parts_tests[] = {
    {"memory-parts/pool", pool},
    {"memory-parts/pinned-cache", pinned_cache},
    {"memory-parts/pinned-reuse", pinned_reuse},
    {"memory-parts/guard", guard},
    {"memory-parts/poison", poison},
    {NULL, NULL},
};
