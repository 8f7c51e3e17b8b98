/* stream.c: writes random numbers of accel to standard output, for ever, for programs that judge
 * generators:
 *
 *   random_stream raw | dieharder -a -g 200
 *   random_stream normal | dieharder -d 15 -g 200
 *
 * raw: the words. normal and exponential: the place of each float32 in its distribution, as 16 bits, two of
 * which make a word (a float32 does not have 32 bits of it). normal64: that of each float64, as 32 bits.
 * Seed: the second argument. Draws on cpu:0, by the public API alone. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/accel.h>

enum { COUNT = 1 << 18 };

typedef enum stream_kind { RAW, NORMAL, EXPONENTIAL, NORMAL64 } stream_kind;

static const char *const names[] = {"raw", "normal", "exponential", "normal64"};

static int fail(const char *what)
{
    fprintf(stderr, "random_stream: %s: %s\n", what, accel_last_error_message());
    return 1;
}

static accel_status draw(stream_kind kind, void *memory, accel_generator *generator,
                         accel_stream *stream)
{
    switch (kind) {
    case RAW:
        return accel_random_raw(memory, ACCEL_DATA_TYPE_U32, COUNT, generator, stream);
    case NORMAL:
        return accel_random_normal(memory, ACCEL_DATA_TYPE_F32, COUNT, generator, stream);
    case EXPONENTIAL:
        return accel_random_exponential(memory, ACCEL_DATA_TYPE_F32, COUNT, generator, stream);
    case NORMAL64:
        break;
    }
    return accel_random_normal(memory, ACCEL_DATA_TYPE_F64, COUNT, generator, stream);
}

/* A place in [0, 1] as a number of 32 bits. */
static uint32_t place(double probability)
{
    const double scaled = probability * 0x1p32;
    return scaled < 0x1p32 ? (uint32_t)scaled : UINT32_MAX;
}

static uint32_t place_of(stream_kind kind, const void *drawn, size_t i)
{
    const float *floats = drawn;
    const double *doubles = drawn;
    if (kind == NORMAL)
        return place(0.5 * erfc(-(double)floats[i] * M_SQRT1_2));
    if (kind == EXPONENTIAL)
        return place(-expm1(-(double)floats[i]));
    return place(0.5 * erfc(-doubles[i] * M_SQRT1_2));
}

/* Returns how many words it made. */
static size_t to_words(stream_kind kind, const void *drawn, uint32_t *words)
{
    if (kind == NORMAL64) {
        for (size_t i = 0; i < COUNT; i++)
            words[i] = place_of(kind, drawn, i);
        return COUNT;
    }
    for (size_t i = 0; i < COUNT; i += 2)
        words[i / 2] = (place_of(kind, drawn, i) & 0xffff0000u) |
                       place_of(kind, drawn, i + 1) >> 16;
    return COUNT / 2;
}

/* Until nobody reads any more. */
static int run(stream_kind kind, accel_generator *generator, accel_stream *stream, void *memory)
{
    static double drawn[COUNT];
    static uint32_t words[COUNT];
    const size_t size = COUNT * (kind == NORMAL64 ? sizeof(double) : sizeof(uint32_t));
    for (;;) {
        if (draw(kind, memory, generator, stream) != ACCEL_OK ||
            accel_copy(kind == RAW ? (void *)words : (void *)drawn, memory, size, stream) !=
                ACCEL_OK ||
            accel_stream_synchronize(stream) != ACCEL_OK)
            return fail("drawing");
        const size_t count = kind != RAW ? to_words(kind, drawn, words) : COUNT;
        if (fwrite(words, sizeof *words, count, stdout) != count)
            return 0;
    }
}

int main(int argc, char **argv)
{
    accel_device device;
    accel_stream *stream = NULL;
    accel_generator *generator = NULL;
    void *memory = NULL;
    int kind = 0;
    while (kind < 4 && (argc < 2 || strcmp(argv[1], names[kind]) != 0))
        kind++;
    if (kind == 4) {
        fputs("usage: random_stream raw|normal|exponential|normal64 [SEED]\n", stderr);
        return 2;
    }
    if (accel_device_parse("cpu:0", &device) != ACCEL_OK ||
        accel_stream_create(device, NULL, &stream) != ACCEL_OK ||
        accel_generator_create(device, &generator) != ACCEL_OK ||
        accel_memory_alloc(stream, COUNT * sizeof(double), NULL, &memory) != ACCEL_OK)
        return fail("setting up");
    if (argc > 2)
        accel_generator_manual_seed(generator, strtoull(argv[2], NULL, 0));
    return run((stream_kind)kind, generator, stream, memory);
}
