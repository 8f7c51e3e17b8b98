/* log_locks_fork_test.c: the log callback is called with no lock of accel held (log.h): while it takes its
 * time, other threads get their answers, whatever the message is about. Each case runs in a child of its
 * own, because most messages are said once in a process. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

enum { PATIENCE_MS = 10000 };

/* ---- another thread, while a message is being heard ---- */

typedef struct other_thread {
    _Atomic(bool) ended;
    int (*body)(void);
    int failures;
} other_thread;

static void *run_body(void *user)
{
    other_thread *self = user;
    self->failures = self->body();
    atomic_store(&self->ended, true);
    return NULL;
}

/* What a case expects to hear, and what it has heard. */
static struct {
    const char *text; /* a part of the message */
    int (*meanwhile)(void);
    _Atomic(int) times;
    _Atomic(bool) is_busy; /* another thread is at it: what it makes accel say is not looked at */
    int failures;
} heard;

/* The thread is left behind where it hangs: it would stand in the way of its own end. */
static int meanwhile(void)
{
    static other_thread other;
    pthread_t thread;
    other = (other_thread){.body = heard.meanwhile};
    CHECK_QUIET(pthread_create(&thread, NULL, run_body, &other) == 0);
    for (int turn = 0; turn < PATIENCE_MS && !atomic_load(&other.ended); turn++)
        test_nap_ms(1);
    CHECK_QUIET(atomic_load(&other.ended));
    pthread_join(thread, NULL);
    return other.failures;
}

static void hear(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level, (void)backend, (void)user;
    if (strstr(text, heard.text) == NULL || atomic_exchange(&heard.is_busy, true))
        return;
    heard.times++;
    heard.failures += meanwhile();
    atomic_store(&heard.is_busy, false);
}

static int listen(const char *text, int (*body)(void))
{
    heard.text = text;
    heard.meanwhile = body;
    return accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, hear, NULL) != ACCEL_OK;
}

static int has_heard(void)
{
    CHECK_QUIET(heard.times >= 1);
    CHECK_QUIET(heard.failures == 0);
    return 0;
}

/* ---- what it does ---- */

static int ask(void)
{
    const accel_backend count = accel_backend_count();
    CHECK_QUIET(count >= 1);
    for (accel_backend number = 1; number <= count; number++) {
        bool available = false;
        int32_t devices = 0;
        accel_is_available(number, &available);
        accel_device_count(number, &devices);
    }
    accel_device device;
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    return 0;
}

/* What was found is of no use: it has to be looked for again. (The thread that hears reads no variable
 * meanwhile.) */
static int ask_anew(void)
{
    setenv("ACCEL_VISIBLE_DEVICES", "cpu:1", 1);
    return ask();
}

static int use(void)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    CHECK_QUIET(ask() == 0);
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 64, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static accel_status build_one(void)
{
    static const char source[] = "__kernel void one(__global int *out) { out[0] = 1; }";
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(test_cpu_device(0), source,
                                                                sizeof source - 1, NULL, &module);
    accel_module_release(module);
    return status;
}

static int build(void)
{
    CHECK_QUIET(build_one() == ACCEL_OK);
    return use();
}

/* ---- the messages ---- */

static int wrong_mask(void *user)
{
    (void)user;
    setenv("ACCEL_MASK", "cpu:nosuchgroup", 1);
    CHECK_QUIET(listen("nosuchgroup", ask) == 0);
    CHECK_QUIET(ask() == 0);
    return has_heard();
}

static int wrong_visible_devices(void *user)
{
    (void)user;
    setenv("ACCEL_VISIBLE_DEVICES", "cpu:0,cpu:77", 1);
    CHECK_QUIET(listen("ACCEL_VISIBLE_DEVICES", ask_anew) == 0);
    CHECK_QUIET(ask() == 0);
    return has_heard();
}

static int wrong_limit(void *user)
{
    (void)user;
    setenv("ACCEL_PROBE_TIMEOUT_MS", "soon", 1);
    CHECK_QUIET(listen("ACCEL_PROBE_TIMEOUT_MS", ask_anew) == 0);
    CHECK_QUIET(ask() == 0);
    return has_heard();
}

/* A folder that is a loop of links cannot be read by anybody. */
static int passed_over(void *user)
{
    (void)user;
    char path[] = "/tmp/accel-loop-XXXXXX";
    CHECK_QUIET(mkdtemp(path) != NULL);
    CHECK_QUIET(rmdir(path) == 0 && symlink(path, path) == 0);
    setenv("OCL_ICD_VENDORS", path, 1);
    CHECK_QUIET(listen("passed over", ask_anew) == 0);
    const int failures = ask();
    unlink(path);
    return failures + has_heard();
}

static int start(void *user)
{
    (void)user;
    CHECK_QUIET(listen("started with", use) == 0);
    CHECK_QUIET(use() == 0);
    return has_heard();
}

static int unusable_cache(void *user)
{
    (void)user;
    accel_device_capability capability = {.struct_size = sizeof capability};
    CHECK_QUIET(accel_get_device_capability(test_cpu_device(0), &capability) == ACCEL_OK);
    if (!capability.kernels_from_source)
        return 77;
    setenv("ACCEL_CACHE_DIR", "/dev/null/cache", 1);
    CHECK_QUIET(listen("kernel cache", build) == 0);
    CHECK_QUIET(build_one() == ACCEL_OK);
    return has_heard();
}

/* ---- */

#define IN_A_CHILD(name)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        const int result = test_in_child(name, NULL, 90);                                          \
        if (result == 77)                                                                          \
            skip();                                                                                \
        assert_int_equal(result, 0);                                                               \
    }

IN_A_CHILD(wrong_mask)
IN_A_CHILD(wrong_visible_devices)
IN_A_CHILD(wrong_limit)
IN_A_CHILD(passed_over)
IN_A_CHILD(start)
IN_A_CHILD(unusable_cache)

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_mask),  cmocka_unit_test(test_wrong_visible_devices),
        cmocka_unit_test(test_wrong_limit), cmocka_unit_test(test_passed_over),
        cmocka_unit_test(test_start),       cmocka_unit_test(test_unusable_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
