/* Case B68: four threads allocate and free with history, stacks and observers on, another takes
 * snapshots, asks for leaks, and turns the history off and on. Nothing may wait for ever: callbacks
 * run without a lock, names are looked up without a lock. */
#include <accel/allocator.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/process.h"
#include "written.h"

enum { THREADS = 4, KEPT = 64, RUN_MS = 1500, LIMIT_S = 100 };

static _Atomic(bool) stop;
static _Atomic(uint32_t) rounds; /* of each thread; 0: until it is stopped */
static _Atomic(uint32_t) failures;

/* A call that must work: on other threads than the test's own. */
static void must(accel_status status)
{
    if (status == ACCEL_OK)
        return;
    failures++;
    fprintf(stderr, "%s: %s\n", accel_status_name(status), accel_last_error_message());
}

static uint32_t draw(uint32_t *from)
{
    *from ^= *from << 13;
    *from ^= *from >> 17;
    *from ^= *from << 5;
    return *from;
}

static void *allocate_and_free(void *user)
{
    void *kept[KEPT] = {0};
    uint32_t random = 77u + (uint32_t)(uintptr_t)user;
    accel_stream *stream = NULL;
    must(accel_stream_create(test_cpu_device((int32_t)(random % 2)), NULL, &stream));
    for (uint32_t i = 0; !stop && (rounds == 0 || i < rounds); i++) {
        void **place = &kept[draw(&random) % KEPT];
        must(accel_memory_free(*place));
        *place = NULL;
        const size_t size = draw(&random) % (draw(&random) % 64 == 0 ? 3 << 20 : 20000);
        must(accel_memory_alloc(draw(&random) % 2 != 0 ? stream : NULL, size, NULL, place));
        if (draw(&random) % 256 == 0) { /* meets the observer */
            void *none = NULL;
            if (accel_memory_alloc(stream, (size_t)1 << 42, NULL, &none) == ACCEL_OK)
                failures++;
        }
    }
    for (int i = 0; i < KEPT; i++)
        must(accel_memory_free(kept[i]));
    accel_stream_release(stream);
    return NULL;
}

static bool ask_again(const accel_memory_leak *leak, void *user)
{
    accel_memory_snapshot *snapshot = NULL;
    (void)leak;
    ++*(size_t *)user;
    OK(accel_memory_snapshot_create(NULL, &snapshot)); /* no lock is held here */
    accel_memory_snapshot_release(snapshot);
    return *(size_t *)user < 3;
}

static void observe(const accel_out_of_memory_report *report, void *user)
{
    accel_memory_snapshot *snapshot = NULL;
    (void)report;
    if (atomic_fetch_add((_Atomic(uint32_t) *)user, 1) % 8 != 0)
        return;
    must(accel_memory_snapshot_create(NULL, &snapshot));
    accel_memory_snapshot_release(snapshot);
}

static void test_nothing_waits_for_ever(void **state)
{
    pthread_t threads[THREADS];
    _Atomic(uint32_t) observed = 0;
    size_t snapshots = 0;
    (void)state;
    alarm(LIMIT_S);
    OK(accel_allocator_add_out_of_memory_observer(observe, (void *)&observed));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, (void *)(uintptr_t)i),
                         0);
    for (const uint64_t end = test_now_ns() + RUN_MS * UINT64_C(1000000);
         test_now_ns() < end || snapshots < 8 || observed == 0;) {
        const accel_memory_history_options options = {
            .struct_size = sizeof options,
            .mode = snapshots % 4 == 3 ? ACCEL_MEMORY_HISTORY_MODE_OFF
                                       : ACCEL_MEMORY_HISTORY_MODE_ALL,
            .unwinder = (accel_memory_history_unwinder)(snapshots % 3),
            .max_entries = 1 + snapshots * 100 % 1000,
        };
        size_t visits = 0;
        OK(accel_memory_record_history(&options));
        test_nap_ms(5);
        json_decref(written_now(NULL));
        OK(accel_memory_leaks_visit(ask_again, &visits));
        snapshots++;
    }
    stop = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(accel_allocator_remove_out_of_memory_observer(observe, (void *)&observed));
    alarm(0);
    assert_int_equal(failures, 0);
    assert_true(observed > 0);
}

/* With all threads at rest: every event of each thread is there, in an order in which no address is
 * handed out twice. */
static void test_the_order_of_events_is_possible(void **state)
{
    const accel_memory_history_options options = {.struct_size = sizeof options,
                                                  .context = ACCEL_MEMORY_HISTORY_CONTEXT_NEVER};
    pthread_t threads[THREADS];
    (void)state;
    OK(accel_memory_record_history(&options));
    stop = false;
    rounds = 2000;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, (void *)(uintptr_t)i),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    json_t *snapshot = written_now(NULL);
    for (int device = 0; device < 2; device++) {
        json_t *live = json_object();
        size_t i = 0;
        const json_t *event = NULL;
        if (json_array_size(written_events(snapshot, device)) <= 100) {
            char *text = json_dumps(written_get(snapshot, "accel"), 0);
            fail_msg("%zu events: %s", json_array_size(written_events(snapshot, device)), text);
        }
        json_array_foreach(written_events(snapshot, device), i, event)
        {
            const char *action = written_string(event, "action");
            char address[32];
            if (strcmp(action, "alloc") != 0 && strcmp(action, "free_completed") != 0)
                continue;
            snprintf(address, sizeof address, "%lld", (long long)written_integer(event, "addr"));
            if (strcmp(action, "alloc") == 0) {
                assert_null(json_object_get(live, address));
                json_object_set_new(live, address, json_true());
            } else {
                assert_int_equal(json_object_del(live, address), 0);
            }
        }
        assert_int_equal(json_object_size(live), 0);
        json_decref(live);
    }
    json_decref(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_waits_for_ever),
        cmocka_unit_test(test_the_order_of_events_is_possible),
    };
    test_environment(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
