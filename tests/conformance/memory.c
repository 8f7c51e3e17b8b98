/* memory.c: allocation, alignment, pointers, ordered release, pinned memory. */
#include "conformance.h"

static void sizes_and_alignment(cf_run *run)
{
    const size_t sizes[] = {1, 2, 511, 512, 513, 4096, 100001, (size_t)3 << 20};
    void *blocks[sizeof sizes / sizeof sizes[0]];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        OK(accel_memory_alloc(run->stream, sizes[i], NULL, &blocks[i]));
        CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % ACCEL_MEMORY_ALIGNMENT == 0);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        OK(accel_memory_free(blocks[i]));
}

static void larger_alignment(cf_run *run)
{
    for (size_t alignment = 1024; alignment <= (size_t)1 << 20; alignment *= 4) {
        const accel_memory_options options = {.struct_size = sizeof options,
                                              .alignment = alignment};
        void *memory = NULL;
        OK(accel_memory_alloc(run->stream, 100, &options, &memory));
        CHECK((uintptr_t)memory % alignment == 0);
        OK(accel_memory_free(memory));
    }
}

static void nothing(cf_run *run)
{
    void *memory = run;
    OK(accel_memory_alloc(run->stream, 0, NULL, &memory));
    CHECK(memory == NULL);
    OK(accel_memory_free(NULL));
}

static void too_much(cf_run *run)
{
    void *memory = run;
    GIVES(accel_memory_alloc(run->stream, SIZE_MAX, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
    CHECK(memory == NULL);
    if (run->capability.max_allocation < (uint64_t)PTRDIFF_MAX)
        GIVES(accel_memory_alloc(run->stream, (size_t)run->capability.max_allocation + 1, NULL,
                                 &memory),
              ACCEL_ERROR_OUT_OF_MEMORY);
    OK(accel_memory_alloc(run->stream, 64, NULL, &memory));
    OK(accel_memory_free(memory));
}

static void pointers(cf_run *run)
{
    unsigned char *memory = NULL;
    accel_pointer_information about = {.struct_size = sizeof about};
    OK(accel_memory_alloc(run->stream, 1000, NULL, (void **)&memory));
    OK(accel_pointer_info(memory + 600, &about));
    CHECK(about.kind == ACCEL_MEMORY_KIND_DEVICE);
    CHECK(about.device.backend == run->device.backend && about.device.index == run->device.index);
    CHECK(about.base == memory && about.size == 1000 && about.offset == 600);
    CHECK(about.home_stream == run->stream);
    CHECK(about.host_readable == run->capability.host_access);
    OK(accel_pointer_info(&about, &about));
    CHECK(about.kind == ACCEL_MEMORY_KIND_UNKNOWN && about.host_readable && about.base == NULL);
    OK(accel_pointer_info(NULL, &about));
    CHECK(about.kind == ACCEL_MEMORY_KIND_UNKNOWN && !about.host_readable);
    OK(accel_memory_free(memory));
    OK(accel_pointer_info(memory, &about));
    CHECK(about.kind == ACCEL_MEMORY_KIND_UNKNOWN);
}

static void wrong_frees(cf_run *run)
{
    unsigned char *memory = NULL;
    int local = 0;
    OK(accel_memory_alloc(run->stream, 1000, NULL, (void **)&memory));
    GIVES(accel_memory_free(memory + 512), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_memory_free(&local), ACCEL_ERROR_INVALID_ARGUMENT);
    OK(accel_memory_free(memory));
    GIVES(accel_memory_free(memory), ACCEL_ERROR_INVALID_ARGUMENT);
}

static void host_access(cf_run *run)
{
    uint32_t *memory = NULL;
    uint32_t back = 0;
    if (!run->capability.host_access)
        SKIP("the host cannot touch this device's memory");
    OK(accel_memory_alloc(run->stream, 64, NULL, (void **)&memory));
    memory[3] = 77;
    OK(accel_copy(&back, &memory[3], 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(back == 77);
    back = 78;
    OK(accel_copy(&memory[3], &back, 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(memory[3] == 78);
    OK(accel_memory_free(memory));
}

/* Freed behind work that still uses it: nobody else gets it before that work has passed. */
static void ordered_free(cf_run *run)
{
    enum { SIZE = 4096, OTHERS = 6 };
    static unsigned char back[SIZE];
    void *memory = NULL;
    void *others[OTHERS];
    accel_stream *other = NULL;
    const uint32_t mine = 0x11111111;
    const uint32_t theirs = 0x22222222;
    OK(accel_stream_create(run->device, NULL, &other));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory));
    OK(accel_fill(memory, &mine, 4, SIZE, run->stream));
    OK(cf_hold(run, run->stream));
    OK(accel_copy(back, memory, SIZE, run->stream));
    OK(accel_memory_free(memory));
    for (int i = 0; i < OTHERS; i++) {
        OK(accel_memory_alloc(other, SIZE, NULL, &others[i]));
        OK(accel_fill(others[i], &theirs, 4, SIZE, other));
    }
    if (run->capability.concurrent_streams)
        OK(accel_stream_synchronize(other));
    cf_let_go(run);
    OK(accel_stream_synchronize(run->stream));
    for (int i = 0; i < SIZE; i++)
        CHECK(back[i] == 0x11);
    for (int i = 0; i < OTHERS; i++)
        OK(accel_memory_free(others[i]));
    accel_stream_release(other);
}

/* The same where another stream is the one that still uses it. */
static void recorded_stream(cf_run *run)
{
    enum { SIZE = 4096 };
    static unsigned char back[SIZE];
    void *memory = NULL;
    accel_stream *user = NULL;
    const uint32_t mine = 0x33333333;
    const uint32_t theirs = 0x44444444;
    OK(accel_stream_create(run->device, NULL, &user));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory));
    OK(accel_fill(memory, &mine, 4, SIZE, run->stream));
    OK(accel_stream_wait_stream(user, run->stream));
    OK(cf_hold(run, user));
    OK(accel_copy(back, memory, SIZE, user));
    OK(accel_record_stream(memory, user));
    OK(accel_memory_free(memory));
    for (int i = 0; i < 6; i++) {
        void *other = NULL;
        OK(accel_memory_alloc(run->stream, SIZE, NULL, &other));
        OK(accel_fill(other, &theirs, 4, SIZE, run->stream));
        OK(accel_memory_free(other));
    }
    OK(accel_stream_synchronize(run->stream));
    cf_let_go(run);
    OK(accel_stream_synchronize(user));
    for (int i = 0; i < SIZE; i++)
        CHECK(back[i] == 0x33);
    accel_stream_release(user);
}

/* With or without capability.pinned_memory: host memory that copies take. */
static void pinned(cf_run *run)
{
    enum { SIZE = 10000 };
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    unsigned char *host = NULL;
    void *memory = NULL;
    unsigned char expected[SIZE];
    accel_pointer_information about = {.struct_size = sizeof about};
    OK(accel_memory_alloc(run->stream, SIZE, &options, (void **)&host));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory));
    OK(accel_pointer_info(host + 9, &about));
    CHECK(about.kind == ACCEL_MEMORY_KIND_PINNED && about.host_readable && about.offset == 9);
    CHECK((uintptr_t)host % ACCEL_MEMORY_ALIGNMENT == 0);
    cf_pattern(host, SIZE, 3);
    cf_pattern(expected, SIZE, 3);
    OK(accel_copy(memory, host, SIZE, run->stream));
    OK(accel_stream_synchronize(run->stream));
    memset(host, 0, SIZE);
    OK(accel_copy(host, memory, SIZE, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(memcmp(host, expected, SIZE) == 0);
    const uint16_t pattern = 0x5aa5;
    OK(accel_fill(host, &pattern, 2, SIZE, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(host[0] == 0xa5 && host[SIZE - 1] == 0x5a);
    OK(accel_memory_free(host));
    OK(accel_memory_free(memory));
}

static void many_blocks(cf_run *run)
{
    enum { COUNT = 500 };
    unsigned char *blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        OK(accel_memory_alloc(run->stream, 1 + i * 13 % 3000, NULL, (void **)&blocks[i]));
    for (size_t i = 0; i < COUNT; i++) {
        accel_pointer_information about = {.struct_size = sizeof about};
        const size_t at = i * 271 % COUNT;
        OK(accel_pointer_info(blocks[at], &about));
        CHECK(about.base == blocks[at] && about.size == 1 + at * 13 % 3000);
        OK(accel_memory_free(blocks[at]));
    }
}

const cf_test cf_memory_tests[] = {
    {"memory/sizes-and-alignment", sizes_and_alignment},
    {"memory/larger-alignment", larger_alignment},
    {"memory/nothing", nothing},
    {"memory/too-much", too_much},
    {"memory/pointers", pointers},
    {"memory/wrong-frees", wrong_frees},
    {"memory/host-access", host_access},
    {"memory/ordered-free", ordered_free},
    {"memory/recorded-stream", recorded_stream},
    {"memory/pinned", pinned},
    {"memory/many-blocks", many_blocks},
    {NULL, NULL},
};
