/* world.h: what the steps of the fuzzer act on. Objects that are counted lie in tables that all threads share:
 * a step takes a reference, uses the object, and releases it. Memory belongs to one thread at a time, which
 * knows what must be in it.
 *
 * Streams are of two sorts, and so are events: work goes to the ones, captures happen on the others, which
 * see nothing but the scratch memory of a round. So a graph never names memory that is gone, which would be
 * the fuzzer's fault. Scratch memory is written by everybody at once and never looked at. */
#ifndef TESTS_FUZZ_API_WORLD_H
#define TESTS_FUZZ_API_WORLD_H

#include <pthread.h>

#include "calls.h"

enum {
    FUZZ_DEVICES_MAX = 8,
    FUZZ_SLOTS = 8,       /* of each kind */
    FUZZ_BLOCKS_MAX = 10, /* of each thread */
    FUZZ_SCOPES_MAX = 4,
    FUZZ_GIFTS = 8,
    FUZZ_SHADOW_MAX = 64 << 10, /* bytes: the contents of larger memory are not followed */
    FUZZ_SCRATCH_SIZE = 64 << 10
};

typedef enum fuzz_kind {
    FUZZ_STREAM,
    FUZZ_CAPTURE_STREAM,
    FUZZ_EVENT,
    FUZZ_CAPTURE_EVENT,
    FUZZ_MODULE,
    FUZZ_POOL,
    FUZZ_GRAPH_POOL, /* replays write to the memory of it: nobody else allocates from it */
    FUZZ_GRAPH,
    FUZZ_GENERATOR,
    FUZZ_KIND_COUNT
} fuzz_kind;

/* Memory that one thread has. */
typedef struct fuzz_block {
    unsigned char *pointer;
    size_t size;
    accel_memory_kind kind;
    accel_device device;
    accel_stream *home; /* counted */
    accel_stream *last; /* counted: where it was used last; NULL: nowhere, or waited for */
    bool is_wrapped;
    bool is_known; /* shadow has what is in it */
    unsigned char *shadow;
} fuzz_block;

/* A scope that is open over several steps. */
typedef struct fuzz_scope {
    enum { FUZZ_SCOPE_DEVICE, FUZZ_SCOPE_STREAM, FUZZ_SCOPE_POOL } kind;
    union {
        accel_device_scope device;
        accel_stream_scope stream;
        accel_memory_pool_scope pool;
    } as;
} fuzz_scope;

struct fuzz_thread {
    uint32_t index;
    uint32_t step;
    const char *what; /* the step's name */
    fuzz_function last_function;
    fuzz_draw draw;
    fuzz_block **blocks; /* FUZZ_BLOCKS_MAX */
    fuzz_scope *scopes;  /* FUZZ_SCOPES_MAX */
    uint32_t scope_count;
};

typedef struct fuzz_device_state {
    accel_device device;
    bool is_cpu;
    unsigned char *scratch; /* device memory, FUZZ_SCRATCH_SIZE */
    unsigned char *pinned;  /* the same of the host */
    _Atomic(int64_t) live;  /* what the program has of device memory: allocations, … */
    _Atomic(int64_t) bytes; /* … and bytes asked for */
} fuzz_device_state;

typedef struct fuzz_world {
    uint64_t seed;
    uint32_t round;
    bool trace;
    const unsigned char
        *keep; /* one byte a step of all rounds, in turn: 0: left out; NULL: all stay */
    const char *backend_name;
    accel_backend backend;
    const char *directory; /* for files */
    uint32_t thread_count; /* of this round */
    fuzz_device_state devices[FUZZ_DEVICES_MAX];
    int device_count;
    bool survives_fork;
    void *slots[FUZZ_KIND_COUNT][FUZZ_SLOTS];
    pthread_mutex_t slots_mutex;
    fuzz_block *_Atomic gifts[FUZZ_GIFTS]; /* from thread to thread */
    /* Steps hold it for reading, a fork for writing where a sanitizer needs that no other thread is inside
     * of an allocation. */
    pthread_rwlock_t gate;
    _Atomic(uint64_t) callbacks_added;
    _Atomic(uint64_t) callbacks_called;
    _Atomic(uint64_t) wraps_added;
    _Atomic(uint64_t) wraps_released;
    /* How many pools may have been released since the process began: a released one is found until 256
     * more are. */
    _Atomic(uint32_t) pools_made;
} fuzz_world;

extern fuzz_world world;
extern unsigned char fuzz_host[FUZZ_SCRATCH_SIZE]; /* plain memory that everybody writes to */

static inline bool fuzz_is_alone(void)
{
    return world.thread_count == 1;
}

/* ---- tables ---- */

/* A reference to one of them, or NULL. */
void *fuzz_take(fuzz_thread *thread, fuzz_kind kind);
void fuzz_drop(fuzz_thread *thread, fuzz_kind kind, void *object); /* NULL: nothing */
/* Takes the caller's reference over; what lay in the slot is released. */
void fuzz_put(fuzz_thread *thread, fuzz_kind kind, void *object);
void fuzz_clear(fuzz_thread *thread);

/* A stream of work, or NULL for the current one, or a default one (also with a reference). */
accel_stream *fuzz_take_stream(fuzz_thread *thread);

/* ---- arguments ---- */

fuzz_device_state *fuzz_good_device(fuzz_thread *thread);
fuzz_device_state *fuzz_state_of(accel_device device); /* NULL: none of the world's */
accel_device fuzz_device(fuzz_thread *thread);         /* most of them exist */
accel_backend fuzz_backend(fuzz_thread *thread);
size_t fuzz_small_size(fuzz_thread *thread); /* 1 to FUZZ_SHADOW_MAX bytes */
size_t fuzz_size(fuzz_thread *thread);       /* any */
uint32_t fuzz_struct_size(fuzz_thread *thread, size_t size);
/* Something that may be no memory at all: only to be asked about. */
const void *fuzz_pointer(fuzz_thread *thread);
/* A part of scratch memory of the device, of `size` bytes at most, of any sort; seldom a wrong one. */
void *fuzz_scratch(fuzz_thread *thread, const fuzz_device_state *device, size_t *size);

/* Out structs may be written up to the size that the caller says: room for more than there is. */
#define OUT_STRUCT(type, name)                                                                     \
    union {                                                                                        \
        type as;                                                                                   \
        unsigned char room[sizeof(type) + 64];                                                     \
    } name;                                                                                        \
    memset(&(name), 0xa5, sizeof(name));                                                           \
    (name).as.struct_size = fuzz_struct_size(thread, sizeof(type))

/* Tells ThreadSanitizer of memory that is written by everybody at once. */
void fuzz_ignore_races(void *memory, size_t size);

/* ---- steps ---- */

typedef struct fuzz_step {
    const char *name;
    uint32_t weight;
    void (*run)(fuzz_thread *thread);
} fuzz_step;

/* Each file's steps, ending with an empty one. */
extern const fuzz_step fuzz_steps_devices[];
extern const fuzz_step fuzz_steps_streams[];
extern const fuzz_step fuzz_steps_kernels[];
extern const fuzz_step fuzz_steps_memory[];
extern const fuzz_step fuzz_steps_contents[];
extern const fuzz_step fuzz_steps_allocators[];
extern const fuzz_step fuzz_steps_graphs[];
extern const fuzz_step fuzz_steps_nodes[];
extern const fuzz_step fuzz_steps_random[];
extern const fuzz_step fuzz_steps_process[];

/* ---- shared by files of steps ---- */

/* kernels.c: a kernel of a module, its arguments on scratch memory, and a shape. */
enum { FUZZ_ARGS_MAX = 8 };
typedef struct fuzz_launch {
    accel_kernel *kernel;
    accel_launch_shape shape;
    accel_kernel_arg args[FUZZ_ARGS_MAX];
    uint32_t arg_count;
    uint64_t values[FUZZ_ARGS_MAX];
} fuzz_launch;
bool fuzz_draw_launch(fuzz_thread *thread, accel_module *module, const fuzz_device_state *device,
                      fuzz_launch *out_launch);
accel_module *fuzz_make_module(fuzz_thread *thread, accel_device device);

/* streams.c */
void fuzz_count_callback(accel_stream *stream, accel_status status, void *user);
void fuzz_graph_callback(accel_stream *stream, accel_status status, void *user); /* not counted */

/* memory.c */
fuzz_block *fuzz_make_block(fuzz_thread *thread, accel_stream *stream, size_t size,
                            accel_memory_kind kind);
void fuzz_free_block(fuzz_thread *thread, fuzz_block *block);
void fuzz_free_blocks(fuzz_thread *thread);

/* contents.c: waits, and compares with the shadow. */
void fuzz_verify(fuzz_thread *thread, fuzz_block *block);

/* allocators.c */
void fuzz_check_statistics(fuzz_thread *thread, bool all_is_freed);

/* process.c: what is asked before anything is used. */
void fuzz_before_start(fuzz_thread *thread);

/* scopes: devices.c */
void fuzz_end_scopes(fuzz_thread *thread);

#endif
