/* double.h: an installable OpenCL driver over host memory, whose every call can be made to fail: for the
 * paths that no healthy driver takes. What a test wants of it stands in the variable OPENCL_DOUBLE: words
 * with blanks between them. accel takes a change of that variable for a change of the driver and asks it
 * anew; what DOUBLE_UNSEEN says comes before it, and is no reason to.
 *
 *   clFunction=CODE   that function fails with the code
 *   late=CODE         launches are queued, and fail afterwards
 *   log=N             the build log has N bytes, its end among them (0, 1: empty); unset: 40
 *   unterminated      the log's end is not marked
 *   log-code=CODE     it cannot be had
 *   no-binary         programs have no binaries
 *   one-way           the driver does not take its own binaries back
 *   no-compiler       the device says that it has none
 *   no-svm            there is no shared virtual memory
 *   usm               there is unified shared memory
 *   late-copy=CODE    copies and fills are queued, and fail afterwards
 *   clock=PERCENT     profiling, by a clock of that pace; unset: none
 *   priorities        queues take priorities; the last one is told by opencl_double_priority
 *   bus               the device says where it sits and has a UUID
 *   exit-handler      from its first call in a process on, the driver has an exit handler, and something to do
 *                     at the end of each thread that has called it; a call after the handler has run ends the
 *                     process with status DOUBLE_CALLED_LATE. opencl_double_threads_ended counts the threads
 *
 * Kernels do nothing: a program has those that its text names. Commands are carried out when they are
 * queued; an event has passed once those it waits for have. */
#ifndef TESTS_OPENCL_DOUBLE_H
#define TESTS_OPENCL_DOUBLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/driver/symbols.h"

enum { DOUBLE_TABLE_SIZE = 160, DEPENDENCIES = 2, CALLBACKS = 4, DOUBLE_CALLED_LATE = 99 };

/* Every object begins as an installable driver's must: with the table. */
typedef struct object {
    void *const *table;
    atomic_int references;
} object;

typedef struct event {
    object head;
    cl_int status; /* its own, where nothing is waited for */
    cl_ulong time; /* when it was queued */
    struct event *before[DEPENDENCIES];
    void (*callbacks[CALLBACKS])(cl_event, cl_int, void *);
    void *users[CALLBACKS];
    struct event *next; /* of all that have callbacks */
} event;

typedef struct queue {
    object head;
    event *last;
} queue;

typedef struct memory {
    object head;
    size_t size;
    char *bytes;
} memory;

typedef struct program {
    object head;
    char *text;
    bool built;
} program;

typedef struct kernel {
    object head;
    program *of;
} kernel;

extern void *double_table[DOUBLE_TABLE_SIZE];
extern object double_device;

/* The word's value, 1 where it has none; `fallback` where it was not given. */
int double_knob(const char *word, int fallback);

/* Each function begins with it, or lets an object go. */
void double_called(void);

#define FAIL()                                                                                     \
    do {                                                                                           \
        double_called();                                                                           \
        const cl_int fail_code = double_knob(__func__ + sizeof "double_" - 1, CL_SUCCESS);         \
        if (fail_code != CL_SUCCESS)                                                               \
            return fail_code;                                                                      \
    } while (0)

/* For functions that return an object, or NULL and a code. */
#define FAIL_OBJECT()                                                                              \
    do {                                                                                           \
        double_called();                                                                           \
        const cl_int fail_code = double_knob(__func__ + sizeof "double_" - 1, CL_SUCCESS);         \
        if (out_code != NULL)                                                                      \
            *out_code = fail_code;                                                                 \
        if (fail_code != CL_SUCCESS)                                                               \
            return NULL;                                                                           \
    } while (0)

/* An object of that size; it counts as alive. */
void *double_make(size_t size);
/* True: that was the last reference. */
bool double_let_go(void *of);
void double_destroy(void *of);
/* The answer to a question: the value, and its size. */
cl_int double_give(const void *value, size_t size, size_t capacity, void *out, size_t *out_size);
cl_int double_give_text(const char *text, size_t capacity, void *out, size_t *out_size);
/* The next command of the queue, which has been carried out with that result. */
cl_int double_queued(cl_command_queue in, cl_int status, cl_uint count, const cl_event *after,
                     cl_event *out);
/* One more or one less of what is alive. */
void double_count(int change);

/* The functions of OpenCL; those that no file defines are NULL. */
#define DECLARE(name, place, version, result, parameters)                                          \
    result double_##name parameters __attribute__((weak));
ACCEL__OPENCL_FUNCTIONS(DECLARE)
ACCEL__OPENCL_USM_FUNCTIONS(DECLARE)
#undef DECLARE

#endif
