/* memory_summary.c: see memory_summary.h.
 *
 * Invariant: all work is a pass over the snapshot or a sort, so that no snapshot takes for ever. */
#include "cli/memory_summary.h"

#include <stdlib.h>
#include <string.h>

#include "cli/size_text.h"

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_signed(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* ---- figures ---- */

static void add_block(accel__memory_figures *figures, const accel__snapshot_block *block)
{
    figures->block_count++;
    if (block->state == ACCEL__BLOCK_INACTIVE) {
        if (block->size > figures->largest_hole)
            figures->largest_hole = block->size;
        return;
    }
    figures->active = accel__size_add(figures->active, block->size);
    figures->requested = accel__size_add(figures->requested, block->requested);
    if (block->state == ACCEL__BLOCK_ALLOCATED)
        figures->allocated = accel__size_add(figures->allocated, block->size);
}

static void add_figures(accel__memory_figures *to, const accel__memory_figures *from)
{
    to->segment_count += from->segment_count;
    to->block_count += from->block_count;
    to->reserved = accel__size_add(to->reserved, from->reserved);
    to->allocated = accel__size_add(to->allocated, from->allocated);
    to->active = accel__size_add(to->active, from->active);
    to->requested = accel__size_add(to->requested, from->requested);
    to->releasable = accel__size_add(to->releasable, from->releasable);
    to->split = accel__size_add(to->split, from->split);
    if (from->largest_hole > to->largest_hole)
        to->largest_hole = from->largest_hole;
}

static accel__memory_figures figures_of(const accel__snapshot *snapshot,
                                        const accel__snapshot_segment *segment)
{
    accel__memory_figures figures = {.segment_count = 1, .reserved = segment->size};
    for (size_t i = 0; i < segment->block_count; i++)
        add_block(&figures, &snapshot->blocks[segment->first_block + i]);
    if (figures.active == 0)
        figures.releasable = segment->size;
    else if (figures.active < segment->size)
        figures.split = segment->size - figures.active;
    return figures;
}

double accel__memory_fragmentation(const accel__memory_figures *figures)
{
    return figures->reserved > 0 ? (double)figures->split / (double)figures->reserved : 0;
}

double accel__memory_ratio(const accel__memory_figures *figures)
{
    return figures->requested > 0 ? (double)figures->reserved / (double)figures->requested : 0;
}

/* ---- groups ---- */

static int compare_groups(const void *left, const void *right)
{
    const accel__memory_group *a = left;
    const accel__memory_group *b = right;
    int order = compare_signed(a->device, b->device);
    if (order == 0)
        order = compare_signed(a->pool[0], b->pool[0]);
    if (order == 0)
        order = compare_signed(a->pool[1], b->pool[1]);
    if (order == 0)
        order = compare((uint64_t)a->kind, (uint64_t)b->kind);
    return order != 0 ? order : a->is_expandable - b->is_expandable;
}

/* One group a segment, sorted, then equal ones together. */
static bool make_groups(const accel__snapshot *snapshot, accel__memory_summary *summary)
{
    accel__memory_group *groups = calloc(snapshot->segment_count + 1, sizeof *groups);
    if (groups == NULL)
        return false;
    for (size_t i = 0; i < snapshot->segment_count; i++) {
        const accel__snapshot_segment *segment = &snapshot->segments[i];
        groups[i] = (accel__memory_group){.device = segment->device,
                                          .pool = {segment->pool[0], segment->pool[1]},
                                          .kind = segment->kind,
                                          .is_expandable = segment->is_expandable,
                                          .figures = figures_of(snapshot, segment)};
        add_figures(&summary->total, &groups[i].figures);
    }
    qsort(groups, snapshot->segment_count, sizeof *groups, compare_groups);
    size_t count = 0;
    for (size_t i = 0; i < snapshot->segment_count; i++) {
        if (count > 0 && compare_groups(&groups[count - 1], &groups[i]) == 0)
            add_figures(&groups[count - 1].figures, &groups[i].figures);
        else
            groups[count++] = groups[i];
    }
    summary->groups = groups;
    summary->group_count = count;
    return true;
}

/* ---- holes ---- */

static int compare_holes(const void *left, const void *right)
{
    const accel__memory_hole *a = left;
    const accel__memory_hole *b = right;
    const int order = compare(b->block->size, a->block->size);
    return order != 0 ? order : compare(a->block->address, b->block->address);
}

static void collect_holes(const accel__snapshot *snapshot, const accel__snapshot_segment *segment,
                          accel__memory_summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < segment->block_count; i++) {
        const accel__snapshot_block *block = &snapshot->blocks[segment->first_block + i];
        sum = accel__size_add(sum, block->size);
        if (block->state == ACCEL__BLOCK_INACTIVE)
            summary->holes[summary->hole_count++] = (accel__memory_hole){block, segment};
    }
    summary->wrong_segment_count += sum != segment->size;
}

static bool make_holes(const accel__snapshot *snapshot, accel__memory_summary *summary)
{
    summary->holes = calloc(snapshot->block_count + 1, sizeof *summary->holes);
    if (summary->holes == NULL)
        return false;
    for (size_t i = 0; i < snapshot->segment_count; i++)
        collect_holes(snapshot, &snapshot->segments[i], summary);
    qsort(summary->holes, summary->hole_count, sizeof *summary->holes, compare_holes);
    return true;
}

/* ---- stacks ---- */

static int compare_sites(const void *left, const void *right)
{
    const accel__memory_site *a = left;
    const accel__memory_site *b = right;
    int order = compare(b->size, a->size);
    if (order == 0)
        order = compare(b->count, a->count);
    return order != 0 ? order : compare(a->stack, b->stack);
}

static accel__memory_site *new_sites(const accel__snapshot *snapshot)
{
    const size_t count = (size_t)snapshot->stacks.stack_count + 1;
    accel__memory_site *sites = calloc(count, sizeof *sites);
    for (size_t i = 0; sites != NULL && i < count; i++)
        sites[i].stack = (uint32_t)i;
    return sites;
}

static void add_site(accel__memory_site *site, uint64_t size)
{
    site->size = accel__size_add(site->size, size);
    site->count++;
}

/* Sorts, and drops those that nothing was added to. */
static size_t finish_sites(const accel__snapshot *snapshot, accel__memory_site *sites)
{
    const size_t count = (size_t)snapshot->stacks.stack_count + 1;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (sites[i].count > 0)
            sites[used++] = sites[i];
    qsort(sites, used, sizeof *sites, compare_sites);
    return used;
}

static bool make_sites(const accel__snapshot *snapshot, accel__memory_summary *summary)
{
    summary->live = new_sites(snapshot);
    summary->traffic = new_sites(snapshot);
    if (summary->live == NULL || summary->traffic == NULL)
        return false;
    for (size_t i = 0; i < snapshot->block_count; i++) {
        const accel__snapshot_block *block = &snapshot->blocks[i];
        if (block->state == ACCEL__BLOCK_ALLOCATED)
            add_site(&summary->live[block->stack], block->requested);
    }
    for (size_t i = 0; i < snapshot->event_count; i++) {
        const accel__snapshot_event *event = &snapshot->events[i];
        if (event->action == ACCEL__EVENT_ALLOC)
            add_site(&summary->traffic[event->stack], event->size);
    }
    summary->live_count = finish_sites(snapshot, summary->live);
    summary->traffic_count = finish_sites(snapshot, summary->traffic);
    return true;
}

bool accel__memory_summarise(const accel__snapshot *snapshot, accel__memory_summary *out_summary)
{
    memset(out_summary, 0, sizeof *out_summary);
    return make_groups(snapshot, out_summary) && make_holes(snapshot, out_summary) &&
           make_sites(snapshot, out_summary);
}

void accel__memory_summary_release(accel__memory_summary *summary)
{
    free(summary->groups);
    free(summary->holes);
    free(summary->live);
    free(summary->traffic);
    memset(summary, 0, sizeof *summary);
}
