/* stack.c: catches stacks, and keeps each different one once.
 *
 * Two unwinders. The fast one follows frame pointers: on x86-64 and arm64 a frame begins with the
 * caller's frame pointer and the return address. The files of src/memory are built with frame
 * pointers, so the first step is right in every program; what an outer function without them leaves
 * in the register may be anything, so each step must stay on the thread's stack and go upwards, and
 * ends the walk otherwise. The other one is the C library's backtrace(), which reads unwind tables.
 *
 * Kept stacks lie in chunks that are never freed; a number is a place in them. Readers and finders
 * take no lock: a stack is complete before its number is published, and never changes. */
#include "memory/history/stack.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <accel/memory_history.h>

#include "base/allocate.h"
#include "memory/history/unwind.h"
#include "platform/loader.h"
#include "platform/mutex.h"

/* Stack memory that other functions own is read as it is: sanitizers must not look. */
#define NOT_CHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

/* ---- keeping ---- */

typedef struct kept_stack {
    uint32_t next; /* number of the next in the bucket */
    uint32_t count;
    uint64_t hash;
    uintptr_t frames[];
} kept_stack;

enum {
    CHUNK_SIZE = 1 << 16,
    UNIT = 8, /* bytes; a number counts them through all chunks */
    UNITS = CHUNK_SIZE / UNIT,
    CHUNK_COUNT = 4096, /* 256 MiB of stacks at most */
    BUCKET_COUNT = 1 << 16
};

static _Atomic(char *) chunks[CHUNK_COUNT];
static _Atomic(uint32_t) buckets[BUCKET_COUNT];

/* Guards the end of the kept stacks and additions to buckets. A leaf. */
static accel__mutex keep_mutex;
static uint32_t next_unit = 1; /* 0 stands for no stack */

static const kept_stack *stack_of(uint32_t number)
{
    char *chunk = atomic_load_explicit(&chunks[number / UNITS], memory_order_acquire);
    return (const kept_stack *)(chunk + (size_t)(number % UNITS) * UNIT);
}

/* A sum of products that do not wait for each other: the processor makes one a cycle. */
static uint64_t hash_of(const uintptr_t *frames, size_t count)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = count;
    uint64_t factor = odd;
    for (size_t i = 0; i < count; i++) {
        hash += frames[i] * factor;
        factor += odd << 1;
    }
    return (hash ^ hash >> 32) * odd;
}

/* From the bucket's `head` on, up to `end`. 0: not there. */
static uint32_t find(uint32_t head, uint32_t end, uint64_t hash, const uintptr_t *frames,
                     size_t count)
{
    while (head != end) {
        const kept_stack *stack = stack_of(head);
        if (stack->hash == hash && stack->count == count &&
            memcmp(stack->frames, frames, count * sizeof *frames) == 0)
            return head;
        head = stack->next;
    }
    return 0;
}

/* Room for a stack; 0: no memory. With the mutex. */
static uint32_t take_units(size_t size)
{
    const uint32_t count = (uint32_t)((size + UNIT - 1) / UNIT);
    if (next_unit % UNITS + count > UNITS)
        next_unit = (next_unit / UNITS + 1) * UNITS;
    const uint32_t chunk = next_unit / UNITS;
    if (chunk >= CHUNK_COUNT)
        return 0;
    if (atomic_load_explicit(&chunks[chunk], memory_order_relaxed) == NULL) {
        char *memory = accel__allocate(CHUNK_SIZE);
        if (memory == NULL)
            return 0;
        atomic_store_explicit(&chunks[chunk], memory, memory_order_release);
    }
    const uint32_t number = next_unit;
    next_unit += count;
    return number;
}

static uint32_t add(_Atomic(uint32_t) *bucket, uint32_t seen, uint64_t hash,
                    const uintptr_t *frames, size_t count)
{
    accel__mutex_lock(&keep_mutex);
    const uint32_t head = atomic_load_explicit(bucket, memory_order_relaxed);
    uint32_t number = find(head, seen, hash, frames, count);
    if (number == 0)
        number = take_units(sizeof(kept_stack) + count * sizeof *frames);
    else
        seen = number; /* another thread was faster */
    if (number != 0 && number != seen) {
        kept_stack *stack = (kept_stack *)stack_of(number);
        stack->next = head;
        stack->count = (uint32_t)count;
        stack->hash = hash;
        memcpy(stack->frames, frames, count * sizeof *frames);
        atomic_store_explicit(bucket, number, memory_order_release);
    }
    accel__mutex_unlock(&keep_mutex);
    return number;
}

uint32_t accel__stack_keep(const uintptr_t *frames, size_t count)
{
    if (count == 0)
        return 0;
    const uint64_t hash = hash_of(frames, count);
    _Atomic(uint32_t) *bucket = &buckets[hash >> 48];
    const uint32_t head = atomic_load_explicit(bucket, memory_order_acquire);
    const uint32_t number = find(head, 0, hash, frames, count);
    return number != 0 ? number : add(bucket, head, hash, frames, count);
}

size_t accel__stack_frames(uint32_t number, const uintptr_t **out_frames)
{
    if (number == 0) {
        *out_frames = NULL;
        return 0;
    }
    const kept_stack *stack = stack_of(number);
    *out_frames = stack->frames;
    return stack->count;
}

/* ---- whose code ---- */

/* Where libaccel's code lies; empty where it is part of the program itself. */
static _Atomic(uintptr_t) own_begin;
static _Atomic(uintptr_t) own_end;

static int note_own_code(struct dl_phdr_info *object, size_t size, void *user)
{
    const uintptr_t here = (uintptr_t)user;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || here - begin >= part->p_memsz)
            continue;
        if (object->dlpi_name != NULL && object->dlpi_name[0] != '\0') {
            atomic_store_explicit(&own_begin, begin, memory_order_relaxed);
            atomic_store_explicit(&own_end, begin + part->p_memsz, memory_order_release);
        }
        return 1;
    }
    return 0;
}

/* ---- catching ---- */

typedef struct stack_walk {
    uintptr_t own_begin;
    uintptr_t own_size;
    size_t count;
    size_t max;
    uintptr_t frames[ACCEL_MEMORY_HISTORY_FRAMES_MAX];
} stack_walk;

/* False: enough. */
static inline bool add_frame(stack_walk *walk, uintptr_t address)
{
    if (walk->count != 0 || address - walk->own_begin >= walk->own_size)
        walk->frames[walk->count++] = address;
    return walk->count < walk->max;
}

#if defined(__x86_64__) || defined(__aarch64__)

/* The bounds of this thread's stack; `high` is 0 before they are asked for, and `low` the highest
 * address where they cannot be had. Initial-exec, like all that notes read. */
typedef struct stack_bounds {
    uintptr_t low;
    uintptr_t high;
} stack_bounds;
static _Thread_local stack_bounds bounds __attribute__((tls_model("initial-exec")));

static void find_bounds(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    bounds.low = bounds.high = UINTPTR_MAX;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        bounds.low = (uintptr_t)low;
        bounds.high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

static inline uintptr_t plain_address(uintptr_t address)
{
#ifdef __aarch64__
    /* Takes off a pointer authentication code: a no-operation where there is none. */
    register uintptr_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link));
    return link;
#else
    return address;
#endif
}

static NOT_CHECKED __attribute__((noinline)) void walk_frame_pointers(stack_walk *walk)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    if (bounds.high == 0)
        find_bounds();
    const uintptr_t last = bounds.high - 2 * sizeof *frame;
    uintptr_t next = (uintptr_t)frame;
    uintptr_t below = bounds.low; /* on another stack, a signal's or a coroutine's: nothing */
    while (next > below && next <= last && next % sizeof *frame == 0) {
        below = next;
        frame = (const uintptr_t *)next;
        if (frame[1] == 0 || !add_frame(walk, plain_address(frame[1])))
            break;
        next = frame[0];
    }
}

#else

/* How frames lie is not known here: the tables say it. */
static void walk_frame_pointers(stack_walk *walk)
{
    void *frames[ACCEL_MEMORY_HISTORY_FRAMES_MAX];
    const int count = backtrace(frames, ACCEL_MEMORY_HISTORY_FRAMES_MAX);
    for (int i = 0; i < count && add_frame(walk, (uintptr_t)frames[i]); i++)
        continue;
}

#endif

#ifdef __x86_64__

static inline bool is_on_stack(uintptr_t address, uintptr_t above)
{
    return address > above && address <= bounds.high - 2 * sizeof address &&
           address % sizeof address == 0;
}

static NOT_CHECKED inline uintptr_t word_at(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* What is known of a frame on the way up. */
typedef struct stack_frame {
    uintptr_t place; /* where in the code: the return address */
    uintptr_t stack; /* rsp when the call has returned */
    uintptr_t frame; /* rbp */
} stack_frame;

/* To the caller of the frame. False: there is none, or it cannot be found. Memory is read between
 * the frame and the end of the stack only. */
static NOT_CHECKED inline bool step(stack_frame *at)
{
    const accel__unwind_row row = accel__unwind_at(at->place - 1);
    const uintptr_t saved = accel__unwind_saved(row);
    uintptr_t cfa = at->stack + accel__unwind_offset(row);
    uintptr_t frame = at->frame;
    switch (accel__unwind_kind_of(row)) {
    case ACCEL__UNWIND_BY_STACK:
        break;
    case ACCEL__UNWIND_BY_FRAME:
        cfa = at->frame + accel__unwind_offset(row);
        break;
    case ACCEL__UNWIND_REALIGNED:
        if (!is_on_stack(at->frame - accel__unwind_offset(row), at->stack - 1) ||
            !is_on_stack(at->frame, at->stack - 1))
            return false;
        cfa = word_at(at->frame - accel__unwind_offset(row));
        frame = word_at(at->frame);
        break;
    case ACCEL__UNWIND_UNKNOWN: /* code without tables has frame pointers, or the way ends here */
        if (!is_on_stack(at->frame, at->stack - 1))
            return false;
        cfa = at->frame + 2 * sizeof cfa;
        frame = word_at(at->frame);
        break;
    default:
        return false;
    }
    if (cfa < at->stack + sizeof cfa || cfa > bounds.high || cfa % sizeof cfa != 0)
        return false;
    if (saved != 0)
        frame = cfa - saved >= at->stack ? word_at(cfa - saved) : 0;
    *at = (stack_frame){.place = word_at(cfa - sizeof cfa), .stack = cfa, .frame = frame};
    return at->place > 1;
}

static NOT_CHECKED __attribute__((noinline)) void walk_tables(stack_walk *walk)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    stack_frame at = {.place = frame[1], .stack = (uintptr_t)(frame + 2), .frame = frame[0]};
    if (bounds.high == 0)
        find_bounds();
    if ((uintptr_t)frame > bounds.low && (uintptr_t)frame < bounds.high)
        while (add_frame(walk, at.place) && step(&at))
            continue;
}

static void prepare_tables(void)
{
    accel__unwind_forget();
}

#else

/* Libaccel's own frames come first; there are never as many as this. */
enum { OWN_FRAMES = 16 };

static void walk_tables(stack_walk *walk)
{
    void *frames[ACCEL_MEMORY_HISTORY_FRAMES_MAX + OWN_FRAMES];
    const int count = backtrace(frames, (int)walk->max + OWN_FRAMES);
    for (int i = 0; i < count && add_frame(walk, (uintptr_t)frames[i]); i++)
        continue;
}

/* The C library loads its unwinder at the first use. */
static void prepare_tables(void)
{
    void *frames[4];
    backtrace(frames, 4);
}

#endif

void accel__stack_prepare(accel__unwinder unwinder)
{
    if (atomic_load_explicit(&own_end, memory_order_acquire) == 0) { /* it stays where it is */
        accel__loader_enter();
        dl_iterate_phdr(note_own_code, (void *)(uintptr_t)accel__stack_prepare);
        accel__loader_leave();
    }
    if (unwinder == ACCEL__UNWINDER_TABLES)
        prepare_tables();
}

uint32_t accel__stack_catch(accel__unwinder unwinder, unsigned max_frames)
{
    stack_walk walk;
    walk.own_begin = atomic_load_explicit(&own_begin, memory_order_relaxed);
    walk.own_size = atomic_load_explicit(&own_end, memory_order_relaxed) - walk.own_begin;
    walk.count = 0;
    walk.max = max_frames;
    if (unwinder == ACCEL__UNWINDER_TABLES)
        walk_tables(&walk);
    else
        walk_frame_pointers(&walk);
    return accel__stack_keep(walk.frames, walk.count);
}
