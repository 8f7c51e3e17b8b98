/* calls.h: each call of accel that the fuzzer makes goes through here: it is counted, and what it returns is
 * held against what the headers promise. */
#ifndef TESTS_FUZZ_API_CALLS_H
#define TESTS_FUZZ_API_CALLS_H

#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdatomic.h>

#include "draw.h"

/* One number for each function in src/accel.map. */
typedef enum fuzz_function {
#define EXPORTED(name) FUZZ_##name,
#include "exported.h"
#undef EXPORTED
    FUZZ_FUNCTION_COUNT
} fuzz_function;

enum { FUZZ_THREADS_MAX = 8, FUZZ_STATUS_COUNT = 24 };

/* What a worker and the process that started it both see. */
typedef struct fuzz_shared {
    _Atomic(uint64_t) calls[FUZZ_FUNCTION_COUNT];
    _Atomic(uint64_t) errors[FUZZ_FUNCTION_COUNT];
    _Atomic(uint64_t) statuses[FUZZ_STATUS_COUNT];
    _Atomic(uint64_t) progress;                   /* moves while the worker lives */
    _Atomic(uint32_t) function[FUZZ_THREADS_MAX]; /* what each thread called last */
    _Atomic(uint32_t) step[FUZZ_THREADS_MAX];
    _Atomic(uint32_t) round;
    _Atomic(uint64_t) forks;
    _Atomic(uint64_t) checked; /* buffers whose contents were compared */
    _Atomic(uint64_t) rounds;
} fuzz_shared;

extern fuzz_shared *fuzz_shared_page;

typedef struct fuzz_thread fuzz_thread;

/* The name of a function; the statuses, as bits, that its header lets it return besides ACCEL_OK. */
const char *fuzz_function_name(fuzz_function function);
uint64_t fuzz_documented(fuzz_function function);

/* Ends the worker where a function of the library is not described in functions.c. */
void fuzz_check_descriptions(void);

/* Says where it is and how to come there again, and ends the process. */
_Noreturn void fuzz_fail(const fuzz_thread *thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void fuzz_before(fuzz_thread *thread, fuzz_function function);
/* Holds a status, and the thread's record of the failure, against the header. Returns the status. */
accel_status fuzz_after(fuzz_thread *thread, fuzz_function function, accel_status status);
/* The same, where accel makes an object, and puts its address to `out`: there is one exactly where the status
 * is OK. */
accel_status fuzz_made(fuzz_thread *thread, fuzz_function function, accel_status status,
                       const void *out);

/* CALL returns the status; MAKE's last argument is where the object goes; ASK is for what returns
 * something else. */
#define CALL(thread, name, ...)                                                                    \
    fuzz_after((thread), FUZZ_##name, (fuzz_before((thread), FUZZ_##name), name(__VA_ARGS__)))
#define MAKE(thread, name, out, ...)                                                               \
    fuzz_made((thread), FUZZ_##name,                                                               \
              (fuzz_before((thread), FUZZ_##name), *(out) = (void *)&fuzz_shared_page,             \
               name(__VA_ARGS__, (out))),                                                          \
              (out))
#define ASK(thread, name, ...) (fuzz_before((thread), FUZZ_##name), name(__VA_ARGS__))

/* Functions without arguments. */
#define CALL_NONE(thread, name)                                                                    \
    fuzz_after((thread), FUZZ_##name, (fuzz_before((thread), FUZZ_##name), name()))
#define ASK_NONE(thread, name) (fuzz_before((thread), FUZZ_##name), name())

#define REQUIRE(thread, condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail((thread), __VA_ARGS__);                                                      \
    } while (0)

#endif
