/* memory_replay.c: `accel memory replay`: what a recorded program would have reserved with accel's
 * allocator and these settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/allocator_config.h>

#include "cli/device_choice.h"
#include "cli/json.h"
#include "cli/memory.h"
#include "cli/memory_player.h"
#include "cli/number.h"
#include "cli/size_text.h"

static const char help[] =
    "Usage: accel memory replay SNAPSHOT [OPTION]...\n"
    "Do the allocations of a snapshot's history once more, through accel's allocator, and say how\n"
    "much it reserves for them. Memory is reserved, not touched: on the cpu, a history of tens of\n"
    "GiB needs next to none.\n\n"
    "Options:\n"
    "  --conf TEXT   settings, as in ACCEL_ALLOC_CONF: \"max_split_size_mb:64,...\"\n"
    "  --growable    segments that grow (expandable_segments:True)\n"
    "  --fixed       segments of fixed size (expandable_segments:False)\n"
    "  -d DEVICE     device to use (the current one); see accel list\n"
    "  --from DEVICE device in the snapshot whose history it is, where several have one\n"
    "  --json        print one JSON document;\n"
    "                after a failure it is {\"error\": MESSAGE}\n"
    "  --help        print this text\n\n"
    "What was live before the history is placed first. driver_calls counts what the driver was\n"
    "asked for after that: segments made and given back, parts of them mapped and unmapped.\n";

typedef struct replay {
    const char *path;
    const char *conf;
    const char *device_text;
    const char *from_text;
    bool growable;
    bool fixed;
    bool json;
} replay;

/* ---- results ---- */

static double ratio(uint64_t reserved, uint64_t live)
{
    return live > 0 ? (double)reserved / (double)live : 0;
}

static json_t *rounded(double value, double unit)
{
    return json_real((double)(int64_t)(value * unit + 0.5) / unit);
}

static accel__exit print_json(const replay *r, const char *device, const char *conf,
                              const accel__trace *trace, const accel__player_figures *figures)
{
    json_t *document = json_object();
    if (document == NULL)
        return accel__cli_fail_memory();
    const uint64_t recorded = trace->recorded_reserved;
    accel__json_set(document, "file", accel__json_text(r->path));
    accel__json_set(document, "device", accel__json_text(device));
    accel__json_set(document, "conf", accel__json_text(conf));
    accel__json_set(document, "events", accel__json_size(trace->event_count));
    accel__json_set(document, "streams", accel__json_size(trace->stream_count));
    accel__json_set(document, "blocks", accel__json_size(trace->block_count));
    accel__json_set(document, "repaired", accel__json_size(trace->repaired_count));
    accel__json_set(document, "live_at_start", accel__json_size(trace->live_at_start));
    accel__json_set(document, "peak_live", accel__json_size(trace->peak_live));
    accel__json_set(document, "peak_reserved", accel__json_size(figures->peak_reserved));
    accel__json_set(document, "ratio",
                    trace->peak_live > 0
                        ? rounded(ratio(figures->peak_reserved, trace->peak_live), 10000)
                        : NULL);
    accel__json_set(document, "driver_calls", accel__json_size(figures->driver_calls));
    accel__json_set(document, "driver_calls_before", accel__json_size(figures->placing_calls));
    accel__json_set(document, "retries", accel__json_size(figures->retries));
    accel__json_set(document, "seconds", rounded(figures->seconds, 1e9));
    accel__json_set(document, "recorded_reserved",
                    recorded > 0 ? accel__json_size(recorded) : NULL);
    accel__json_set(document, "recorded_ratio",
                    recorded > 0 ? rounded(ratio(recorded, trace->peak_live), 10000) : NULL);
    return accel__json_print(document);
}

static accel__exit print_text(const replay *r, const char *device, const char *conf,
                              const accel__trace *trace, const accel__player_figures *figures)
{
    char before[ACCEL__SIZE_TEXT_MAX];
    char live[ACCEL__SIZE_TEXT_MAX];
    char reserved[ACCEL__SIZE_TEXT_MAX];
    char recorded[ACCEL__SIZE_TEXT_MAX];
    const double thousands = (double)trace->event_count / 1000;
    printf("%s on %s, settings \"%s\"\n", r->path, device, conf);
    printf("  events         %10zu  on %zu streams; %s were live before\n", trace->event_count,
           trace->stream_count, accel__size_text(trace->live_at_start, before));
    printf("  peak live      %10s  asked for\n", accel__size_text(trace->peak_live, live));
    printf("  peak reserved  %10s", accel__size_text(figures->peak_reserved, reserved));
    if (trace->recorded_reserved > 0)
        printf("  recorded: %s", accel__size_text(trace->recorded_reserved, recorded));
    printf("\n  ratio          %10.4f", ratio(figures->peak_reserved, trace->peak_live));
    if (trace->recorded_reserved > 0)
        printf("  recorded: %.4f", ratio(trace->recorded_reserved, trace->peak_live));
    printf("\n  driver calls   %10llu  %.1f for 1000 events; %llu more for what was live before\n",
           (unsigned long long)figures->driver_calls,
           thousands > 0 ? (double)figures->driver_calls / thousands : 0,
           (unsigned long long)figures->placing_calls);
    printf("  seconds        %10.4f\n", figures->seconds);
    if (trace->repaired_count > 0)
        accel__cli_note("warning: %s: %zu events contradict those before; some are missing",
                        r->path, trace->repaired_count);
    return accel__cli_finish_output();
}

/* ---- settings ---- */

/* The settings in one text, checked. The caller frees it. */
static accel__exit make_conf(const replay *r, char **out_conf)
{
    static const char key[] = "expandable_segments";
    const bool has_mode = r->growable || r->fixed;
    const char *conf = r->conf != NULL ? r->conf : "";
    *out_conf = NULL;
    if (has_mode && strstr(conf, key) != NULL)
        return accel__cli_misuse("--%s and %s in --conf say the same; leave one out",
                                 r->growable ? "growable" : "fixed", key);
    if (asprintf(out_conf, "%s%s%s%s", conf, has_mode && conf[0] != '\0' ? "," : "",
                 has_mode ? key : "",
                 !has_mode     ? ""
                 : r->growable ? ":True"
                               : ":False") < 0) {
        *out_conf = NULL;
        return accel__cli_fail_memory();
    }
    if ((has_mode || r->conf != NULL) && accel_allocator_set_config(*out_conf) != ACCEL_OK)
        return accel__cli_misuse("%s", accel_last_error_message());
    return ACCEL__EXIT_OK;
}

/* What is in force, the variable's text where the command line has none. */
static accel__exit read_conf(char **conf)
{
    size_t size = 0;
    (void)accel_allocator_get_config(NULL, 0, &size);
    char *text = malloc(size + 1);
    free(*conf);
    *conf = text;
    if (text == NULL)
        return accel__cli_fail_memory();
    text[0] = '\0';
    const accel_status status = accel_allocator_get_config(text, size + 1, NULL);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

/* ---- which history ---- */

/* By its index, or by its name where the snapshot tells names. */
static bool find_device(const accel__snapshot *snapshot, const char *text, uint64_t *out_index)
{
    for (size_t i = 0; i < snapshot->device_name_count; i++)
        if (strcmp(snapshot->device_names[i], text) == 0) {
            *out_index = i;
            return true;
        }
    return accel__parse_count(text, 0, UINT64_MAX, out_index);
}

static accel__exit choose_named(const replay *r, const accel__snapshot *snapshot, size_t *out_index)
{
    uint64_t index = 0;
    if (!find_device(snapshot, r->from_text, &index))
        return accel__cli_misuse("--from \"%.40s\" is no device of the snapshot; see accel memory "
                                 "report %s",
                                 r->from_text, r->path);
    if (index >= snapshot->trace_count || snapshot->traces[index].count == 0)
        return accel__cli_fail("%s: device %.40s has no history; see accel memory report %s",
                               r->path, r->from_text, r->path);
    *out_index = (size_t)index;
    return ACCEL__EXIT_OK;
}

static accel__exit choose_history(const replay *r, const accel__snapshot *snapshot,
                                  size_t *out_index)
{
    size_t count = 0;
    if (r->from_text != NULL)
        return choose_named(r, snapshot, out_index);
    for (size_t i = snapshot->trace_count; i-- > 0;)
        if (snapshot->traces[i].count > 0) {
            *out_index = i;
            count++;
        }
    if (count == 0)
        return accel__cli_fail(
            "%s: has no history; record one with accel_memory_record_history, or "
            "with torch.cuda.memory._record_memory_history",
            r->path);
    if (count > 1)
        return accel__cli_fail("%s: %zu devices have a history; choose one with --from, see accel "
                               "memory report %s",
                               r->path, count, r->path);
    return ACCEL__EXIT_OK;
}

/* ---- the whole ---- */

static accel__exit play(const replay *r, const accel__trace *trace, accel_device device)
{
    char name[ACCEL_DEVICE_NAME_MAX] = "";
    char *conf = NULL;
    accel__player_figures figures;
    accel__exit result = make_conf(r, &conf);
    if (result == ACCEL__EXIT_OK)
        result = read_conf(&conf);
    if (result == ACCEL__EXIT_OK)
        result = accel__player_run(trace, device, &figures);
    if (result == ACCEL__EXIT_OK) {
        (void)accel_device_format(device, name, sizeof name, NULL);
        if (r->growable && figures.segments > 0)
            accel__cli_note(
                "warning: %s cannot map memory in parts; its segments were fixed all the same",
                name);
        result = r->json ? print_json(r, name, conf, trace, &figures)
                         : print_text(r, name, conf, trace, &figures);
    }
    free(conf);
    return result;
}

static accel__exit run(const replay *r)
{
    accel__snapshot snapshot;
    accel__trace trace = {0};
    accel_device device;
    size_t index = 0;
    accel__exit result = accel__snapshot_load(r->path, &snapshot);
    /* Nothing is touched: the cpu may promise what a larger machine had. */
    if (setenv("ACCEL_CPU_OVERCOMMIT", "1", 0) != 0)
        result = accel__cli_fail_memory();
    if (result == ACCEL__EXIT_OK)
        result = choose_history(r, &snapshot, &index);
    if (result == ACCEL__EXIT_OK && !accel__trace_prepare(&snapshot, index, &trace))
        result = accel__cli_fail_memory();
    if (result == ACCEL__EXIT_OK)
        result = accel__choose_device(r->device_text, &device);
    if (result == ACCEL__EXIT_OK)
        result = play(r, &trace, device);
    accel__trace_release(&trace);
    accel__snapshot_release(&snapshot);
    return result;
}

static accel__exit take_option(void *request, int option)
{
    replay *r = request;
    switch (option) {
    case ACCEL__OPTION_JSON:
        return accel__take_json(&r->json, option);
    case ACCEL__OPTION_CONF:
        return accel__take_once(&r->conf, "--conf");
    case ACCEL__OPTION_FROM:
        return accel__take_once(&r->from_text, "--from");
    case 'd':
        return accel__take_once(&r->device_text, "-d");
    case ACCEL__OPTION_GROWABLE:
        r->growable = true;
        return ACCEL__EXIT_OK;
    case ACCEL__OPTION_FIXED:
        r->fixed = true;
        return ACCEL__EXIT_OK;
    default:
        return ACCEL__EXIT_USAGE;
    }
}

accel__exit accel__memory_replay(int argc, char **argv)
{
    static const struct option options[] = {{"conf", required_argument, NULL, ACCEL__OPTION_CONF},
                                            {"growable", no_argument, NULL, ACCEL__OPTION_GROWABLE},
                                            {"fixed", no_argument, NULL, ACCEL__OPTION_FIXED},
                                            {"from", required_argument, NULL, ACCEL__OPTION_FROM},
                                            {"json", no_argument, NULL, ACCEL__OPTION_JSON},
                                            {"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":hd:", options, help, take_option};
    replay r = {0};
    accel__exit result;
    if (!accel__take_options(argc, argv, &taken, &r, &result))
        return result;
    if (r.growable && r.fixed)
        return accel__cli_misuse("--growable and --fixed exclude each other; leave one out");
    if (optind + 1 != argc)
        return accel__cli_misuse("one snapshot is wanted, not %d; see accel memory replay --help",
                                 argc - optind);
    r.path = argv[optind];
    return run(&r);
}
