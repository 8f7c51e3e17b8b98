/* history.c: one ring of events for each device, and what is kept in it.
 *
 * A period is what lies between two calls of accel_memory_record_history or
 * accel_memory_clear_history. Its number is part of the one word that says whether the history is
 * on and with which options; a ring remembers the word that its events were noted under. A ring of
 * another word is empty, whoever looks, and begins anew with the next event, so ending a period
 * touches no ring, and no event of one period can be seen in another.
 *
 * A ring's entries lie in chunks that are taken as events come and kept for later periods. */
#include "memory/history/history.h"

#include <string.h>

#include <accel/memory_history.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "memory/cache.h"
#include "memory/heap/segment.h"
#include "memory/history/stack.h"
#include "platform/ticks.h"

/* The word: 1 | context << 1 | unwinder << 3 | (frames - 1) << 4 | keeps events << 10 |
 * skipped actions << 11 | period << 32. */
enum {
    CONTEXT_SHIFT = 1,
    UNWINDER_SHIFT = 3,
    FRAMES_SHIFT = 4,
    EVENTS_SHIFT = 10,
    SKIP_SHIFT = 11,
    PERIOD_SHIFT = 32
};
enum { CONTEXT_NEVER = 0, CONTEXT_STATE = 1, CONTEXT_ALLOC = 2, CONTEXT_ALL = 3 };

enum { CHUNK_ENTRIES = 1024, DEFAULT_FRAMES = 16 };
static const size_t default_entries = (size_t)1 << 20;
static const size_t entries_limit = (size_t)1 << 28;

_Atomic(uint64_t) accel__history_word;

/* Guards the change of the word and of what follows; never together with another lock. */
static accel__mutex settings_mutex;
static uint64_t period;
static _Atomic(uint32_t) word_generation; /* of the process that last turned the history on */
static _Atomic(size_t) max_entries;
/* When the period began; nanoseconds from the monotonic clock to the time since 1970. */
static _Atomic(uint64_t) begin_ticks;
static _Atomic(uint64_t) begin_ns;
static _Atomic(uint64_t) clock_offset;

typedef struct ring {
    accel__mutex mutex; /* guards the rest. A leaf: taken under a heap's mutex, too */
    uint64_t word;      /* that its events were noted under */
    size_t max;
    size_t count; /* entries that are held */
    size_t next;  /* the place of the next one: the oldest's, once the ring is full */
    uint64_t total;
    uint64_t last_time;            /* ticks */
    accel__history_entry **chunks; /* NULL from `chunk_count` on */
    size_t chunk_count;
    size_t chunk_capacity;
} ring;

/* Made at the device's first event, never freed. */
static _Atomic(ring *) rings[ACCEL__BACKEND_MAX + 1][ACCEL__DEVICE_MAX];

_Static_assert((int)ACCEL__HISTORY_OOM == (int)ACCEL_MEMORY_ACTION_OOM &&
                   (int)ACCEL__HISTORY_SNAPSHOT == (int)ACCEL_MEMORY_ACTION_SNAPSHOT &&
                   (int)ACCEL__HISTORY_SEGMENT_UNMAP == (int)ACCEL_MEMORY_ACTION_SEGMENT_UNMAP,
               "actions inside are numbered as outside");

/* ---- the word ---- */

/* The word as far as it is of this process: what a child inherited is taken off. */
static uint64_t current_word(void)
{
    uint64_t word = atomic_load_explicit(&accel__history_word, memory_order_acquire);
    if (word == 0 ||
        accel__generation_is(atomic_load_explicit(&word_generation, memory_order_relaxed)))
        return word;
    atomic_compare_exchange_strong(&accel__history_word, &word, 0);
    return 0;
}

static unsigned context_of(uint64_t word)
{
    return word >> CONTEXT_SHIFT & 3u;
}

static bool keeps(uint64_t word, accel__history_action action)
{
    return (word >> EVENTS_SHIFT & 1u) != 0 && (word >> SKIP_SHIFT >> (unsigned)action & 1u) == 0;
}

static uint32_t catch_stack(uint64_t word, unsigned context)
{
    return context_of(word) >= context
               ? accel__stack_catch((accel__unwinder)(word >> UNWINDER_SHIFT & 1u),
                                    (unsigned)(word >> FRAMES_SHIFT & 63u) + 1)
               : 0;
}

/* ---- the rings ---- */

static _Atomic(ring *) *ring_place(const accel__device *device)
{
    return &rings[device->id.backend][device->id.index];
}

static ring *find_ring(const accel__device *device)
{
    return atomic_load_explicit(ring_place(device), memory_order_acquire);
}

static ring *make_ring(const accel__device *device)
{
    ring *made = accel__allocate(sizeof *made);
    ring *there = NULL;
    if (made != NULL && !atomic_compare_exchange_strong(ring_place(device), &there, made)) {
        accel__deallocate(made);
        made = there;
    }
    return made;
}

static accel__history_entry *entry_at(const ring *of, size_t place)
{
    return &of->chunks[place / CHUNK_ENTRIES][place % CHUNK_ENTRIES];
}

/* Makes room for the entry at `place`. A chunk is where its pointer is, whatever the counts of a
 * ring that a fork found in the middle of a change say. */
static bool have_chunk(ring *of, size_t place)
{
    const size_t index = place / CHUNK_ENTRIES;
    if (index < of->chunk_count)
        return true;
    if (index >= of->chunk_capacity) {
        const size_t capacity = index < 8 ? 16 : index * 2;
        accel__history_entry **chunks = accel__allocate_array(capacity, sizeof *chunks);
        if (chunks == NULL)
            return false;
        accel__history_entry **old = of->chunks;
        if (old != NULL)
            memcpy(chunks, old, of->chunk_count * sizeof *chunks);
        of->chunks = chunks;
        of->chunk_capacity = capacity;
        accel__deallocate(old);
    }
    of->chunks[index] = accel__allocate(CHUNK_ENTRIES * sizeof **of->chunks);
    if (of->chunks[index] == NULL)
        return false;
    of->chunk_count++;
    return true;
}

static void append(ring *of, const accel__history_entry *entry)
{
    of->total++;
    if (!have_chunk(of, of->next))
        return;
    *entry_at(of, of->next) = *entry;
    of->next = of->next + 1 == of->max ? 0 : of->next + 1;
    if (of->count < of->max)
        of->count++;
}

/* A ring for events of `word`; with its mutex. */
static void begin_period(ring *of, uint64_t word)
{
    of->word = word;
    of->max = atomic_load_explicit(&max_entries, memory_order_relaxed);
    of->count = 0;
    of->next = 0;
    of->total = 0;
    of->last_time = 0;
}

/* Puts the entry in, with its actions one after the other. The time of an event that waited for the
 * mutex is moved to that of the one before. */
static void note(uint64_t word, const accel__device *device, accel__history_entry *entry,
                 const accel__history_action *actions, int count)
{
    ring *of = find_ring(device);
    if (of == NULL && (of = make_ring(device)) == NULL)
        return;
    entry->time = accel__ticks();
    accel__mutex_lock(&of->mutex);
    if (atomic_load_explicit(&accel__history_word, memory_order_acquire) == word) {
        if (of->word != word)
            begin_period(of, word);
        if (entry->time < of->last_time)
            entry->time = of->last_time;
        of->last_time = entry->time;
        for (int i = 0; i < count; i++) {
            entry->action = (uint32_t)actions[i];
            if (keeps(word, actions[i]))
                append(of, entry);
        }
    }
    accel__mutex_unlock(&of->mutex);
}

/* ---- notes ---- */

static void note_block(uint64_t word, const accel__block *block, uint32_t stack,
                       const accel__history_action *actions, int count)
{
    const accel__lane *lane = block->lane;
    const accel__heap *heap = lane->heap;
    accel__history_entry entry = {
        .address = accel__range_begin(&block->range),
        .size = accel__range_size(&block->range),
        .stream = lane->id,
        .pool = {heap->options.id[0], heap->options.id[1]},
        .stack = stack,
    };
    if ((word >> EVENTS_SHIFT & 1u) != 0)
        note(word, accel__range_device(&block->range), &entry, actions, count);
}

void accel__history_allocated(accel__block *block)
{
    static const accel__history_action action = ACCEL__HISTORY_ALLOC;
    const uint64_t word = current_word();
    const uint32_t stack = word != 0 ? catch_stack(word, CONTEXT_STATE) : 0;
    atomic_store_explicit(&block->history, stack, memory_order_relaxed);
    if (word != 0)
        note_block(word, block, context_of(word) >= CONTEXT_ALLOC ? stack : 0, &action, 1);
}

void accel__history_freed(accel__block *block, bool is_complete)
{
    static const accel__history_action actions[] = {ACCEL__HISTORY_FREE_REQUESTED,
                                                    ACCEL__HISTORY_FREE_COMPLETED};
    const uint64_t word = current_word();
    if (word != 0)
        note_block(word, block, catch_stack(word, CONTEXT_ALL), actions, is_complete ? 2 : 1);
}

/* Without a stack: it would be that of whoever happened to look after the streams. */
void accel__history_completed(accel__block *block)
{
    static const accel__history_action action = ACCEL__HISTORY_FREE_COMPLETED;
    const uint64_t word = current_word();
    if (word != 0)
        note_block(word, block, 0, &action, 1);
}

uint32_t accel__history_segment(accel__history_action action, const accel__device *device,
                                uintptr_t address, size_t size, uint64_t stream,
                                const uint64_t pool[2])
{
    const uint64_t word = current_word();
    const bool ends = action == ACCEL__HISTORY_SEGMENT_FREE ||
                      action == ACCEL__HISTORY_SEGMENT_UNMAP;
    if (word == 0)
        return 0;
    const uint32_t stack = catch_stack(word, ends ? CONTEXT_ALL : CONTEXT_STATE);
    accel__history_entry entry = {
        .address = address,
        .size = size,
        .stream = stream,
        .pool = {pool[0], pool[1]},
        .stack = context_of(word) >= CONTEXT_ALLOC ? stack : 0,
    };
    if (keeps(word, action))
        note(word, device, &entry, &action, 1);
    return stack;
}

/* ---- reading ---- */

static void copy_out(const ring *of, accel__history_trace *trace)
{
    size_t place = of->count < of->max ? 0 : of->next;
    for (size_t i = 0; i < of->count; i++) {
        trace->entries[i] = *entry_at(of, place);
        place = place + 1 == of->max ? 0 : place + 1;
    }
    trace->count = of->count;
    trace->total = of->total;
    trace->lost = of->total - of->count;
}

static void convert_times(accel__history_trace *trace)
{
    const accel__ticks_pair before = {
        .ticks = atomic_load_explicit(&begin_ticks, memory_order_relaxed),
        .ns = atomic_load_explicit(&begin_ns, memory_order_relaxed),
    };
    const accel__ticks_pair after = accel__ticks_now();
    const uint64_t offset = atomic_load_explicit(&clock_offset, memory_order_relaxed);
    for (size_t i = 0; i < trace->count; i++)
        trace->entries[i].time = offset +
                                 accel__ticks_to_ns(trace->entries[i].time, &before, &after);
}

bool accel__history_read(const accel__device *device, accel__history_trace *out_trace)
{
    ring *of = find_ring(device);
    const uint64_t word = current_word();
    *out_trace = (accel__history_trace){0};
    for (size_t capacity = 0; of != NULL && word != 0;) {
        accel__mutex_lock(&of->mutex);
        const bool is_current = of->word == word;
        const size_t count = is_current ? of->count : 0;
        const bool fits = count <= capacity;
        if (fits && is_current)
            copy_out(of, out_trace);
        accel__mutex_unlock(&of->mutex);
        if (fits)
            break;
        accel__deallocate(out_trace->entries);
        capacity = count + count / 8;
        out_trace->entries = accel__allocate_array(capacity, sizeof *out_trace->entries);
        if (out_trace->entries == NULL)
            return false;
    }
    convert_times(out_trace);
    return true;
}

bool accel__history_has(const accel__device *device)
{
    ring *of = find_ring(device);
    const uint64_t word = current_word();
    if (of == NULL || word == 0)
        return false;
    accel__mutex_lock(&of->mutex);
    const bool has = of->word == word && of->total != 0;
    accel__mutex_unlock(&of->mutex);
    return has;
}

/* ---- turning on and off ---- */

static accel_status check_options(accel_memory_history_options *options)
{
    static const char function[] = "accel_memory_record_history";
    if ((unsigned)options->mode > ACCEL_MEMORY_HISTORY_MODE_ALL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%d is no mode",
                           (int)options->mode);
    if ((unsigned)options->context > ACCEL_MEMORY_HISTORY_CONTEXT_ALL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%d is no context",
                           (int)options->context);
    if ((unsigned)options->unwinder > ACCEL_MEMORY_HISTORY_UNWINDER_TABLES)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%d is no unwinder",
                           (int)options->unwinder);
    if (options->max_frames > ACCEL_MEMORY_HISTORY_FRAMES_MAX)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "%u frames are more than a stack can have here, %d",
                           (unsigned)options->max_frames, ACCEL_MEMORY_HISTORY_FRAMES_MAX);
    if (options->skip_actions >> ACCEL__HISTORY_ACTIONS != 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "skip_actions 0x%x has bits of no action",
                           (unsigned)options->skip_actions);
    if (options->max_entries > entries_limit)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "max_entries %zu is more than %zu", options->max_entries, entries_limit);
    if (options->max_frames == 0)
        options->max_frames = DEFAULT_FRAMES;
    if (options->max_entries == 0)
        options->max_entries = default_entries;
    return ACCEL_OK;
}

/* The word of a new period; with the settings' mutex. */
static uint64_t word_of(const accel_memory_history_options *options)
{
    const unsigned context = options->context == ACCEL_MEMORY_HISTORY_CONTEXT_DEFAULT
                                 ? CONTEXT_ALL
                                 : (unsigned)options->context - ACCEL_MEMORY_HISTORY_CONTEXT_NEVER;
    const bool by_tables = options->unwinder != ACCEL_MEMORY_HISTORY_UNWINDER_FRAME_POINTERS;
    const bool events = options->mode != ACCEL_MEMORY_HISTORY_MODE_STATE;
    period++;
    return 1u | (uint64_t)context << CONTEXT_SHIFT | (uint64_t)by_tables << UNWINDER_SHIFT |
           (uint64_t)(options->max_frames - 1) << FRAMES_SHIFT | (uint64_t)events << EVENTS_SHIFT |
           (uint64_t)options->skip_actions << SKIP_SHIFT | period << PERIOD_SHIFT;
}

static void begin_time(void)
{
    struct timespec now;
    accel__ticks_prepare();
    const accel__ticks_pair begin = accel__ticks_now();
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t since_1970 = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    atomic_store_explicit(&begin_ticks, begin.ticks, memory_order_relaxed);
    atomic_store_explicit(&begin_ns, begin.ns, memory_order_relaxed);
    atomic_store_explicit(&clock_offset, since_1970 - accel__clock_ns(), memory_order_relaxed);
}

accel_status accel_memory_record_history(const accel_memory_history_options *options)
{
    accel_memory_history_options known = {0};
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = check_options(&known);
    if (status != ACCEL_OK)
        return status;
    const bool off = known.mode == ACCEL_MEMORY_HISTORY_MODE_OFF;
    if (!off)
        accel__stack_prepare(known.unwinder == ACCEL_MEMORY_HISTORY_UNWINDER_FRAME_POINTERS
                                 ? ACCEL__UNWINDER_FRAME_POINTERS
                                 : ACCEL__UNWINDER_TABLES);
    accel__mutex_lock(&settings_mutex);
    atomic_store_explicit(&word_generation, accel__generation(), memory_order_relaxed);
    atomic_store_explicit(&max_entries, known.max_entries, memory_order_relaxed);
    begin_time();
    atomic_store_explicit(&accel__history_word, off ? 0 : word_of(&known), memory_order_release);
    accel__mutex_unlock(&settings_mutex);
    accel__cache_review_all();
    return ACCEL_OK;
}

void accel_memory_clear_history(void)
{
    accel__mutex_lock(&settings_mutex);
    const uint64_t word = current_word();
    if (word != 0)
        atomic_store_explicit(&accel__history_word, (word & UINT32_MAX) | ++period << PERIOD_SHIFT,
                              memory_order_release);
    accel__mutex_unlock(&settings_mutex);
}
