/* threads.c: a hundred threads on every object that says it may be used by any, and on what belongs to the
 * process.
 *
 *   threads SECONDS [SCENARIO…]     SECONDS in all, shared by the scenarios (or those of these names)
 *
 * A scenario makes the objects, lets the threads do its step again and again, and looks at the end whether the
 * sum of all steps is there. Meant for the sanitizers, too. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "soak/scenarios.h"
#include "soak/tasks.h"
#include "support/check.h"
#include "support/process.h"

static const scenario *running;
static uint64_t deadline_ns;
static _Atomic(uint32_t) steps;
static _Atomic(uint32_t) failures;
static pthread_barrier_t together;

static void *repeat(void *user)
{
    const uint32_t number = *(const uint32_t *)user;
    uint32_t state = 2463534242u + number;
    if (accel_set_device_index(task_device) != ACCEL_OK)
        atomic_fetch_add(&failures, 1);
    pthread_barrier_wait(&together);
    do {
        atomic_fetch_add(&steps, 1);
        if (running->step(number, &state) != 0)
            atomic_fetch_add(&failures, 1);
    } while (test_now_ns() < deadline_ns && atomic_load(&failures) == 0);
    return NULL;
}

static int run(const scenario *chosen, double seconds)
{
    static pthread_t threads[THREADS];
    static uint32_t numbers[THREADS];
    running = chosen;
    atomic_store(&steps, 0);
    CHECK_QUIET(chosen->begin() == 0);
    deadline_ns = test_now_ns() + (uint64_t)(seconds * 1e9);
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, repeat, &numbers[i]) != 0)
            abort();
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (atomic_load(&failures) == 0 && chosen->end(atomic_load(&steps)) != 0)
        atomic_fetch_add(&failures, 1);
    printf("%s: %u steps, %u failures\n", chosen->name, atomic_load(&steps),
           atomic_load(&failures));
    return atomic_load(&failures) != 0;
}

static bool is_chosen(const char *name, char **words, int count)
{
    for (int i = 2; i < count; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return count == 2;
}

int main(int count, char **words)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    if (count < 2) {
        fprintf(stderr, "threads SECONDS [SCENARIO...]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    const double seconds = strtod(words[1], NULL) / (count == 2 ? scenario_count : count - 2);
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    CHECK_QUIET(pthread_barrier_init(&together, NULL, THREADS) == 0);
    task_device = ACCEL_DEVICE(cpu, 0);
    if (!is_chosen("start", words, count) && tasks_begin(task_device) != 0)
        return 1;
    for (int i = 0; i < scenario_count; i++)
        if (is_chosen(scenarios[i].name, words, count) && run(&scenarios[i], seconds) != 0)
            return 1;
    tasks_end();
    pthread_barrier_destroy(&together);
    return 0;
}
