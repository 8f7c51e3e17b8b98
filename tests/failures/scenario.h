/* scenario.h: what is done while something fails: a table that mirrors the topics of the conformance
 * suite. A scenario passes the first failure on, as its status, gives back all that it has, and checks
 * results where nothing has failed. */
#ifndef TESTS_FAILURES_SCENARIO_H
#define TESTS_FAILURES_SCENARIO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <accel/accel.h>
#include <accel/cpu.h>

enum { WORDS = 4096, BYTES = WORDS * 4 };

/* One process on one backend. Host memory of copies lies here: work that is still queued after a failure
 * must not find a dead stack. */
typedef struct world {
    accel_device device;
    accel_device other; /* another one of the same backend, else the same */
    accel_device_capability capability;
    bool is_cpu;
    bool has_functions; /* kernels can be C functions */
    accel_module *module;
    accel_kernel *add;  /* (u32 *data, u32 value, u32 count) */
    const char *folder; /* of the run's own */
    uint32_t from[WORDS];
    uint32_t to[WORDS];
    unsigned turn;       /* counts the runs */
    bool is_clean;       /* nothing fails in this run */
    char failed[160];    /* the call that failed first in this run */
    char wrong[512];     /* "" where all is as it should be */
    _Atomic(int) called; /* by callbacks, in this run */
    int called_wanted;
} world;

typedef struct scenario {
    const char *name; /* topic/what */
    accel_status (*run)(world *w);
    void (*prepare)(world *w); /* before each run, with nothing failing; may be NULL */
    void (*check)(world *w);   /* after each, when all work has passed; may be NULL */
    bool cpu_only;
    bool fresh; /* in a process that has not used accel yet, each run in one of its own */
} scenario;

extern const scenario object_scenarios[];
extern const scenario memory_scenarios[];
extern const scenario kernel_scenarios[];
extern const scenario graph_scenarios[];
extern const scenario random_scenarios[];
extern const scenario question_scenarios[];
extern const scenario start_scenarios[];

/* Makes what scenarios share; nothing of it is part of a run. False: it cannot be had. */
bool world_open(world *w, const char *backend);
void world_close(world *w);

/* Notes which call failed, and that the record says so, too. Returns the status. */
accel_status scenario_note(world *w, accel_status status, const char *call);
void scenario_wrong(world *w, const char *file, int line, const char *what);

/* Does the call where nothing has failed yet. */
#define THEN(call)                                                                                 \
    do {                                                                                           \
        if (status == ACCEL_OK)                                                                    \
            status = scenario_note(w, (call), #call);                                              \
    } while (0)

/* Does the call in any case: a wait, an end. */
#define ALWAYS(call)                                                                               \
    do {                                                                                           \
        const accel_status always_status = scenario_note(w, (call), #call);                        \
        if (status == ACCEL_OK)                                                                    \
            status = always_status;                                                                \
    } while (0)

/* A call that makes something: nothing where it fails. */
#define MAKES(call, made)                                                                          \
    do {                                                                                           \
        if (status == ACCEL_OK) {                                                                  \
            status = scenario_note(w, (call), #call);                                              \
            if ((status == ACCEL_OK) != ((made) != NULL))                                          \
                scenario_wrong(w, __FILE__, __LINE__, #made);                                      \
        }                                                                                          \
    } while (0)

/* What must hold where nothing has failed. */
#define RIGHT(condition)                                                                           \
    do {                                                                                           \
        if (status == ACCEL_OK && !(condition))                                                    \
            scenario_wrong(w, __FILE__, __LINE__, #condition);                                     \
    } while (0)

/* What must hold in any case. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            scenario_wrong(w, __FILE__, __LINE__, #condition);                                     \
    } while (0)

/* ---- what scenarios share ---- */

accel_status launch_add(world *w, accel_stream *stream, void *data, uint32_t value);

/* Waits for the stream and lets go of it. */
accel_status end_stream(world *w, accel_stream *stream, accel_status status);

/* Fills `from` with a pattern of this run, and `to` with something else. */
void begin_words(world *w);
bool words_are(const uint32_t *words, size_t count, uint32_t value);

void count_call(accel_stream *stream, accel_status status, void *user); /* `user` is the world */

/* Memory is given back whatever fails. */
#define FREES(pointer) MUST(accel_memory_free(pointer) == ACCEL_OK)

#endif
