/* process.c: steps that concern the whole process: deferred calls, the log, shutdown, and forks, with use of
 * devices in the child where the backend survives that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Their allocators have locks of their own, which a child inherits as they were: no other thread of ours is
 * inside of one at the fork, and where one of accel's is, the child is given up. */
enum { NEEDS_QUIET = 1 };
#else
enum { NEEDS_QUIET = 0 };
#endif

/* ---- deferred calls ---- */

static accel_status deferred(accel_device device, void *user)
{
    (void)user;
    if (device.index >= 0)
        (void)accel_set_device_index(device);
    return ACCEL_OK;
}

static void drop_deferred(void *user)
{
    (void)user;
}

static void call_deferred(fuzz_thread *thread)
{
    const accel_lazy_options options = {
        .struct_size = draw_chance(&thread->draw, 95) ? sizeof options : 2,
        .kind = (accel_lazy_kind)draw_below(&thread->draw, 4),
        .drop = draw_chance(&thread->draw, 50) ? drop_deferred : NULL};
    const accel_backend backend = draw_chance(&thread->draw, 70) ? world.backend
                                                                 : fuzz_backend(thread);
    CALL(thread, accel_lazy_call, backend, draw_chance(&thread->draw, 97) ? deferred : NULL, NULL,
         draw_chance(&thread->draw, 50) ? &options : NULL);
}

/* ---- the log ---- */

static void listen(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)user;
    if (backend == NULL || text == NULL || text[0] == '\0')
        abort();
}

static void set_log(fuzz_thread *thread)
{
    static const accel_log_level levels[] = {ACCEL_LOG_LEVEL_ERROR, ACCEL_LOG_LEVEL_DEBUG,
                                             ACCEL_LOG_LEVEL_INFO, (accel_log_level)0,
                                             (accel_log_level)99};
    CALL(thread, accel_log_set_callback, levels[draw_below(&thread->draw, 5)],
         draw_chance(&thread->draw, 70) ? listen : NULL, NULL);
}

/* ---- the end, and a new start ---- */

static void shut_down(fuzz_thread *thread)
{
    CALL_NONE(thread, accel_shutdown);
}

static void ask_fork(fuzz_thread *thread)
{
    OUT_STRUCT(accel_fork_report, report);
    CALL(thread, accel_fork_state, draw_chance(&thread->draw, 95) ? &report.as : NULL);
}

/* ---- forks ---- */

static void use_in_child(fuzz_thread *thread)
{
    const fuzz_device_state *device = fuzz_good_device(thread);
    accel_stream *stream = NULL;
    uint32_t got[16] = {0};
    const uint32_t pattern = 0x5eed;
    REQUIRE(thread, MAKE(thread, accel_stream_create, &stream, device->device, NULL) == ACCEL_OK,
            "no stream in a child: %s", accel_last_error_message());
    fuzz_block *block = fuzz_make_block(thread, stream, sizeof got, ACCEL_MEMORY_KIND_DEVICE);
    if (block != NULL) { /* a limit may be reached */
        REQUIRE(thread,
                CALL(thread, accel_fill, block->pointer, &pattern, 4, sizeof got, stream) ==
                        ACCEL_OK &&
                    CALL(thread, accel_copy, got, block->pointer, sizeof got, stream) == ACCEL_OK &&
                    CALL(thread, accel_stream_synchronize, stream) == ACCEL_OK,
                "no work in a child: %s", accel_last_error_message());
        for (int i = 0; i < 16; i++)
            REQUIRE(thread, got[i] == pattern, "a child reads %u", got[i]);
        fuzz_free_block(thread, block);
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

/* Where the backend does not survive, each use says so, and questions work. */
static void refused_in_child(fuzz_thread *thread)
{
    accel_stream *stream = NULL;
    bool started = true;
    const accel_device device = world.devices[0].device;
    REQUIRE(thread, MAKE(thread, accel_stream_create, &stream, device, NULL) == ACCEL_ERROR_FORKED,
            "a child may use a backend that does not survive");
    REQUIRE(thread,
            CALL(thread, accel_is_initialized, device.backend, &started) == ACCEL_OK && !started,
            "a child has a backend that has started");
}

static _Noreturn void be_child(fuzz_thread *thread)
{
    alarm(60);
    pthread_mutex_init(&world.slots_mutex, NULL); /* another thread may have had it */
    if (world.survives_fork) {
        /* Inherited memory is as it was: blocks that were idle hold what they held. */
        for (int i = 0; i < FUZZ_BLOCKS_MAX; i++) {
            fuzz_block *block = thread->blocks[i];
            if (block != NULL && block->shadow != NULL && block->last == NULL && block->is_known)
                fuzz_verify(thread, block);
        }
        use_in_child(thread);
    } else {
        refused_in_child(thread);
    }
    for (int i = 0; i < 20 && world.survives_fork && !NEEDS_QUIET; i++) {
        fuzz_steps_memory[draw_below(&thread->draw, 8)].run(thread);
        fuzz_steps_devices[draw_below(&thread->draw, 6)].run(thread);
    }
    fuzz_free_blocks(thread); /* inherited: quiet */
    if (draw_chance(&thread->draw, 50))
        CALL_NONE(thread, accel_shutdown);
    _exit(0);
}

/* Whether the child ended by itself. */
static bool await_child(fuzz_thread *thread, pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    if (NEEDS_QUIET && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return false;
    REQUIRE(thread, WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child ends with %s %d",
            WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return true;
}

/* Waits for the thread's blocks first, so that a child knows what they hold. */
static void fork_now(fuzz_thread *thread)
{
#if defined(__SANITIZE_THREAD__)
    (void)await_child; /* ThreadSanitizer ends a child that starts a thread */
    (void)be_child;
    (void)thread;
#else
    for (int i = 0; i < FUZZ_BLOCKS_MAX; i++) {
        fuzz_block *block = thread->blocks[i];
        if (block != NULL && block->shadow != NULL && block->is_known) {
            fuzz_verify(thread, block);
            fuzz_drop(thread, FUZZ_STREAM, block->last);
            block->last = NULL;
        }
    }
    if (NEEDS_QUIET) {
        pthread_rwlock_unlock(&world.gate);
        pthread_rwlock_wrlock(&world.gate);
    }
    const pid_t child = fork();
    if (child == 0)
        be_child(thread);
    if (NEEDS_QUIET) {
        pthread_rwlock_unlock(&world.gate);
        pthread_rwlock_rdlock(&world.gate);
    }
    REQUIRE(thread, child > 0, "no child");
    if (await_child(thread, child))
        atomic_fetch_add_explicit(&fuzz_shared_page->forks, 1, memory_order_relaxed);
#endif
}

/* ---- before anything is used ---- */

/* Questions and deferred calls, after which a child may use any backend. */
void fuzz_before_start(fuzz_thread *thread)
{
    accel_fork_report report = {.struct_size = sizeof report};
    static const int questions[] = {0, 3, 4, 5}; /* those of devices.c that start nothing */
    bool started = true;
    for (int i = 0; i < 40; i++) {
        thread->what = "before the start";
        fuzz_steps_devices[questions[draw_below(&thread->draw, 4)]].run(thread);
        call_deferred(thread);
        if (draw_chance(&thread->draw, 20))
            CALL(thread, accel_manual_seed, draw_bits(&thread->draw));
        ask_fork(thread);
    }
    CALL(thread, accel_is_initialized, world.backend, &started);
    CALL(thread, accel_fork_state, &report);
    REQUIRE(thread, started || report.verdict == ACCEL_FORK_VERDICT_CLEAN,
            "nothing was used, and a fork is said to be %d: %s", (int)report.verdict,
            report.evidence);
}

const fuzz_step fuzz_steps_process[] = {
    {"call deferred", 2, call_deferred}, {"set log", 1, set_log}, {"shut down", 1, shut_down},
    {"ask fork", 1, ask_fork},           {"fork", 1, fork_now},   {NULL, 0, NULL},
};
