/* conformance.h: what the tests of the suite see: the device they run on, checks that end a test, and
 * work to queue. The suite knows only the public API, so that one program runs on every backend and can
 * be carried to another machine with libaccel.so. */
#ifndef TESTS_CONFORMANCE_CONFORMANCE_H
#define TESTS_CONFORMANCE_CONFORMANCE_H

#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdio.h>
#include <string.h>

typedef enum cf_result { CF_PASS, CF_FAIL, CF_SKIP } cf_result;

typedef struct cf_gate cf_gate;

/* One test on one device. */
typedef struct cf_run {
    accel_device device;
    accel_device_capability capability;
    bool is_cpu;    /* the backend of this name, where kernels can be C functions */
    bool has_other; /* another device of the same backend */
    accel_device other;
    const accel_device *all; /* every device of every backend */
    size_t all_count;
    accel_stream *stream; /* new for each test */
    /* Kernels, where there is a way to have some (cf_has_kernels). */
    accel_module *module;
    accel_kernel *add; /* (u32 *data, u32 value, u32 count) */
    bool has_gate;     /* work can be held for certain (cf_hold) */
    accel_kernel *gate_kernel;
    cf_gate *gate;
    cf_result result;
    char reason[600];
} cf_run;

typedef struct cf_test {
    const char *name; /* topic/what */
    void (*body)(cf_run *run);
} cf_test;

/* Each file's tests, ended by a NULL name. */
extern const cf_test cf_device_tests[];
extern const cf_test cf_stream_tests[];
extern const cf_test cf_event_tests[];
extern const cf_test cf_memory_tests[];
extern const cf_test cf_memory_parts_tests[];
extern const cf_test cf_copy_tests[];
extern const cf_test cf_fill_tests[];
extern const cf_test cf_random_tests[];
extern const cf_test cf_kernel_tests[];
extern const cf_test cf_callback_tests[];
extern const cf_test cf_lifecycle_tests[];
extern const cf_test cf_error_tests[];
extern const cf_test cf_thread_tests[];
extern const cf_test cf_fork_tests[];
extern const cf_test cf_graph_tests[];

/* ---- checks: a failed one ends the test ---- */

void cf_fail(cf_run *run, const char *file, int line, const char *what);
void cf_fail_status(cf_run *run, const char *file, int line, const char *call, accel_status got,
                    accel_status wanted);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            cf_fail(run, __FILE__, __LINE__, #condition);                                          \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define GIVES(call, wanted)                                                                        \
    do {                                                                                           \
        const accel_status got_status = (call);                                                    \
        if (got_status != (wanted)) {                                                              \
            cf_fail_status(run, __FILE__, __LINE__, #call, got_status, (wanted));                  \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define OK(call) GIVES(call, ACCEL_OK)

#define SKIP(text)                                                                                 \
    do {                                                                                           \
        run->result = CF_SKIP;                                                                     \
        snprintf(run->reason, sizeof run->reason, "%s", (text));                                   \
        return;                                                                                    \
    } while (0)

/* ---- work ---- */

static inline bool cf_has_kernels(const cf_run *run)
{
    return run->add != NULL;
}

/* Adds `value` to `count` elements. Only with cf_has_kernels. */
accel_status cf_launch_add(cf_run *run, accel_stream *stream, uint32_t *data, uint32_t value,
                           uint32_t count);

/* Work that ends only at cf_let_go, where has_gate; elsewhere nothing is queued. */
accel_status cf_hold(cf_run *run, accel_stream *stream);
void cf_let_go(cf_run *run);

/* Fills `size` bytes with a pattern that depends on `seed`. */
void cf_pattern(unsigned char *bytes, size_t size, unsigned seed);

/* Makes (and unmakes) stream and kernels of a run. False: the run has a failure. */
bool cf_open(cf_run *run);
void cf_close(cf_run *run);

#endif
