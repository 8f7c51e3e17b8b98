/* random_fork_test.c: what is asked of default generators before the backend starts, in the order in
 * which it was asked; and what a fork makes of seeds (B106). A backend starts once in a process, so each
 * case runs in a child of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "support/check.h"
#include "support/process.h"

static bool initialized(void)
{
    bool is = false;
    accel_is_initialized(test_cpu(), &is);
    return is;
}

static uint64_t seed_now(void)
{
    uint64_t seed = 0;
    accel_initial_seed(&seed);
    return seed;
}

/* Eight words from the default generator of device 0. */
static accel_status draw(uint32_t out_words[8])
{
    void *memory = NULL;
    accel_stream *stream = NULL;
    accel_status status = accel_stream_create(test_cpu_device(0), NULL, &stream);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 32, NULL, &memory);
    if (status == ACCEL_OK)
        status = accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 8, NULL, stream);
    if (status == ACCEL_OK)
        status = accel_copy(out_words, memory, 32, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    accel_memory_free(memory);
    accel_stream_release(stream);
    return status;
}

/* None of the page's functions starts the backend, and questions know what was set. */
static int nothing_starts(void *user)
{
    uint64_t cells[4] = {7, 12, 8, 16};
    uint64_t back[4] = {0};
    uint64_t seed = 0;
    accel_generator *generator = NULL;
    (void)user;
    CHECK_QUIET(seed_now() != 0);
    CHECK_QUIET(accel_manual_seed(5) == ACCEL_OK && seed_now() == 5);
    CHECK_QUIET(accel_manual_seed_all(6) == ACCEL_OK && seed_now() == 6);
    CHECK_QUIET(accel_seed(&seed) == ACCEL_OK && seed_now() == seed);
    CHECK_QUIET(accel_seed_all(&seed) == ACCEL_OK && seed_now() == seed);
    CHECK_QUIET(accel_set_rng_state_all(cells, sizeof cells) == ACCEL_OK);
    CHECK_QUIET(accel_get_rng_state_all(back, sizeof back, NULL) == ACCEL_OK);
    CHECK_QUIET(memcmp(back, cells, sizeof cells) == 0);
    CHECK_QUIET(accel_get_rng_state(test_cpu_device(1), back, 16, NULL) == ACCEL_OK);
    CHECK_QUIET(back[0] == 8 && back[1] == 16);
    CHECK_QUIET(accel_generator_default(test_cpu_device(0), &generator) == ACCEL_OK);
    CHECK_QUIET(accel_generator_manual_seed(generator, 9) == ACCEL_OK && seed_now() == 9);
    CHECK_QUIET(accel_generator_create(test_cpu_device(0), &generator) == ACCEL_OK);
    accel_generator_release(generator);
    CHECK_QUIET(!initialized() && test_thread_count() == 1);
    return 0;
}

/* Seeds and states hold in the order of the calls: torch's end with the seed, whatever came later. */
static int order_of_calls(void *user)
{
    const uint64_t cells[2] = {70, 40};
    uint64_t back[2] = {0};
    (void)user;
    accel_manual_seed(1);
    accel_set_rng_state(test_cpu_device(0), cells, sizeof cells);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(accel_get_rng_state(test_cpu_device(0), back, sizeof back, NULL) == ACCEL_OK);
    CHECK_QUIET(back[0] == 70 && back[1] == 40);
    return 0;
}

static int drawn_seed_is_kept(void *user)
{
    uint64_t seed = 0;
    (void)user;
    accel_manual_seed(1);
    CHECK_QUIET(accel_seed(&seed) == ACCEL_OK);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_now() == seed);
    return 0;
}

static accel_status set_seed_2(accel_device device, void *user)
{
    (void)device;
    (void)user;
    return accel_manual_seed(2);
}

/* Words that were taken before anything ran are not handed out again when the seed holds anew. */
static int words_are_taken_once(void *user)
{
    accel_random_reservation first = {.struct_size = sizeof first};
    accel_random_reservation second = {.struct_size = sizeof second};
    (void)user;
    accel_manual_seed(7);
    CHECK_QUIET(accel_random_reserve(NULL, NULL, 100, &first) == ACCEL_OK);
    CHECK_QUIET(first.seed == 7 && first.offset == 0);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(accel_random_reserve(NULL, NULL, 100, &second) == ACCEL_OK);
    CHECK_QUIET(second.seed == 7 && second.offset == 100);
    return 0;
}

typedef struct early_draw {
    uint64_t seed_asked; /* what a question of the deferred call answered */
    accel_random_reservation words;
} early_draw;

static accel_status draw_early(accel_device device, void *user)
{
    early_draw *made = user;
    (void)device;
    made->words.struct_size = sizeof made->words;
    const accel_status status = accel_initial_seed(&made->seed_asked);
    return status == ACCEL_OK ? accel_random_reserve(NULL, NULL, 100, &made->words) : status;
}

/* A deferred call draws from the state of its place: a seed that was set later is not used up by it, and
 * gives its words once. */
static int draws_before_a_later_seed(void *user)
{
    early_draw early[3] = {{0}, {0}, {0}};
    accel_random_reservation after = {.struct_size = sizeof after};
    (void)user;
    accel_lazy_call(test_cpu(), draw_early, &early[2], NULL); /* from a seed that accel draws */
    accel_manual_seed(8);
    accel_lazy_call(test_cpu(), draw_early, &early[0], NULL);
    accel_manual_seed(7);
    accel_lazy_call(test_cpu(), draw_early, &early[1], NULL);
    accel_manual_seed_all(6);
    CHECK_QUIET(seed_now() == 6);
    CHECK_QUIET(accel_random_reserve(NULL, NULL, 100, &after) == ACCEL_OK);
    CHECK_QUIET(early[2].words.seed > 8 && early[2].seed_asked == early[2].words.seed);
    CHECK_QUIET(early[0].words.seed == 8 && early[0].words.offset == 0);
    CHECK_QUIET(early[1].words.seed == 7 && early[1].words.offset == 0);
    CHECK_QUIET(early[0].seed_asked == 8 && early[1].seed_asked == 7);
    CHECK_QUIET(after.seed == 6 && after.offset == 0);
    return 0;
}

static accel_status do_nothing(accel_device device, void *user)
{
    (void)device;
    (void)user;
    return ACCEL_OK;
}

/* A program's own deferred seed makes an earlier one needless: what that had asked for is not answered
 * once the queue is through. */
static int seed_made_needless(void *user)
{
    const accel_lazy_options seeds = {.struct_size = sizeof seeds, .kind = ACCEL_LAZY_KIND_SEED};
    accel_random_reservation words = {.struct_size = sizeof words};
    (void)user;
    accel_manual_seed(7);
    accel_lazy_call(test_cpu(), do_nothing, NULL, &seeds);
    CHECK_QUIET(accel_random_reserve(NULL, NULL, 100, &words) == ACCEL_OK);
    CHECK_QUIET(words.seed != 7 && seed_now() == words.seed);
    return 0;
}

/* A deferred call of the program keeps its place among the seeds. */
static int order_among_others(void *user)
{
    (void)user;
    accel_manual_seed(1);
    accel_lazy_call(test_cpu(), set_seed_2, NULL, NULL);
    CHECK_QUIET(seed_now() == 1);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_now() == 2);
    return 0;
}

static int order_before_others(void *user)
{
    (void)user;
    accel_lazy_call(test_cpu(), set_seed_2, NULL, NULL);
    accel_manual_seed(3);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_now() == 3);
    return 0;
}

/* The target is the device that was current at the call, not at the start. */
static int target_of_the_call(void *user)
{
    accel_generator *second = NULL;
    uint64_t seed = 0;
    (void)user;
    accel_manual_seed_all(50);
    accel_set_device_index(test_cpu_device(1));
    accel_manual_seed(51);
    accel_set_device_index(test_cpu_device(0));
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_now() == 50);
    CHECK_QUIET(accel_generator_default(test_cpu_device(1), &second) == ACCEL_OK);
    CHECK_QUIET(accel_generator_initial_seed(second, &seed) == ACCEL_OK && seed == 51);
    return 0;
}

/* A seed for all reaches generators that are made later. */
static int seed_for_later_ones(void *user)
{
    (void)user;
    accel_manual_seed_all(60);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    accel_set_device_index(test_cpu_device(1));
    CHECK_QUIET(seed_now() == 60);
    return 0;
}

/* Many seeds before the start leave one behind: memory does not grow with them. */
static int many_seeds(void *user)
{
    (void)user;
    for (uint64_t i = 0; i < 100000; i++)
        CHECK_QUIET(accel_manual_seed(i) == ACCEL_OK);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK && seed_now() == 99999);
    return 0;
}

static const char *const case_names[] = {
    "nothing starts",     "order of calls",      "drawn seed",
    "order among others", "order before others", "target of the call",
    "later ones",         "many seeds",          "words",
    "early draws",        "made needless"};
static int (*const cases[])(void *user) = {nothing_starts,       order_of_calls,
                                           drawn_seed_is_kept,   order_among_others,
                                           order_before_others,  target_of_the_call,
                                           seed_for_later_ones,  many_seeds,
                                           words_are_taken_once, draws_before_a_later_seed,
                                           seed_made_needless};

static void before_the_start(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (test_in_child(cases[i], NULL, 60) != 0)
            fail_msg("%s", case_names[i]);
}

/* ---- forks ---- */

typedef struct worker {
    uint32_t number;
    bool reseeds;
} worker;

static uint32_t (*shared)[8]; /* what each worker drew; workers write, the test reads */

static int work(void *user)
{
    const worker *self = user;
    if (self->reseeds)
        CHECK_QUIET(accel_manual_seed(1000 + self->number) == ACCEL_OK);
    CHECK_QUIET(draw(shared[self->number]) == ACCEL_OK);
    return 0;
}

static void run_workers(bool reseeds)
{
    for (uint32_t i = 0; i < 4; i++) {
        worker one = {i, reseeds};
        assert_int_equal(test_in_child(work, &one, 60), 0);
    }
}

static bool all_alike(void)
{
    return memcmp(shared[0], shared[1], 32) == 0 && memcmp(shared[0], shared[2], 32) == 0 &&
           memcmp(shared[0], shared[3], 32) == 0;
}

static bool all_different(void)
{
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++)
            if (memcmp(shared[i], shared[j], 32) == 0)
                return false;
    return true;
}

/* Before the parent has used the device, and after. */
static void seeds_and_forks(bool used)
{
    uint32_t words[8];
    run_workers(false); /* nobody has set a seed */
    assert_true(all_different());
    run_workers(true);
    assert_true(all_different());
    OK(accel_manual_seed(1002));
    if (used)
        OK(draw(words));
    OK(accel_manual_seed(1002));
    memcpy(words, shared[2], 32);
    run_workers(false); /* a seed that was set is the same in each child */
    assert_true(all_alike() && memcmp(words, shared[0], 32) == 0);
    run_workers(true); /* and four known streams where each sets its own */
    assert_true(all_different() && memcmp(words, shared[2], 32) == 0);
}

static int forks_of_clean_parent(void *user)
{
    (void)user;
    seeds_and_forks(false);
    return 0;
}

static void forks(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(forks_of_clean_parent, NULL, 100), 0);
}

static void forks_after_use(void **state)
{
    uint32_t words[8];
    (void)state;
    OK(draw(words));
    seeds_and_forks(true);
}

/* A default seed is drawn anew in a child, and the child's offset begins at 0. */
static int draws_anew(void *user)
{
    uint64_t cells[2];
    CHECK_QUIET(accel_get_rng_state(test_cpu_device(1), cells, sizeof cells, NULL) == ACCEL_OK);
    CHECK_QUIET(cells[0] != *(const uint64_t *)user && cells[1] == 0);
    const uint64_t again = cells[0];
    CHECK_QUIET(accel_get_rng_state(test_cpu_device(1), cells, sizeof cells, NULL) == ACCEL_OK);
    CHECK_QUIET(cells[0] == again);
    return 0;
}

static void default_seed_in_a_child(void **state)
{
    uint64_t cells[2];
    (void)state;
    OK(accel_get_rng_state(test_cpu_device(1), cells, sizeof cells, NULL));
    assert_int_equal(test_in_child(draws_anew, &cells[0], 60), 0);
    const uint64_t before = cells[0];
    OK(accel_get_rng_state(test_cpu_device(1), cells, sizeof cells, NULL));
    assert_true(cells[0] == before); /* the parent's stays */
}

/* Forks while another thread sets states: a child never has one half of each. */
static _Atomic(bool) stop;

static void *toggle(void *user)
{
    accel_generator *generator = user;
    for (uint64_t i = 0; !stop; i++) {
        const uint64_t cells[2] = {i, i * 4};
        accel_generator_set_state(generator, cells, sizeof cells);
    }
    return NULL;
}

static int whole_state(void *user)
{
    uint64_t cells[2];
    CHECK_QUIET(accel_generator_get_state(user, cells, sizeof cells, NULL) == ACCEL_OK);
    CHECK_QUIET(cells[1] == cells[0] * 4);
    CHECK_QUIET(accel_generator_manual_seed(user, 1) == ACCEL_OK);
    return 0;
}

static void forks_amid_changes(void **state)
{
    pthread_t thread;
    accel_generator *generator = NULL;
    (void)state;
    OK(accel_generator_create(test_cpu_device(0), &generator));
    OK(accel_generator_manual_seed(generator, 0));
    assert_int_equal(pthread_create(&thread, NULL, toggle, generator), 0);
    int bad = 0;
    for (int i = 0; i < 20; i++)
        bad += test_in_child(whole_state, generator, 60) != 0;
    stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(bad, 0);
    accel_generator_release(generator);
}

int main(void)
{
    test_environment(2);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_start),   cmocka_unit_test(forks),
        cmocka_unit_test(forks_amid_changes), cmocka_unit_test(default_seed_in_a_child),
        cmocka_unit_test(forks_after_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
