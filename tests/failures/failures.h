/* failures.h: makes the n-th request of the library to the system fail: of host memory, a mapping, a
 * thread, a process, a file, a library, or of the OpenCL driver.
 *
 * The linker leads the C library's functions that the library's objects call to ours (wrapped.c), so
 * that nothing has to be prepared in the library and no call is forgotten; the driver is a double that
 * passes on to a real one (doubles/failing_driver). Calls of the tests' own go the same way: while
 * failures are armed they call nothing but accel, and the real functions below. */
#ifndef TESTS_FAILURES_FAILURES_H
#define TESTS_FAILURES_FAILURES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum failure_kind {
    FAILURE_ALLOCATION = 1, /* host memory */
    FAILURE_MAPPING,
    FAILURE_THREAD,
    FAILURE_PROCESS,
    FAILURE_FILE,
    FAILURE_LIBRARY,
    FAILURE_SYSTEM, /* what the system says of the machine and the process */
    FAILURE_DRIVER
} failure_kind;

enum { FAILURE_STACK_MAX = 24 };

/* The first failure since the arming. */
typedef struct failure {
    failure_kind kind;
    const char *call; /* static text */
    void *stack[FAILURE_STACK_MAX];
    int stack_size;
} failure;

/* The calls that follow are counted, on all threads; the `number`-th fails, and where it is `lasting`
 * all behind it, too, but calls of the driver: without any answer from that no program goes on. */
void failures_arm(unsigned number, bool lasting);

/* Where the first failure is noted, as soon as there is one. */
void failures_note_in(failure *first);

/* False: no call has failed since. */
bool failures_disarm(void);

/* How many calls there were since the arming. */
unsigned failures_counted(void);

/* Whether the call that is being made is to fail. */
bool failures_due(failure_kind kind, const char *call);

/* Which driver call fails is decided here; NULL: the double is not there. */
bool failures_load_driver(const char *path);

/* What the library has had and not given back. */
int64_t failures_live_blocks(void);
int64_t failures_mapped_size(void);
int failures_driver_objects(void);

/* For tests while failures are armed. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *user);

#endif
