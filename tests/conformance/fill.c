/* fill.c: fills with each pattern size. */
#include "conformance.h"

static const unsigned char pattern[8] = {9, 8, 7, 6, 5, 4, 3, 2};

static void patterns(cf_run *run)
{
    enum { SIZE = 1024 };
    unsigned char back[SIZE];
    void *memory = NULL;
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &memory));
    for (size_t size = 1; size <= 8; size *= 2) {
        for (size_t length = 8; length <= SIZE; length *= 2) {
            OK(accel_fill(memory, "\xee", 1, SIZE, run->stream));
            OK(accel_fill(memory, pattern, size, length, run->stream));
            OK(accel_copy(back, memory, SIZE, run->stream));
            OK(accel_stream_synchronize(run->stream));
            for (size_t i = 0; i < SIZE; i++)
                CHECK(back[i] == (i < length ? pattern[i % size] : 0xee));
        }
    }
    OK(accel_memory_free(memory));
}

static void from_the_middle(cf_run *run)
{
    unsigned char back[64];
    unsigned char *memory = NULL;
    OK(accel_memory_alloc(run->stream, 64, NULL, (void **)&memory));
    OK(accel_fill(memory, "", 1, 64, run->stream));
    OK(accel_fill(memory + 5, pattern, 1, 3, run->stream));
    OK(accel_fill(memory + 16, pattern, 8, 16, run->stream));
    OK(accel_copy(back, memory, 64, run->stream));
    OK(accel_stream_synchronize(run->stream));
    for (size_t i = 0; i < 64; i++)
        CHECK(back[i] == (i >= 5 && i < 8 ? 9 : i >= 16 && i < 32 ? pattern[i % 8] : 0));
    OK(accel_memory_free(memory));
}

static void pattern_is_copied(cf_run *run)
{
    uint32_t value = 17;
    uint32_t back = 0;
    void *memory = NULL;
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    OK(cf_hold(run, run->stream));
    OK(accel_fill(memory, &value, 4, 4, run->stream));
    value = 18;
    cf_let_go(run);
    OK(accel_copy(&back, memory, 4, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(back == 17);
    OK(accel_memory_free(memory));
}

static void refusals(cf_run *run)
{
    unsigned char host[16];
    unsigned char *memory = NULL;
    OK(accel_memory_alloc(run->stream, 64, NULL, (void **)&memory));
    GIVES(accel_fill(memory, pattern, 3, 63, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_fill(memory, pattern, 4, 62, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_fill(memory + 2, pattern, 4, 8, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_fill(host, pattern, 1, 16, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_fill(memory, NULL, 1, 16, run->stream), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_fill(memory, pattern, 8, 72, run->stream), ACCEL_ERROR_OUT_OF_RANGE);
    OK(accel_fill(memory, pattern, 4, 0, run->stream));
    OK(accel_stream_synchronize(run->stream));
    OK(accel_memory_free(memory));
}

const cf_test cf_fill_tests[] = {
    {"fill/patterns", patterns},
    {"fill/from-the-middle", from_the_middle},
    {"fill/pattern-is-copied", pattern_is_copied},
    {"fill/refusals", refusals},
    {NULL, NULL},
};
