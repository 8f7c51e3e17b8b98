/* memory_model.h: a slow allocator that is obviously right, to hold the fast one against. It has no
 * memory: it knows which bytes are whose and until when, and every figure is counted anew from that, from
 * the blocks that exist and from the driver's books.
 *
 * Random operations go to both: allocations and frees on several streams, uses recorded on others, streams
 * that stand still and go on, pools, the want of memory, limits, resets, emptied caches. After each the
 * model says
 *   - whether what was handed out may be: it overlaps nothing that is in use, nor anything freed that a
 *     stream which stands still may yet touch;
 *   - what every counter must be. */
#ifndef TESTS_UNIT_MEMORY_MODEL_H
#define TESTS_UNIT_MEMORY_MODEL_H

#include <accel/memory_pool.h>
#include <accel/memory_stats.h>

#include "unit/heap_support.h"

enum { MODEL_BLOCKS = 160, MODEL_STREAMS = 4, MODEL_POOLS = 2, MODEL_RANGES = 4096 };

/* An allocation of the program. */
typedef struct model_block {
    uintptr_t begin; /* 0: none */
    size_t asked;
    size_t size;      /* of its block */
    unsigned streams; /* bits of those that may use it: home and recorded */
    unsigned home;
    int pool; /* of the statistics */
} model_block;

/* Freed memory that streams may still touch. */
typedef struct model_range {
    uintptr_t begin;
    uintptr_t end;
    unsigned streams; /* that stand still since */
    unsigned home;
    bool was_recorded;
} model_range;

typedef struct model {
    accel_device device;
    accel__device *core;
    accel_stream *streams[MODEL_STREAMS];
    bool is_held[MODEL_STREAMS]; /* stands still, with work */
    accel_memory_pool *pools[MODEL_POOLS];
    model_block blocks[MODEL_BLOCKS];
    model_range ranges[MODEL_RANGES];
    unsigned range_count;
    uint64_t random;
    uint64_t steps;
    /* The figures since the last resets. */
    accel_memory_statistics now;
    uint64_t given;
    uint64_t given_bytes;
    uint64_t taken;
    uint64_t made;
    uint64_t ooms;
    bool peak_is_higher; /* the driver's than what is counted, perhaps */
} model;

static inline uint32_t model_draw(model *of, uint32_t below)
{
    of->random = of->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((of->random >> 33) % below);
}

/* ---- whose bytes are whose ---- */

static inline bool model_overlap(uintptr_t a, uintptr_t a_end, uintptr_t b, uintptr_t b_end)
{
    return a < b_end && b < a_end;
}

/* What was handed out for `stream` may be used by it from now on. */
static inline void model_check_new(const model *of, const model_block *made, unsigned stream)
{
    const uintptr_t end = made->begin + made->size;
    for (int i = 0; i < MODEL_BLOCKS; i++) {
        const model_block *other = &of->blocks[i];
        if (other != made && other->begin != 0)
            assert_false(model_overlap(made->begin, end, other->begin, other->begin + other->size));
    }
    for (unsigned i = 0; i < of->range_count; i++) {
        const model_range *range = &of->ranges[i];
        if (!model_overlap(made->begin, end, range->begin, range->end))
            continue;
        assert_false(range->was_recorded); /* nobody may have it before all have passed */
        assert_int_equal(range->home, stream);
    }
}

/* The streams that stood still go on: nothing is in danger any more. */
static inline void model_go_on(model *of)
{
    of->range_count = 0;
    for (int i = 0; i < MODEL_STREAMS; i++)
        of->is_held[i] = false;
}

/* ---- counting anew ---- */

typedef struct model_count {
    int64_t allocation[3];
    int64_t allocated_bytes[3];
    int64_t active[3];
    int64_t active_bytes[3];
    int64_t requested_bytes[3];
    int64_t split[3];
    int64_t split_bytes[3];
} model_count;

static inline void model_add(int64_t figures[3], const accel__segment *segment, int64_t value)
{
    figures[ACCEL_MEMORY_STAT_POOL_ALL] += value;
    figures[segment->kind == ACCEL__BLOCK_SMALL ? ACCEL_MEMORY_STAT_POOL_SMALL
                                                : ACCEL_MEMORY_STAT_POOL_LARGE] += value;
}

static inline void model_count_block(model_count *count, const accel__segment *outer,
                                     const accel__block *block)
{
    const accel__segment *segment = block->segment;
    const uint32_t state = accel__range_state_of(&block->range);
    const int64_t size = (int64_t)block->size;
    if (state == ACCEL__RANGE_LIVE) {
        model_add(count->allocation, segment, 1);
        model_add(count->allocated_bytes, segment, size);
    }
    if (state == ACCEL__RANGE_LIVE || state == ACCEL__RANGE_PENDING) {
        model_add(count->active, segment, 1);
        model_add(count->active_bytes, segment, size);
        model_add(count->requested_bytes, segment, (int64_t)accel__range_size(&block->range));
    }
    if (block->is_free && !outer->is_growable && block->size != outer->size) {
        model_add(count->split, segment, 1);
        model_add(count->split_bytes, segment, size);
    }
}

static void model_count_segment(const accel__segment *segment, void *user)
{
    const accel__block *piece = accel__piece_first(segment);
    for (; piece != NULL; piece = accel__piece_after(piece))
        if (piece->is_mapped)
            model_count_block(user, segment, piece);
}

static inline void model_recount(const model *of, model_count *count)
{
    memset(count, 0, sizeof *count);
    accel__heap *heap = accel__heap_first(of->core);
    for (; heap != NULL; heap = accel__heap_next(heap)) {
        accel__heap_visit(heap, model_count_segment, count);
        if (of->steps % 64 == 0) /* it takes longer than all the rest */
            heap_check(heap);
    }
}

/* ---- the figures that must be ---- */

static inline void model_set(accel_memory_stat *stat, int64_t current)
{
    stat->current = current;
    if (current > stat->peak)
        stat->peak = current;
}

static inline void model_expect(const model *of, const char *what, const accel_memory_stat *got,
                                const accel_memory_stat *wanted, bool sums)
{
    const bool same = got->current == wanted->current && got->peak == wanted->peak &&
                      (!sums ||
                       (got->allocated == wanted->allocated && got->freed == wanted->freed));
    if (!same)
        print_error(
            "%s at step %llu: current %lld, peak %lld, allocated %lld, freed %lld; the model "
            "has %lld, %lld, %lld, %lld\n",
            what, (unsigned long long)of->steps, (long long)got->current, (long long)got->peak,
            (long long)got->allocated, (long long)got->freed, (long long)wanted->current,
            (long long)wanted->peak, (long long)wanted->allocated, (long long)wanted->freed);
    assert_true(same);
}

/* Parts of what is free come and go in the middle of an operation: their peak may lie between. */
static inline void model_expect_split(const accel_memory_stat *got, accel_memory_stat *wanted,
                                      int64_t current)
{
    assert_int_equal(got->current, current);
    assert_true(got->peak >= current);
    assert_true(got->peak >= wanted->peak);
    wanted->peak = got->peak;
}

#define MODEL_COMPARE(field, sums)                                                                 \
    do {                                                                                           \
        for (int pool = 0; pool < 3; pool++) {                                                     \
            model_set(&of->now.field[pool], count.field[pool]);                                    \
            model_expect(of, #field, &got.field[pool], &of->now.field[pool], sums);                \
        }                                                                                          \
    } while (0)

/* By the driver's books. What was given and taken back again within one allocation that failed is not
 * counted: then the figures lie below those of the books, by the same on both sides. */
static inline void model_compare_driver(model *of, const accel_memory_statistics *got)
{
    const uint64_t given = ledger.given - of->given;
    const uint64_t taken = ledger.taken - of->taken;
    const uint64_t bytes = ledger.given_bytes - of->given_bytes;
    assert_int_equal(got->segment[0].current, ledger.allocations);
    assert_int_equal(got->segment[0].allocated, ledger.made - of->made);
    assert_true(got->segment[0].peak >= got->segment[0].current);
    assert_int_equal(got->reserved_bytes[0].current, ledger.used);
    assert_int_equal(given - (uint64_t)got->num_device_alloc,
                     taken - (uint64_t)got->num_device_free);
    if (given == (uint64_t)got->num_device_alloc) {
        assert_int_equal(got->reserved_bytes[0].allocated, bytes);
    } else {
        assert_true((uint64_t)got->reserved_bytes[0].allocated < bytes);
        of->peak_is_higher = true;
    }
    assert_true((uint64_t)got->reserved_bytes[0].peak <= ledger.peak);
    if (!of->peak_is_higher)
        assert_int_equal(got->reserved_bytes[0].peak, ledger.peak);
    assert_int_equal(got->num_ooms, of->ooms);
}

/* What the program holds, by its own list. */
static inline void model_compare_list(const model *of, const accel_memory_statistics *got)
{
    int64_t count = 0;
    int64_t bytes = 0;
    for (int i = 0; i < MODEL_BLOCKS; i++) {
        count += of->blocks[i].begin != 0;
        bytes += of->blocks[i].begin != 0 ? (int64_t)of->blocks[i].size : 0;
    }
    assert_int_equal(got->allocation[0].current, count);
    assert_int_equal(got->allocated_bytes[0].current, bytes);
}

/* Every figure. */
static inline void model_compare(model *of)
{
    model_count count;
    accel_memory_statistics got = {.struct_size = sizeof got};
    model_recount(of, &count);
    OK(accel_memory_stats(of->device, &got));
    MODEL_COMPARE(allocation, true);
    MODEL_COMPARE(allocated_bytes, true);
    MODEL_COMPARE(active, false);
    MODEL_COMPARE(active_bytes, false);
    MODEL_COMPARE(requested_bytes, false);
    for (int pool = 0; pool < 3; pool++) {
        model_expect_split(&got.inactive_split[pool], &of->now.inactive_split[pool],
                           count.split[pool]);
        model_expect_split(&got.inactive_split_bytes[pool], &of->now.inactive_split_bytes[pool],
                           count.split_bytes[pool]);
    }
    model_compare_driver(of, &got);
    model_compare_list(of, &got);
    assert_int_equal(ledger.mistakes, 0);
}

/* ---- the operations ---- */

static inline size_t model_draw_size(model *of)
{
    const unsigned octave = model_draw(of, 100) < 70 ? model_draw(of, 11) : 11 + model_draw(of, 5);
    const size_t least = (size_t)512 << octave;
    return model_draw(of, 4) == 0 ? least : least - 511 + model_draw(of, 512u << octave);
}

static inline void model_note(model *of, model_block *made)
{
    const accel__range *range = accel__pointers_at((const void *)made->begin);
    assert_non_null(range);
    const accel__block *block = (const accel__block *)range;
    made->pool = block->segment->kind == ACCEL__BLOCK_SMALL ? ACCEL_MEMORY_STAT_POOL_SMALL
                                                            : ACCEL_MEMORY_STAT_POOL_LARGE;
    made->size = block->size;
    assert_true(made->size >= made->asked);
    for (int pool = 0; pool <= made->pool; pool += made->pool) {
        of->now.allocation[pool].allocated++;
        of->now.allocated_bytes[pool].allocated += (int64_t)made->size;
    }
}

static inline void model_alloc(model *of, model_block *made)
{
    static const size_t alignments[] = {0, 0, 0, 0, 4096, (size_t)1 << 21};
    const unsigned stream = model_draw(of, MODEL_STREAMS);
    const unsigned pool = model_draw(of, 8);
    accel_memory_options options = {.struct_size = sizeof options};
    options.alignment = alignments[model_draw(of, 6)];
    options.dedicated = model_draw(of, 40) == 0;
    options.pool = pool < MODEL_POOLS ? of->pools[pool] : NULL;
    const bool plain = options.alignment == 0 && !options.dedicated && options.pool == NULL;
    void *pointer = NULL;
    *made = (model_block){.asked = model_draw_size(of), .streams = 1u << stream, .home = stream};
    const accel_status status = accel_memory_alloc(of->streams[stream], made->asked,
                                                   plain ? NULL : &options, &pointer);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY) {
        assert_null(pointer);
        of->ooms++;
        return;
    }
    OK(status);
    made->begin = (uintptr_t)pointer;
    if (options.alignment != 0)
        assert_int_equal(made->begin % options.alignment, 0);
    model_note(of, made);
    model_check_new(of, made, stream);
}

/* Of the streams that may use it those that stand still keep it from others. */
static inline void model_free(model *of, model_block *freed)
{
    unsigned held = 0;
    for (unsigned i = 0; i < MODEL_STREAMS; i++)
        held |= of->is_held[i] ? freed->streams & 1u << i : 0;
    if (held != 0 && of->range_count < MODEL_RANGES)
        of->ranges[of->range_count++] = (model_range){
            .begin = freed->begin,
            .end = freed->begin + freed->size,
            .streams = held,
            .home = freed->home,
            .was_recorded = (held & ~(1u << freed->home)) != 0};
    OK(accel_memory_free((void *)freed->begin));
    EXPECT(accel_memory_free((void *)freed->begin), ACCEL_ERROR_INVALID_ARGUMENT);
    freed->begin = 0;
    for (int pool = 0; pool <= freed->pool; pool += freed->pool) {
        of->now.allocation[pool].freed++;
        of->now.allocated_bytes[pool].freed += (int64_t)freed->size;
    }
}

static inline void model_record(model *of)
{
    model_block *used = &of->blocks[model_draw(of, MODEL_BLOCKS)];
    const unsigned stream = model_draw(of, MODEL_STREAMS);
    if (used->begin == 0)
        return;
    OK(accel_record_stream((void *)(used->begin + model_draw(of, 512) % used->asked),
                           of->streams[stream]));
    used->streams |= 1u << stream;
}

/* A stream stands still from now on, with work. */
static inline void model_hold(model *of)
{
    const unsigned stream = model_draw(of, MODEL_STREAMS);
    accel_stream *gate = NULL;
    if (of->is_held[stream])
        return;
    mock_hold_new_streams(true);
    OK(accel_stream_create(of->device, NULL, &gate));
    mock_hold_new_streams(false);
    heap_hold(gate);
    OK(accel_stream_wait_stream(of->streams[stream], gate));
    accel_stream_release(gate);
    of->is_held[stream] = true;
}

/* All go on: an allocator that waits for streams would wait for ever before. */
static inline void model_release(model *of)
{
    mock_release_all();
    model_go_on(of);
}

/* The allocator's last resort is to wait for streams: those that stand still must go on then. */
static inline bool model_relent(accel_device device, size_t size, void *user)
{
    (void)device, (void)size;
    model_release(user);
    return false;
}

static inline void model_reset_peak(model *of)
{
    OK(accel_reset_peak_memory_stats(of->device));
    accel_memory_statistics *now = &of->now;
    for (int pool = 0; pool < 3; pool++) {
        now->allocation[pool].peak = now->allocation[pool].current;
        now->allocated_bytes[pool].peak = now->allocated_bytes[pool].current;
        now->active[pool].peak = now->active[pool].current;
        now->active_bytes[pool].peak = now->active_bytes[pool].current;
        now->requested_bytes[pool].peak = now->requested_bytes[pool].current;
        now->inactive_split[pool].peak = now->inactive_split_bytes[pool].peak = 0;
    }
    ledger.peak = atomic_load(&ledger.used);
    of->peak_is_higher = false;
}

static inline void model_reset_accumulated(model *of)
{
    OK(accel_reset_accumulated_memory_stats(of->device));
    for (int pool = 0; pool < 3; pool++) {
        of->now.allocation[pool].allocated = of->now.allocated_bytes[pool].allocated = 0;
        of->now.allocation[pool].freed = of->now.allocated_bytes[pool].freed = 0;
    }
    of->given = ledger.given;
    of->given_bytes = ledger.given_bytes;
    of->taken = ledger.taken;
    of->made = ledger.made;
    of->ooms = 0;
}

static inline void model_renew_pool(model *of)
{
    const unsigned pool = model_draw(of, MODEL_POOLS);
    accel_memory_pool_options options = {.struct_size = sizeof options};
    options.use_on_oom = model_draw(of, 2) != 0;
    options.no_split = model_draw(of, 4) == 0;
    OK(accel_memory_pool_release(of->pools[pool]));
    OK(accel_memory_pool_create(of->device, &options, &of->pools[pool]));
}

static inline void model_renew_stream(model *of)
{
    const unsigned stream = model_draw(of, MODEL_STREAMS);
    if (of->is_held[stream])
        return;
    accel_stream_release(of->streams[stream]);
    OK(accel_stream_create(of->device, NULL, &of->streams[stream]));
    for (int i = 0; i < MODEL_BLOCKS; i++) { /* what it had is the new one's no more */
        of->blocks[i].streams &= ~(1u << stream);
        if (of->blocks[i].home == stream)
            of->blocks[i].home = MODEL_STREAMS;
    }
    for (unsigned i = 0; i < of->range_count; i++)
        if (of->ranges[i].home == stream)
            of->ranges[i].home = MODEL_STREAMS;
}

/* An operation that waits needs streams that go. */
static inline void model_empty(model *of)
{
    model_release(of);
    accel_empty_cache();
}

static inline void model_step(model *of)
{
    const unsigned what = model_draw(of, 1000);
    of->steps++;
    if (what < 880) {
        model_block *block = &of->blocks[model_draw(of, MODEL_BLOCKS)];
        block->begin != 0 ? model_free(of, block) : model_alloc(of, block);
    } else if (what < 940) {
        model_record(of);
    } else if (what < 955) {
        model_hold(of);
    } else if (what < 975) {
        model_release(of);
    } else if (what < 980) {
        model_reset_peak(of);
    } else if (what < 985) {
        model_reset_accumulated(of);
    } else if (what < 988) {
        model_empty(of);
    } else if (what < 991) {
        model_renew_pool(of);
    } else if (what < 994) {
        model_renew_stream(of);
    } else if (what < 996) {
        OK(accel_allocator_set_memory_limit(
            of->device, model_draw(of, 2) == 0 ? 0 : (100 + model_draw(of, 200)) * MIB));
    } else {
        model_release(of);
        OK(accel_synchronize(of->device));
    }
}

/* ---- from the beginning to the end ---- */

static inline void model_begin(model *of, accel_backend number, int32_t index, uint64_t seed)
{
    memset(of, 0, sizeof *of);
    of->device = ACCEL_DEVICE(number, index);
    of->random = seed;
    for (int i = 0; i < MODEL_STREAMS; i++)
        OK(accel_stream_create(of->device, NULL, &of->streams[i]));
    of->core = of->streams[0]->device;
    for (int i = 0; i < MODEL_POOLS; i++)
        OK(accel_memory_pool_create(of->device, NULL, &of->pools[i]));
    OK(accel_allocator_add_memory_pressure_hook(model_relent, of));
    ledger.capacity = 300 * MIB;
    ledger.peak = 0;
    of->given = ledger.given;
    of->given_bytes = ledger.given_bytes;
    of->taken = ledger.taken;
    of->made = ledger.made;
}

static inline void model_end(model *of)
{
    model_release(of);
    for (int i = 0; i < MODEL_BLOCKS; i++)
        if (of->blocks[i].begin != 0)
            model_free(of, &of->blocks[i]);
    for (int i = 0; i < MODEL_POOLS; i++)
        OK(accel_memory_pool_release(of->pools[i]));
    for (int i = 0; i < MODEL_STREAMS; i++)
        accel_stream_release(of->streams[i]);
    OK(accel_allocator_set_memory_limit(of->device, 0));
    OK(accel_allocator_remove_memory_pressure_hook(model_relent, of));
    accel_empty_cache();
    model_compare(of);
    assert_int_equal(ledger.used, 0);
    assert_int_equal(ledger.allocations, 0);
    assert_int_equal(ledger.reserved, 0);
}

/* `steps` operations, each looked at. */
static inline void model_run(accel_backend number, int32_t index, uint64_t seed, uint64_t steps)
{
    static model of;
    model_begin(&of, number, index, seed);
    for (uint64_t i = 0; i < steps; i++) {
        model_step(&of);
        model_compare(&of);
    }
    model_end(&of);
}

#endif
