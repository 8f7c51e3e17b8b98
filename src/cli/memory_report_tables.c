/* memory_report_tables.c: `accel memory report` for people. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/memory_report.h"
#include "cli/memory_table.h"
#include "cli/size_text.h"

typedef char size_text[ACCEL__SIZE_TEXT_MAX];

static void print_head(const accel__memory_report_content *report)
{
    const accel__memory_figures *total = &report->summary->total;
    size_text reserved, active, allocated, requested, releasable, split, largest;
    printf("%s: %zu segments, %zu blocks\n", report->path, total->segment_count,
           total->block_count);
    printf("  reserved      %12s\n", accel__size_text(total->reserved, reserved));
    printf("  active        %12s  of it allocated %s, the rest waits for a stream\n",
           accel__size_text(total->active, active), accel__size_text(total->allocated, allocated));
    printf("  requested     %12s  what the program asked for, of the active\n",
           accel__size_text(total->requested, requested));
    printf("  releasable    %12s  whole segments with nothing active\n",
           accel__size_text(total->releasable, releasable));
    printf("  in holes      %12s  free beside active blocks; the largest hole of all is %s\n",
           accel__size_text(total->split, split), accel__size_text(total->largest_hole, largest));
    printf("  fragmentation %11.1f%%  holes of the reserved\n",
           accel__memory_fragmentation(total) * 100);
    printf("  ratio         %12.3f  reserved by requested\n", accel__memory_ratio(total));
}

static accel__exit print_pools(const accel__memory_report_content *report)
{
    static const accel__memory_column columns[] = {
        {"DEVICE", ACCEL__COLUMN_RIGHT},    {"POOL", ACCEL__COLUMN_LEFT},
        {"KIND", ACCEL__COLUMN_LEFT},       {"SEGMENTS", ACCEL__COLUMN_RIGHT},
        {"RESERVED", ACCEL__COLUMN_RIGHT},  {"ACTIVE", ACCEL__COLUMN_RIGHT},
        {"REQUESTED", ACCEL__COLUMN_RIGHT}, {"RELEASABLE", ACCEL__COLUMN_RIGHT},
        {"HOLES", ACCEL__COLUMN_RIGHT},     {"LARGEST", ACCEL__COLUMN_RIGHT}};
    const accel__memory_summary *summary = report->summary;
    accel__memory_table *table = accel__memory_table_new(columns,
                                                         sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < summary->group_count; i++) {
        const accel__memory_group *group = &summary->groups[i];
        const accel__memory_figures *figures = &group->figures;
        char name[ACCEL__SNAPSHOT_NAME_MAX], pool[48], kind[32], segments[24];
        size_text reserved, active, requested, releasable, split, largest;
        snprintf(pool, sizeof pool, "%" PRId64 ",%" PRId64, group->pool[0], group->pool[1]);
        snprintf(kind, sizeof kind, "%s%s", accel__segment_kind_name(group->kind),
                 group->is_expandable ? ", growable" : "");
        snprintf(segments, sizeof segments, "%zu", figures->segment_count);
        const char *const cells[] = {accel__snapshot_device(report->snapshot, group->device, name),
                                     pool,
                                     kind,
                                     segments,
                                     accel__size_text(figures->reserved, reserved),
                                     accel__size_text(figures->active, active),
                                     accel__size_text(figures->requested, requested),
                                     accel__size_text(figures->releasable, releasable),
                                     accel__size_text(figures->split, split),
                                     accel__size_text(figures->largest_hole, largest)};
        accel__memory_table_add(table, cells);
    }
    return accel__memory_table_print(table, "Pools", "no segments");
}

static accel__exit print_holes(const accel__memory_report_content *report)
{
    static const accel__memory_column columns[] = {
        {"SIZE", ACCEL__COLUMN_RIGHT},    {"ADDRESS", ACCEL__COLUMN_RIGHT},
        {"DEVICE", ACCEL__COLUMN_RIGHT},  {"STREAM", ACCEL__COLUMN_RIGHT},
        {"SEGMENT", ACCEL__COLUMN_RIGHT}, {"OF", ACCEL__COLUMN_RIGHT}};
    const accel__memory_summary *summary = report->summary;
    accel__memory_table *table = accel__memory_table_new(columns,
                                                         sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < summary->hole_count && i < report->top; i++) {
        const accel__memory_hole *hole = &summary->holes[i];
        char address[24], name[ACCEL__SNAPSHOT_NAME_MAX], stream[24], segment[24];
        size_text size, of;
        snprintf(address, sizeof address, "0x%" PRIx64, hole->block->address);
        const char *device = accel__snapshot_device(report->snapshot, hole->segment->device, name);
        snprintf(stream, sizeof stream, "%" PRId64, hole->segment->stream);
        snprintf(segment, sizeof segment, "0x%" PRIx64, hole->segment->address);
        const char *const cells[] = {
            accel__size_text(hole->block->size, size), address, device, stream, segment,
            accel__size_text(hole->segment->size, of)};
        accel__memory_table_add(table, cells);
    }
    return accel__memory_table_print(table, "Largest holes", "none");
}

static accel__exit print_sites(const accel__memory_report_content *report, const char *title,
                               const char *count_title, const accel__memory_site *sites,
                               size_t count)
{
    const accel__memory_column columns[] = {{"BYTES", ACCEL__COLUMN_RIGHT},
                                            {count_title, ACCEL__COLUMN_RIGHT},
                                            {"STACK, INNERMOST FIRST", ACCEL__COLUMN_WRAP}};
    accel__memory_table *table = accel__memory_table_new(columns,
                                                         sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < count && i < report->top; i++) {
        char stack[ACCEL__STACK_TEXT_MAX];
        char number[24];
        size_text size;
        snprintf(number, sizeof number, "%" PRIu64, sites[i].count);
        accel__memory_stack_text(&report->snapshot->stacks, sites[i].stack, stack);
        const char *const cells[] = {accel__size_text(sites[i].size, size), number, stack};
        accel__memory_table_add(table, cells);
    }
    return accel__memory_table_print(table, title, "none");
}

static accel__exit print_history(const accel__memory_report_content *report)
{
    static const accel__memory_column columns[] = {
        {"DEVICE", ACCEL__COLUMN_RIGHT},        {"EVENTS", ACCEL__COLUMN_RIGHT},
        {"LOST", ACCEL__COLUMN_RIGHT},          {"STREAMS", ACCEL__COLUMN_RIGHT},
        {"LIVE BEFORE", ACCEL__COLUMN_RIGHT},   {"PEAK LIVE", ACCEL__COLUMN_RIGHT},
        {"PEAK RESERVED", ACCEL__COLUMN_RIGHT}, {"RATIO", ACCEL__COLUMN_RIGHT}};
    accel__memory_table *table = accel__memory_table_new(columns,
                                                         sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < report->snapshot->trace_count; i++) {
        const accel__trace *trace = &report->traces[i];
        char name[ACCEL__SNAPSHOT_NAME_MAX], events[24], streams[24], lost[24], ratio[32] = "";
        size_text before, live, reserved;
        if (trace->event_count == 0)
            continue;
        snprintf(events, sizeof events, "%zu", trace->event_count);
        snprintf(streams, sizeof streams, "%zu%s", trace->stream_count,
                 trace->has_more_streams ? "+" : "");
        if (trace->peak_live > 0 && trace->recorded_reserved > 0)
            snprintf(ratio, sizeof ratio, "%.3f",
                     (double)trace->recorded_reserved / (double)trace->peak_live);
        snprintf(lost, sizeof lost, "%" PRIu64, report->snapshot->traces[i].lost);
        const char *const cells[] = {accel__snapshot_device(report->snapshot, (int64_t)i, name),
                                     events,
                                     lost,
                                     streams,
                                     accel__size_text(trace->live_at_start, before),
                                     accel__size_text(trace->peak_live, live),
                                     accel__size_text(trace->recorded_reserved, reserved),
                                     ratio};
        accel__memory_table_add(table, cells);
    }
    return accel__memory_table_print(table, "History", "not recorded");
}

static accel__exit print_settings(const accel__memory_report_content *report)
{
    static const accel__memory_column columns[] = {{"SETTING", ACCEL__COLUMN_LEFT},
                                                   {"VALUE", ACCEL__COLUMN_WRAP}};
    accel__memory_table *table = accel__memory_table_new(columns,
                                                         sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < report->snapshot->setting_count; i++) {
        const accel__snapshot_setting *setting = &report->snapshot->settings[i];
        const char *const cells[] = {setting->key, setting->value};
        accel__memory_table_add(table, cells);
    }
    return accel__memory_table_print(table, "Settings", "not recorded");
}

accel__exit accel__memory_report_print_tables(const accel__memory_report_content *report)
{
    const accel__memory_summary *summary = report->summary;
    print_head(report);
    accel__exit result = print_pools(report);
    if (result == ACCEL__EXIT_OK)
        result = print_holes(report);
    if (result == ACCEL__EXIT_OK)
        result = print_sites(report, "Stacks by live bytes", "BLOCKS", summary->live,
                             summary->live_count);
    if (result == ACCEL__EXIT_OK)
        result = print_sites(report, "Stacks by traffic in the history", "ALLOCATIONS",
                             summary->traffic, summary->traffic_count);
    if (result == ACCEL__EXIT_OK)
        result = print_history(report);
    if (result == ACCEL__EXIT_OK)
        result = print_settings(report);
    return result == ACCEL__EXIT_OK ? accel__cli_finish_output() : result;
}
