/* random_test.c: generators: seeds, offsets, states of one and of all, clones; and that the numbers of
 * each distribution look like it. The numbers themselves are the conformance suite's. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"

enum { DEVICES = 2 };

static accel_generator *default_of(int32_t index)
{
    accel_generator *generator = NULL;
    OK(accel_generator_default(test_cpu_device(index), &generator));
    return generator;
}

static uint64_t seed_of(accel_generator *generator)
{
    uint64_t seed = 0;
    OK(accel_generator_initial_seed(generator, &seed));
    return seed;
}

static uint64_t offset_of(accel_generator *generator)
{
    uint64_t offset = 0;
    OK(accel_generator_get_offset(generator, &offset));
    return offset;
}

static accel_generator *make(int32_t index)
{
    accel_generator *generator = NULL;
    OK(accel_generator_create(test_cpu_device(index), &generator));
    return generator;
}

/* ---- explicit generators ---- */

static void begins_as_documented(void **state)
{
    accel_device device;
    accel_generator *generator = make(1);
    (void)state;
    assert_true(seed_of(generator) == UINT64_C(67280421310721));
    assert_true(offset_of(generator) == 0);
    OK(accel_generator_get_device(generator, &device));
    assert_int_equal(device.index, 1);
    accel_generator_release(generator);
    accel_generator_release(NULL);
}

/* A reference that was retained keeps the generator, with its state, when another one is released. */
static void retained(void **state)
{
    accel_generator *generator = make(0);
    (void)state;
    OK(accel_generator_manual_seed(generator, 17));
    accel_generator_retain(generator);
    accel_generator_release(generator);
    assert_true(seed_of(generator) == 17);
    accel_generator_release(generator);
    accel_generator_retain(NULL);
    accel_generator_retain(default_of(0)); /* lent: retaining and releasing is harmless */
    accel_generator_release(default_of(0));
    accel_generator_release(default_of(0));
    OK(accel_generator_set_offset(default_of(0), 0));
}

/* Every seed of 64 bits, and negative ones as their two's complements (B101). */
static void seeds(void **state)
{
    static const uint64_t values[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    accel_generator *generator = make(0);
    uint64_t drawn = 0;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        OK(accel_generator_set_offset(generator, 8));
        OK(accel_generator_manual_seed(generator, values[i]));
        assert_true(seed_of(generator) == values[i] && offset_of(generator) == 0);
    }
    OK(accel_generator_manual_seed(generator, (uint64_t)INT64_MIN));
    assert_true(seed_of(generator) == UINT64_C(1) << 63);
    OK(accel_generator_manual_seed(generator, (uint64_t)-1));
    assert_true(seed_of(generator) == UINT64_MAX);
    for (int i = 0; i < 1000; i++) {
        OK(accel_generator_seed(generator, &drawn));
        assert_true(seed_of(generator) == drawn);
        OK(accel_generator_manual_seed(generator, drawn));
        assert_true(seed_of(generator) == drawn);
    }
    accel_generator_release(generator);
}

/* Bytes of the exact length, and nothing else; a refused state changes nothing (B104, B103). */
static void states(void **state)
{
    uint64_t cells[3] = {11, 24, 99};
    unsigned char bytes[ACCEL_RNG_STATE_SIZE + 1];
    size_t needed = 0;
    accel_generator *generator = make(0);
    (void)state;
    OK(accel_generator_set_state(generator, cells, 16));
    assert_true(seed_of(generator) == 11 && offset_of(generator) == 24);
    OK(accel_generator_get_state(generator, bytes, sizeof bytes, &needed));
    assert_int_equal(needed, 16);
    assert_memory_equal(bytes, cells, 16);
    const char *function = "accel_generator_set_state";
    for (size_t size = 0; size < 40; size++)
        if (size != 8 && size != 16)
            FAILS(accel_generator_set_state(generator, cells, size), ACCEL_ERROR_INVALID_ARGUMENT,
                  function);
    cells[0] = 12;
    for (cells[1] = 0; cells[1] < 10; cells[1]++)
        if (cells[1] % 4 != 0)
            FAILS(accel_generator_set_state(generator, cells, 16), ACCEL_ERROR_INVALID_ARGUMENT,
                  function);
    FAILS(accel_generator_set_state(generator, NULL, 16), ACCEL_ERROR_INVALID_ARGUMENT, function);
    assert_true(seed_of(generator) == 11 && offset_of(generator) == 24);
    OK(accel_generator_set_state(generator, cells, 8));
    assert_true(seed_of(generator) == 12 && offset_of(generator) == 0);
    memset(bytes, 7, sizeof bytes);
    FAILS(accel_generator_get_state(generator, bytes, 15, &needed), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_generator_get_state");
    assert_true(bytes[0] == 7 && needed == 16);
    needed = 0;
    OK(accel_generator_get_state(generator, NULL, 0, &needed));
    assert_int_equal(needed, 16);
    FAILS(accel_generator_get_state(NULL, bytes, sizeof bytes, &needed),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_generator_get_state");
    assert_int_equal(needed, 0);
    accel_generator_release(generator);
}

static void state_in_device_memory(void **state)
{
    void *memory = NULL;
    accel_generator *generator = make(0);
    accel_stream *stream = NULL;
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_memory_alloc(stream, 16, NULL, &memory));
    OK(accel_fill(memory, "", 1, 16, stream));
    OK(accel_stream_synchronize(stream));
    FAILS(accel_generator_set_state(generator, memory, 16), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_generator_set_state");
    assert_non_null(strstr(accel_last_error_message(), "device memory"));
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
    accel_generator_release(generator);
}

static void offsets(void **state)
{
    accel_generator *generator = make(0);
    (void)state;
    for (uint64_t offset = 0; offset < 10; offset++)
        EXPECT(accel_generator_set_offset(generator, offset),
               offset % 4 == 0 ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT);
    assert_true(offset_of(generator) == 8);
    OK(accel_generator_set_offset(generator, UINT64_MAX - 3));
    assert_true(offset_of(generator) == UINT64_MAX - 3);
    accel_generator_release(generator);
}

static void clones(void **state)
{
    accel_generator *generator = make(1);
    accel_generator *clone = NULL;
    accel_device device;
    (void)state;
    OK(accel_generator_manual_seed(generator, 5));
    OK(accel_generator_set_offset(generator, 40));
    OK(accel_generator_clone(generator, &clone));
    OK(accel_generator_manual_seed(generator, 6));
    assert_true(seed_of(clone) == 5 && offset_of(clone) == 40);
    OK(accel_generator_get_device(clone, &device));
    assert_int_equal(device.index, 1);
    accel_generator_release(generator);
    accel_generator_release(clone);
}

/* A reservation takes words as a fill does. */
static void reservations(void **state)
{
    accel_random_reservation words = {.struct_size = sizeof words};
    accel_generator *generator = make(0);
    accel_stream *stream = NULL;
    (void)state;
    OK(accel_stream_default(test_cpu_device(0), &stream));
    OK(accel_generator_manual_seed(generator, 3));
    OK(accel_random_reserve(generator, stream, 5, &words));
    assert_true(words.seed == 3 && words.offset == 0 && words.from_cells == 0);
    assert_null(words.cells);
    OK(accel_random_reserve(generator, stream, 4, &words));
    assert_true(words.offset == 8);
    OK(accel_random_reserve(generator, stream, 0, &words));
    assert_true(words.offset == 12 && offset_of(generator) == 12);
    FAILS(accel_random_reserve(generator, stream, UINT64_MAX, &words), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_random_reserve");
    FAILS(accel_random_reserve(generator, stream, UINT64_MAX - 11, &words),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_random_reserve");
    assert_true(offset_of(generator) == 12);
    words.struct_size = 4;
    FAILS(accel_random_reserve(generator, stream, 4, &words), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_random_reserve");
    FAILS(accel_random_reserve(default_of(1), stream, 4, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_random_reserve");
    words.struct_size = sizeof words;
    FAILS(accel_random_reserve(default_of(1), stream, 4, &words), ACCEL_ERROR_MISMATCH,
          "accel_random_reserve");
    accel_generator_release(generator);
}

enum { THREADS = 4, TURNS = 500 };

static uint64_t taken[THREADS][TURNS];
static accel_generator *common;

static void *take_turns(void *user)
{
    accel_random_reservation words = {.struct_size = sizeof words};
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint64_t *mine = user;
    if (accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
        accel_memory_alloc(stream, 64, NULL, &memory) != ACCEL_OK)
        return user;
    accel_status status = ACCEL_OK;
    for (int i = 0; status == ACCEL_OK && i < TURNS; i++) {
        status = accel_random_reserve(common, stream, 5, &words);
        mine[i] = words.offset;
        if (status == ACCEL_OK)
            status = accel_random_normal(memory, ACCEL_DATA_TYPE_F32, 8, common, stream);
    }
    const accel_status ended = accel_stream_synchronize(stream);
    accel_memory_free(memory);
    accel_stream_release(stream);
    return status == ACCEL_OK && ended == ACCEL_OK ? NULL : user;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Threads that draw from one generator never get the same words (B102). */
static void threads(void **state)
{
    pthread_t running[THREADS];
    (void)state;
    common = make(0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&running[i], NULL, take_turns, taken[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(running[i], &failed);
        assert_null(failed);
    }
    assert_true(offset_of(common) == (uint64_t)THREADS * TURNS * 16);
    uint64_t *all = &taken[0][0];
    qsort(all, (size_t)THREADS * TURNS, sizeof *all, by_value);
    for (size_t i = 1; i < (size_t)THREADS * TURNS; i++)
        assert_true(all[i] >= all[i - 1] + 8);
    accel_generator_release(common);
}

static pthread_barrier_t barrier;

static void *fill_first(void *user)
{
    accel_stream *stream = NULL;
    accel_generator *own = NULL;
    void *memory = NULL;
    (void)user;
    accel_status status = accel_generator_create(test_cpu_device(1), &own);
    if (status == ACCEL_OK)
        status = accel_stream_create(test_cpu_device(1), NULL, &stream);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 64, NULL, &memory);
    pthread_barrier_wait(&barrier);
    if (status == ACCEL_OK)
        status = accel_random_normal(memory, ACCEL_DATA_TYPE_F32, 16, own, stream);
    const accel_status ended = accel_stream_synchronize(stream);
    accel_memory_free(memory);
    accel_stream_release(stream);
    accel_generator_release(own);
    return status == ACCEL_OK && ended == ACCEL_OK ? NULL : &barrier;
}

/* A device's first fills, all at once: each thread may make what fills need. For ThreadSanitizer above all. */
static void first_fills_at_once(void **state)
{
    pthread_t running[THREADS];
    (void)state;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&running[i], NULL, fill_first, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(running[i], &failed);
        assert_null(failed);
    }
    pthread_barrier_destroy(&barrier);
}

/* ---- default generators ---- */

static void one_each(void **state)
{
    (void)state;
    assert_ptr_equal(default_of(0), default_of(0));
    assert_ptr_not_equal(default_of(0), default_of(1));
    assert_true(seed_of(default_of(0)) != seed_of(default_of(1))); /* once in 2^64 */
    accel_generator_release(default_of(0));                        /* stays */
    seed_of(default_of(0));
}

static void current_device(void **state)
{
    uint64_t seed = 0;
    uint64_t drawn = 0;
    (void)state;
    OK(accel_set_device_index(test_cpu_device(1)));
    OK(accel_manual_seed(41));
    assert_true(seed_of(default_of(1)) == 41 && seed_of(default_of(0)) != 41);
    OK(accel_initial_seed(&seed));
    assert_true(seed == 41);
    OK(accel_seed(&drawn));
    assert_true(drawn != 41 && seed_of(default_of(1)) == drawn);
    OK(accel_set_device_index(test_cpu_device(0)));
    OK(accel_manual_seed((uint64_t)-7));
    OK(accel_initial_seed(&seed));
    assert_true(seed == UINT64_MAX - 6 && seed_of(default_of(1)) == drawn);
}

static void all_devices(void **state)
{
    uint64_t drawn = 0;
    (void)state;
    OK(accel_manual_seed_all(8));
    assert_true(seed_of(default_of(0)) == 8 && seed_of(default_of(1)) == 8);
    OK(accel_seed_all(&drawn));
    assert_true(seed_of(default_of(0)) == drawn && seed_of(default_of(1)) == drawn);
}

static void states_of_all(void **state)
{
    uint64_t cells[2 * DEVICES] = {1, 4, 2, 8};
    uint64_t back[2 * DEVICES] = {0};
    size_t needed = 0;
    (void)state;
    OK(accel_set_rng_state_all(cells, sizeof cells));
    OK(accel_get_rng_state_all(back, sizeof back, &needed));
    assert_int_equal(needed, sizeof cells);
    assert_memory_equal(back, cells, sizeof cells);
    OK(accel_get_rng_state(test_cpu_device(1), back, 16, NULL));
    assert_true(back[0] == 2 && back[1] == 8);
    cells[0] = 77; /* all or nothing: the second one's offset is wrong */
    cells[3] = 9;
    FAILS(accel_set_rng_state_all(cells, sizeof cells), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_rng_state_all");
    cells[3] = 8;
    FAILS(accel_set_rng_state_all(cells, sizeof cells - 8), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_rng_state_all");
    FAILS(accel_set_rng_state_all(cells, sizeof cells + 16), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_rng_state_all");
    FAILS(accel_set_rng_state_all(NULL, sizeof cells), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_rng_state_all");
    assert_true(seed_of(default_of(0)) == 1);
    FAILS(accel_get_rng_state_all(back, sizeof back - 1, &needed), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_get_rng_state_all");
    assert_int_equal(needed, sizeof cells);
    needed = 0;
    OK(accel_get_rng_state_all(NULL, 0, &needed));
    assert_int_equal(needed, sizeof cells);
    OK(accel_set_rng_state(test_cpu_device(0), cells, 8));
    assert_true(seed_of(default_of(0)) == 77 && offset_of(default_of(0)) == 0);
    FAILS(accel_set_rng_state(test_cpu_device(7), cells, 16), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_set_rng_state");
}

static void null_arguments(void **state)
{
    (void)state;
    FAILS(accel_generator_create(test_cpu_device(0), NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_generator_create");
    FAILS(accel_generator_default(test_cpu_device(0), NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_generator_default");
    FAILS(accel_generator_manual_seed(NULL, 1), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_generator_manual_seed");
    FAILS(accel_seed(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_seed");
    FAILS(accel_seed_all(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_seed_all");
    FAILS(accel_initial_seed(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_initial_seed");
    FAILS(accel_get_rng_state(test_cpu_device(0), NULL, 16, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_get_rng_state");
}

/* ---- what the numbers look like ---- */

enum { COUNT = 1 << 20 };

static void *drawn_memory;
static accel_stream *drawn_stream;

static void *fetch(size_t size)
{
    static double back[COUNT];
    OK(accel_copy(back, drawn_memory, COUNT * size, drawn_stream));
    OK(accel_stream_synchronize(drawn_stream));
    return back;
}

/* The k-th moment about zero. */
static double moment(const float *values, int k)
{
    double sum = 0;
    for (size_t i = 0; i < COUNT; i++)
        sum += pow((double)values[i], k);
    return sum / COUNT;
}

static void distributions(void **state)
{
    accel_generator *generator = make(0);
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &drawn_stream));
    OK(accel_memory_alloc(drawn_stream, COUNT * 8, NULL, &drawn_memory));
    OK(accel_random_uniform(drawn_memory, ACCEL_DATA_TYPE_F32, COUNT, generator, drawn_stream));
    const float *values = fetch(4);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(values[i] >= 0.0f && values[i] < 1.0f);
    assert_true(fabs(moment(values, 1) - 0.5) < 0.002 && fabs(moment(values, 2) - 1.0 / 3) < 0.002);
    OK(accel_random_normal(drawn_memory, ACCEL_DATA_TYPE_F32, COUNT, generator, drawn_stream));
    values = fetch(4);
    assert_true(fabs(moment(values, 1)) < 0.005 && fabs(moment(values, 2) - 1) < 0.01 &&
                fabs(moment(values, 3)) < 0.02 && fabs(moment(values, 4) - 3) < 0.05);
    OK(accel_random_exponential(drawn_memory, ACCEL_DATA_TYPE_F32, COUNT, generator, drawn_stream));
    values = fetch(4);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(values[i] >= 0.0f);
    assert_true(fabs(moment(values, 1) - 1) < 0.005 && fabs(moment(values, 2) - 2) < 0.03);
    OK(accel_random_bernoulli(drawn_memory, ACCEL_DATA_TYPE_F32, COUNT, 0.125, generator,
                              drawn_stream));
    assert_true(fabs(moment(fetch(4), 1) - 0.125) < 0.002);
    accel_generator_release(generator);
}

/* Every value of a range comes as often as the others, and no other value does. */
static void integers_are_even(void **state)
{
    uint32_t counts[12] = {0};
    accel_generator *generator = make(0);
    (void)state;
    OK(accel_random_integers(drawn_memory, ACCEL_DATA_TYPE_I16, COUNT, (uint64_t)-5, 6, generator,
                             drawn_stream));
    const int16_t *values = fetch(2);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(values[i] >= -5 && values[i] <= 6);
        counts[values[i] + 5]++;
    }
    for (int i = 0; i < 12; i++)
        assert_true(fabs((double)counts[i] - COUNT / 12.0) < 6 * sqrt(COUNT / 12.0));
    accel_generator_release(generator);
    OK(accel_memory_free(drawn_memory));
    accel_stream_release(drawn_stream);
}

/* The ends of Bernoulli's range are certain. */
static void certain_bernoulli(void **state)
{
    uint8_t back[100];
    void *memory = NULL;
    accel_stream *stream = NULL;
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_memory_alloc(stream, sizeof back, NULL, &memory));
    for (int wanted = 0; wanted < 2; wanted++) {
        OK(accel_random_bernoulli(memory, ACCEL_DATA_TYPE_BOOL, sizeof back, wanted, NULL, stream));
        OK(accel_copy(back, memory, sizeof back, stream));
        OK(accel_stream_synchronize(stream));
        for (size_t i = 0; i < sizeof back; i++)
            assert_int_equal(back[i], wanted);
    }
    const double nan = NAN;
    FAILS(accel_random_bernoulli(memory, ACCEL_DATA_TYPE_BOOL, 4, nan, NULL, stream),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_random_bernoulli");
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

/* ---- the header for kernels ---- */

static accel_status build(const char *source)
{
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(test_cpu_device(0), source,
                                                                strlen(source), NULL, &module);
    accel_module_release(module);
    return status;
}

/* The library's own copy is found by both forms, twice does no harm, and there is no other header. */
static void embedded_header(void **state)
{
    (void)state;
    OK(build("#include \"accel/philox.h\"\n#include <accel/philox.h>\n#include <accel/philox.h>\n"
             "__kernel void k(__global uint *out) { out[0] = accel_philox_block(1, 2, 3).w0; }\n"));
    EXPECT(build("#include <accel/accel.h>\n__kernel void k(__global uint *out) { out[0] = 1; }\n"),
           ACCEL_ERROR_BUILD_FAILED);
    assert_non_null(strstr(accel_last_error_message(), "accel/accel.h"));
}

int main(void)
{
    test_environment(DEVICES);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_fills_at_once),
        cmocka_unit_test(begins_as_documented),
        cmocka_unit_test(retained),
        cmocka_unit_test(seeds),
        cmocka_unit_test(states),
        cmocka_unit_test(one_each),
        cmocka_unit_test(current_device),
        cmocka_unit_test(all_devices),
        cmocka_unit_test(states_of_all),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(offsets),
        cmocka_unit_test(clones),
        cmocka_unit_test(reservations),
        cmocka_unit_test(threads),
        cmocka_unit_test(state_in_device_memory),
        cmocka_unit_test(distributions),
        cmocka_unit_test(integers_are_even),
        cmocka_unit_test(certain_bernoulli),
        cmocka_unit_test(embedded_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
