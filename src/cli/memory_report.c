/* memory_report.c: `accel memory report`: what a snapshot holds, as tables or as JSON. */
#include "cli/memory_report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/number.h"

enum { TOP_ROWS = 10, TOP_MAX = 1000000 };

static const char help[] =
    "Usage: accel memory report SNAPSHOT [--top COUNT] [--json]\n"
    "Say what an allocator held when the snapshot was made: segments and pools, what is free and\n"
    "cannot be used, the largest holes, and the stacks that hold and ask for most.\n\n"
    "Options:\n"
    "  --top COUNT  rows of holes and of stacks (10)\n"
    "  --json       print one JSON document, with whole stacks;\n"
    "               after a failure it is {\"error\": MESSAGE}\n"
    "  --help       print this text\n\n"
    "SNAPSHOT is a file that accel or PyTorch wrote, a pickle or JSON. A pickle is read as data:\n"
    "one that would run code is refused.\n";

const char *accel__segment_kind_name(accel__segment_kind kind)
{
    static const char *const names[] = {[ACCEL__SEGMENT_SMALL] = "small",
                                        [ACCEL__SEGMENT_LARGE] = "large",
                                        [ACCEL__SEGMENT_OTHER] = "other"};
    return names[kind];
}

static accel__exit report_traces(accel__memory_report_content *report, bool json)
{
    const accel__snapshot *snapshot = report->snapshot;
    accel__trace *traces = calloc(snapshot->trace_count + 1, sizeof *traces);
    bool good = traces != NULL;
    for (size_t i = 0; good && i < snapshot->trace_count; i++)
        if (snapshot->traces[i].count > 0)
            good = accel__trace_prepare(snapshot, i, &traces[i]);
    report->traces = traces;
    accel__exit result = !good  ? accel__cli_fail_memory()
                         : json ? accel__memory_report_print_json(report)
                                : accel__memory_report_print_tables(report);
    for (size_t i = 0; traces != NULL && i < snapshot->trace_count; i++)
        accel__trace_release(&traces[i]);
    free(traces);
    return result;
}

static accel__exit report_snapshot(const char *path, size_t top, bool json)
{
    accel__snapshot snapshot;
    accel__memory_summary summary = {0};
    accel__memory_report_content report = {path, &snapshot, &summary, NULL, top};
    accel__exit result = accel__snapshot_load(path, &snapshot);
    if (result == ACCEL__EXIT_OK && !accel__memory_summarise(&snapshot, &summary))
        result = accel__cli_fail_memory();
    if (result == ACCEL__EXIT_OK && summary.wrong_segment_count > 0)
        accel__cli_note("warning: %s: the blocks of %zu segments do not add up to their sizes",
                        path, summary.wrong_segment_count);
    if (result == ACCEL__EXIT_OK)
        result = report_traces(&report, json);
    accel__memory_summary_release(&summary);
    accel__snapshot_release(&snapshot);
    return result;
}

typedef struct report_request {
    bool json;
    const char *top_text;
    size_t top;
} report_request;

static accel__exit take_option(void *place, int option)
{
    report_request *request = place;
    uint64_t value = 0;
    if (option == ACCEL__OPTION_JSON)
        return accel__take_json(&request->json, option);
    const accel__exit result = accel__take_once(&request->top_text, "--top");
    if (result != ACCEL__EXIT_OK)
        return result;
    if (!accel__parse_count(optarg, 0, TOP_MAX, &value))
        return accel__cli_misuse(
            "--top \"%.40s\" is no number from 0 to %d; see accel memory report --help", optarg,
            TOP_MAX);
    request->top = (size_t)value;
    return ACCEL__EXIT_OK;
}

accel__exit accel__memory_report(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, ACCEL__OPTION_JSON},
                                            {"top", required_argument, NULL, ACCEL__OPTION_TOP},
                                            {"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":h", options, help, take_option};
    report_request request = {.top = TOP_ROWS};
    accel__exit result;
    if (!accel__take_options(argc, argv, &taken, &request, &result))
        return result;
    if (optind + 1 != argc)
        return accel__cli_misuse("one snapshot is wanted, not %d; see accel memory report --help",
                                 argc - optind);
    return report_snapshot(argv[optind], request.top, request.json);
}
