/* memory_report_json.c: `accel memory report --json`. Sizes are bytes. */
#include "cli/json.h"
#include "cli/memory_report.h"

/* Three digits behind the point are all that a ratio tells. */
static json_t *ratio(double value)
{
    return json_real((double)(int64_t)(value * 1000 + 0.5) / 1000);
}

static void set_figures(json_t *object, const accel__memory_figures *figures)
{
    const struct {
        const char *key;
        uint64_t value;
    } rows[] = {
        {"segments", figures->segment_count},
        {"blocks", figures->block_count},
        {"reserved", figures->reserved},
        {"allocated", figures->allocated},
        {"active", figures->active},
        {"requested", figures->requested},
        {"releasable", figures->releasable},
        {"in_holes", figures->split},
        {"largest_hole", figures->largest_hole},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        accel__json_set(object, rows[i].key, accel__json_size(rows[i].value));
    accel__json_set(object, "fragmentation", ratio(accel__memory_fragmentation(figures)));
    accel__json_set(object, "ratio",
                    figures->requested > 0 ? ratio(accel__memory_ratio(figures)) : NULL);
}

static json_t *total_object(const accel__memory_summary *summary)
{
    json_t *object = json_object();
    if (object != NULL)
        set_figures(object, &summary->total);
    return object;
}

static json_t *pool_list(const accel__memory_summary *summary)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < summary->group_count; i++) {
        const accel__memory_group *group = &summary->groups[i];
        json_t *object = json_pack("{s:I, s:[I, I], s:s, s:b}", "device", (json_int_t)group->device,
                                   "pool", (json_int_t)group->pool[0], (json_int_t)group->pool[1],
                                   "kind", accel__segment_kind_name(group->kind), "is_expandable",
                                   (int)group->is_expandable);
        if (object != NULL)
            set_figures(object, &group->figures);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *hole_list(const accel__memory_summary *summary, size_t top)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < summary->hole_count && i < top; i++) {
        const accel__memory_hole *hole = &summary->holes[i];
        json_t *object = json_object();
        accel__json_set(object, "size", accel__json_size(hole->block->size));
        accel__json_set(object, "address", accel__json_size(hole->block->address));
        accel__json_set(object, "device", json_integer(hole->segment->device));
        accel__json_set(object, "stream", json_integer(hole->segment->stream));
        accel__json_set(object, "segment_address", accel__json_size(hole->segment->address));
        accel__json_set(object, "segment_size", accel__json_size(hole->segment->size));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *frame_list(const accel__stacks *stacks, uint32_t stack)
{
    const size_t count = stack > 0 ? stacks->stacks[stack].count : 0;
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < count; i++) {
        const accel__frame *frame = accel__stacks_at(stacks, stack, i);
        json_t *object = json_object();
        accel__json_set(object, "filename", accel__json_text(frame->file));
        accel__json_set(object, "line", json_integer(frame->line));
        accel__json_set(object, "name", accel__json_text(frame->name));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *site_list(const accel__memory_report_content *report, const char *count_key,
                         const accel__memory_site *sites, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < count && i < report->top; i++) {
        json_t *object = json_object();
        accel__json_set(object, "bytes", accel__json_size(sites[i].size));
        accel__json_set(object, count_key, accel__json_size(sites[i].count));
        accel__json_set(object, "frames", frame_list(&report->snapshot->stacks, sites[i].stack));
        json_array_append_new(list, object);
    }
    return list;
}

static void set_actions(json_t *object, const accel__memory_report_content *report, size_t device)
{
    const accel__snapshot_trace *trace = &report->snapshot->traces[device];
    uint64_t counts[ACCEL__EVENT_ACTIONS] = {0};
    json_t *actions = json_object();
    for (size_t i = 0; i < trace->count; i++)
        counts[report->snapshot->events[trace->first + i].action]++;
    for (int i = 0; i < ACCEL__EVENT_ACTIONS; i++)
        if (counts[i] > 0)
            accel__json_set(actions, accel__event_action_name((accel__event_action)i),
                            accel__json_size(counts[i]));
    accel__json_set(object, "actions", actions);
}

static json_t *history_list(const accel__memory_report_content *report)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < report->snapshot->trace_count; i++) {
        const accel__trace *trace = &report->traces[i];
        if (trace->event_count == 0)
            continue;
        json_t *object = json_object();
        accel__json_set(object, "device", accel__json_size(i));
        accel__json_set(object, "device_name",
                        i < report->snapshot->device_name_count
                            ? accel__json_text(report->snapshot->device_names[i])
                            : NULL);
        accel__json_set(object, "events_lost", accel__json_size(report->snapshot->traces[i].lost));
        accel__json_set(object, "events", accel__json_size(trace->event_count));
        set_actions(object, report, i);
        accel__json_set(object, "streams", accel__json_size(trace->stream_count));
        accel__json_set(object, "live_at_start", accel__json_size(trace->live_at_start));
        accel__json_set(object, "peak_live", accel__json_size(trace->peak_live));
        accel__json_set(object, "peak_reserved", accel__json_size(trace->recorded_reserved));
        const bool is_known = trace->peak_live > 0 && trace->recorded_reserved > 0;
        accel__json_set(
            object, "ratio",
            is_known ? ratio((double)trace->recorded_reserved / (double)trace->peak_live) : NULL);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *settings_object(const accel__snapshot *snapshot)
{
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < snapshot->setting_count; i++)
        accel__json_set(object, snapshot->settings[i].key,
                        accel__json_text(snapshot->settings[i].value));
    return object;
}

accel__exit accel__memory_report_print_json(const accel__memory_report_content *report)
{
    const accel__memory_summary *summary = report->summary;
    json_t *document = json_object();
    if (document == NULL)
        return accel__cli_fail_memory();
    accel__json_set(document, "file", accel__json_text(report->path));
    accel__json_set(document, "total", total_object(summary));
    accel__json_set(document, "pools", pool_list(summary));
    accel__json_set(document, "holes", hole_list(summary, report->top));
    accel__json_set(document, "live",
                    site_list(report, "blocks", summary->live, summary->live_count));
    accel__json_set(document, "traffic",
                    site_list(report, "allocations", summary->traffic, summary->traffic_count));
    accel__json_set(document, "history", history_list(report));
    accel__json_set(document, "settings", settings_object(report->snapshot));
    return accel__json_print(document);
}
