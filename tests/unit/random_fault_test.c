/* random_fault_test.c: generators and fills while memory runs out at the n-th request, for n = 1, 2 …, and
 * while the system gives no random bytes: a status, nothing set and nothing drawn, and all of it possible
 * at once afterwards. What is left behind the sanitizers' leak check finds. */
#include <errno.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

#include "unit/fault_sweep.h"

enum { STEPS_MAX = 400 };

/* Calls `body` with ever later failures until none is met. False: a call gave no fitting status. */
static bool sweep(accel_status (*body)(void), bool (*is_unchanged)(void), unsigned *out_failures)
{
    *out_failures = 0;
    for (unsigned step = 1; step < STEPS_MAX; step++) {
        fault_begin(step);
        const accel_status status = body();
        if (!fault_end())
            return status == ACCEL_OK;
        /* A failure that somebody lives with is one, too. */
        *out_failures += status != ACCEL_OK;
        if (status != ACCEL_OK && status != ACCEL_ERROR_OUT_OF_HOST_MEMORY &&
            status != ACCEL_ERROR_OUT_OF_MEMORY && status != ACCEL_ERROR_SYSTEM) {
            fprintf(stderr, "step %u: %s\n", step, accel_last_error_message());
            return false;
        }
        if (status != ACCEL_OK && is_unchanged != NULL && !is_unchanged()) {
            fprintf(stderr, "step %u: something has changed\n", step);
            return false;
        }
        if (status == ACCEL_OK)
            return true;
    }
    fprintf(stderr, "no end of failures\n");
    return false;
}

/* ---- before the backend starts; each in a child ---- */

static accel_status seed_one(void)
{
    return accel_manual_seed(5);
}

static accel_status seed_every(void)
{
    return accel_manual_seed_all(6);
}

static accel_status set_every_state(void)
{
    static const uint64_t cells[4] = {7, 8, 9, 12};
    return accel_set_rng_state_all(cells, sizeof cells);
}

static accel_status get_every_state(void)
{
    uint64_t cells[4];
    return accel_get_rng_state_all(cells, sizeof cells, NULL);
}

static uint64_t seed_before;

static bool seed_is_as_before(void)
{
    uint64_t seed = 0;
    return accel_initial_seed(&seed) == ACCEL_OK && seed == seed_before;
}

static int sweep_seeds(void *user)
{
    unsigned failures = 0;
    accel_device found;
    accel_generator *made = NULL;
    (void)user;
    CHECK_QUIET(accel_current_accelerator(true, &found) == ACCEL_OK); /* swept elsewhere */
    for (int32_t i = 0; i < 2; i++) {
        CHECK_QUIET(accel_generator_create(test_cpu_device(i), &made) == ACCEL_OK);
        accel_generator_release(made);
    }
    CHECK_QUIET(sweep(get_every_state, NULL, &failures) && failures >= 3); /* makes both */
    CHECK_QUIET(accel_initial_seed(&seed_before) == ACCEL_OK);
    CHECK_QUIET(sweep(seed_one, seed_is_as_before, &failures) && failures >= 4);
    seed_before = 5;
    CHECK_QUIET(seed_is_as_before());
    CHECK_QUIET(sweep(seed_every, seed_is_as_before, &failures) && failures >= 5);
    seed_before = 6;
    CHECK_QUIET(seed_is_as_before());
    CHECK_QUIET(sweep(set_every_state, seed_is_as_before, &failures) && failures >= 5);
    seed_before = 7;
    CHECK_QUIET(seed_is_as_before());
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_is_as_before());
    return 0;
}

static void seeds(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(sweep_seeds, NULL, 60), 0);
}

/* ---- no random bytes ---- */

static int refused_with;

static ssize_t refuse_random(void *buffer, size_t size, unsigned flags)
{
    (void)buffer, (void)size, (void)flags;
    errno = refused_with;
    return refused_with != 0 ? -1 : 4; /* or too few */
}

static int no_entropy(void *user)
{
    uint64_t seed = 1;
    accel_generator *generator = NULL;
    const accel__calls real = accel__platform;
    (void)user;
    CHECK_QUIET(accel_generator_create(test_cpu_device(0), &generator) == ACCEL_OK);
    for (int round = 0; round < 2; round++) {
        refused_with = round == 0 ? ENOSYS : 0;
        accel__platform.random = refuse_random;
        CHECK_QUIET(accel_generator_seed(generator, &seed) == ACCEL_ERROR_SYSTEM && seed == 0);
        CHECK_QUIET(strstr(accel_last_error_message(), "accel_manual_seed") != NULL);
        CHECK_QUIET(accel_seed(&seed) == ACCEL_ERROR_SYSTEM);
        CHECK_QUIET(accel_seed_all(&seed) == ACCEL_ERROR_SYSTEM);
        CHECK_QUIET(accel_initial_seed(&seed) == ACCEL_ERROR_SYSTEM);
        CHECK_QUIET(accel_generator_initial_seed(generator, &seed) == ACCEL_OK);
        CHECK_QUIET(seed == ACCEL_GENERATOR_DEFAULT_SEED);
        accel__platform.random = real.random;
    }
    CHECK_QUIET(accel_seed(&seed) == ACCEL_OK);
    accel_generator_release(generator);
    return 0;
}

static void no_random_bytes(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(no_entropy, NULL, 60), 0);
}

/* ---- generators, fills and captures ---- */

static accel_stream *stream;
static accel_generator *generator;
static void *memory;

static accel_status make_and_clone(void)
{
    accel_generator *made = NULL;
    accel_generator *clone = NULL;
    accel_status status = accel_generator_create(test_cpu_device(0), &made);
    if (status == ACCEL_OK)
        status = accel_generator_clone(made, &clone);
    accel_generator_release(made);
    accel_generator_release(clone);
    return status;
}

static accel_status fill(void)
{
    return accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 100, generator, stream);
}

static bool nothing_drawn(void)
{
    uint64_t offset = 1;
    return accel_generator_get_offset(generator, &offset) == ACCEL_OK && offset == 0;
}

static void generators(void **state)
{
    unsigned failures = 0;
    (void)state;
    assert_true(sweep(make_and_clone, NULL, &failures) && failures == 2);
}

static void first_fill(void **state)
{
    uint64_t offset = 0;
    unsigned failures = 0;
    (void)state;
    assert_true(sweep(fill, nothing_drawn, &failures) && failures >= 3);
    OK(accel_stream_synchronize(stream));
    OK(accel_generator_get_offset(generator, &offset));
    assert_true(offset == 100);
    OK(accel_generator_set_offset(generator, 0));
}

static accel_status capture_fill(void)
{
    accel_graph *graph = NULL;
    accel_status status = accel_graph_create(test_cpu_device(0), NULL, &graph);
    if (status == ACCEL_OK)
        status = accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT);
    const bool captures = status == ACCEL_OK;
    if (status == ACCEL_OK)
        status = fill();
    if (captures) {
        const accel_status ended = accel_graph_capture_end(graph, stream);
        status = status != ACCEL_OK ? status : ended;
    }
    accel_graph_release(graph);
    return status;
}

static bool stream_is_usable(void)
{
    bool capturing = true;
    return accel_stream_is_capturing(stream, &capturing) == ACCEL_OK && !capturing &&
           accel_stream_synchronize(stream) == ACCEL_OK && nothing_drawn();
}

static void captures(void **state)
{
    unsigned failures = 0;
    (void)state;
    assert_true(sweep(capture_fill, stream_is_usable, &failures) && failures >= 5);
    assert_true(nothing_drawn());
}

static int set_up(void **state)
{
    (void)state;
    return accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
           accel_generator_create(test_cpu_device(0), &generator) != ACCEL_OK ||
           accel_memory_alloc(stream, 4096, NULL, &memory) != ACCEL_OK;
}

static int tear_down(void **state)
{
    (void)state;
    accel_memory_free(memory);
    accel_generator_release(generator);
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest clean[] = {
        cmocka_unit_test(seeds),
        cmocka_unit_test(no_random_bytes),
    };
    const struct CMUnitTest started[] = {
        cmocka_unit_test(generators),
        cmocka_unit_test(first_fill),
        cmocka_unit_test(captures),
    };
    const int failed = cmocka_run_group_tests_name("before the start", clean, NULL, NULL);
    return failed + cmocka_run_group_tests_name("started", started, set_up, tear_down);
}
