/* doctor.c: `accel doctor`: what works, what does not, why, and what to do about it.
 *
 * Invariant: this process only asks. Whatever uses a device, and could hang or crash, does so in processes
 * started for it (live_check.h); at the end the doctor asks whether it is still clean itself. */
#include "cli/doctor.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/number.h"

enum { TIMEOUT_MS = 15000, TIMEOUT_MAX_MS = 600000 };

static const char help[] =
    "Usage: accel doctor [--json] [--timeout MS]\n"
    "Say for each backend what it has, what stands in the way, and what to do about it; and try\n"
    "whether devices can be used, in processes started for that.\n\n"
    "Options:\n"
    "  --json         print one JSON document\n"
    "  --timeout MS   stop a trial after MS milliseconds (15000)\n"
    "  --help         print this text\n\n"
    "Exit status: 0 no problem found, 1 some, 2 wrong usage.\n"
    "Environment: as accel list. ACCEL_DOCTOR_ROOT, for tests, names a directory in which /dev "
    "and\n"
    "/sys are looked for instead.\n";

static void keep_warning(accel_log_level level, const char *backend, const char *text, void *user)
{
    char line[1024];
    (void)level;
    (void)user;
    snprintf(line, sizeof line, "%s%s%s", backend, backend[0] != '\0' ? ": " : "", text);
    accel__doctor_keep_warning(line);
}

/* ---- the doctor itself ---- */

static json_t *check_itself(void)
{
    static const char *const verdicts[] = {"clean", "maybe", "spoilt"};
    accel_fork_report report = {.struct_size = sizeof report};
    json_t *block = accel__doctor_block("fork");
    if (accel_fork_state(&report) != ACCEL_OK) {
        accel__doctor_add(block, "note", "this process", "mount /proc", "%s",
                          accel_last_error_message());
        return block;
    }
    accel__json_set(block, "verdict", json_string(verdicts[report.verdict]));
    accel__json_set(block, "library", accel__json_text(report.library));
    accel__json_set(block, "evidence", accel__json_text(report.evidence));
    if (report.verdict == ACCEL_FORK_VERDICT_CLEAN)
        accel__doctor_add(block, "ok", "this process", NULL,
                          "clean: asking left no driver, thread or device file behind");
    else
        accel__doctor_add(block, report.by_accel ? "problem" : "note", "this process",
                          report.by_accel ? "report this as a fault of accel"
                                          : "see what loads it: LD_PRELOAD, the program itself",
                          "%s: %s", verdicts[report.verdict], report.evidence);
    return block;
}

/* ---- the document ---- */

static json_t *look_at_backends(uint32_t timeout_ms)
{
    json_t *blocks = json_array();
    const uint32_t count = accel_backend_count();
    for (accel_backend backend = 1; backend <= count; backend++)
        json_array_append_new(blocks, accel__doctor_backend(backend, timeout_ms));
    return blocks;
}

static json_t *examine(uint32_t timeout_ms)
{
    const char *root = getenv("ACCEL_DOCTOR_ROOT");
    json_t *backends = look_at_backends(timeout_ms);
    json_t *nodes = accel__doctor_nodes(root != NULL ? root : "");
    json_t *settings = accel__doctor_settings(backends);
    return json_pack("{s:o, s:o, s:o, s:o}", "backends", backends, "device_files", nodes,
                     "settings", settings, "fork", check_itself());
}

static const char *const single_blocks[] = {"device_files", "settings", "fork"};
enum { SINGLE_BLOCKS = sizeof single_blocks / sizeof single_blocks[0] };

static unsigned count_problems(const json_t *document)
{
    unsigned count = 0;
    size_t i;
    json_t *block;
    json_array_foreach(json_object_get(document, "backends"), i, block)
        count += accel__doctor_problems(block);
    for (i = 0; i < SINGLE_BLOCKS; i++)
        count += accel__doctor_problems(json_object_get(document, single_blocks[i]));
    return count;
}

static accel__exit print_text(const json_t *document, unsigned problems)
{
    size_t i;
    json_t *block;
    json_array_foreach(json_object_get(document, "backends"), i, block)
    {
        accel__doctor_print(block);
        putchar('\n');
    }
    for (i = 0; i < SINGLE_BLOCKS; i++) {
        accel__doctor_print(json_object_get(document, single_blocks[i]));
        putchar('\n');
    }
    if (problems == 0)
        puts("No problem found.");
    else
        printf("%u problem%s found.\n", problems, problems == 1 ? "" : "s");
    return accel__cli_finish_output();
}

static accel__exit diagnose(bool json, uint32_t timeout_ms)
{
    (void)accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, keep_warning, NULL);
    json_t *document = examine(timeout_ms);
    if (document == NULL)
        return accel__cli_fail_memory();
    const unsigned problems = count_problems(document);
    accel__json_set(document, "problem_count", json_integer(problems));
    const accel__exit result = json ? accel__json_print(json_incref(document))
                                    : print_text(document, problems);
    json_decref(document);
    return result == ACCEL__EXIT_OK && problems != 0 ? ACCEL__EXIT_FAILED : result;
}

/* ---- the command ---- */

typedef struct doctor_request {
    bool json;
    const char *timeout_text;
    uint32_t timeout_ms;
} doctor_request;

static accel__exit take_option(void *place, int option)
{
    doctor_request *request = place;
    uint64_t value = 0;
    if (option == ACCEL__OPTION_JSON)
        return accel__take_json(&request->json, option);
    const accel__exit result = accel__take_once(&request->timeout_text, "--timeout");
    if (result != ACCEL__EXIT_OK)
        return result;
    if (!accel__parse_count(optarg, 1, TIMEOUT_MAX_MS, &value))
        return accel__cli_misuse(
            "--timeout \"%.40s\" is no number of milliseconds from 1 to %d; see accel "
            "doctor --help",
            optarg, TIMEOUT_MAX_MS);
    request->timeout_ms = (uint32_t)value;
    return ACCEL__EXIT_OK;
}

accel__exit accel__command_doctor(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, ACCEL__OPTION_JSON},
        {"timeout", required_argument, NULL, ACCEL__OPTION_TIMEOUT},
        {"help", no_argument, NULL, ACCEL__OPTION_HELP},
        {NULL, 0, NULL, 0}};
    static const accel__options taken = {":h", options, help, take_option};
    doctor_request request = {.timeout_ms = TIMEOUT_MS};
    accel__exit result;
    if (!accel__take_options(argc, argv, &taken, &request, &result))
        return result;
    if (optind < argc)
        return accel__cli_misuse("\"%s\" is not expected; see accel doctor --help", argv[optind]);
    return diagnose(request.json, request.timeout_ms);
}
