/* report.c: see report.h. */
#include "report.h"

#include <errno.h>

enum { EXCEPTIONS_MAX = 256, LINE_MAX_SIZE = 512 };

typedef struct exception {
    char backend[40];
    char test[80];
    char reason[300];
} exception;

static exception exceptions[EXCEPTIONS_MAX];
static size_t exception_count;
static bool as_json;
static bool first_result = true;
static unsigned counts[3]; /* by cf_result */

/* ---- exceptions ---- */

static bool read_line(char *line)
{
    exception *made = &exceptions[exception_count];
    int reason_at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return true;
    if (exception_count == EXCEPTIONS_MAX ||
        sscanf(line, "%39s %79s %n", made->backend, made->test, &reason_at) != 2 ||
        reason_at == 0 || line[reason_at] == '\0')
        return false;
    snprintf(made->reason, sizeof made->reason, "%s", line + reason_at);
    exception_count++;
    return true;
}

bool report_read_exceptions(const char *path)
{
    char line[LINE_MAX_SIZE];
    bool good = true;
    errno = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    while (good && fgets(line, sizeof line, file) != NULL)
        good = read_line(line);
    fclose(file);
    errno = 0;
    return good;
}

static const exception *find_exception(const char *backend, const char *test)
{
    for (size_t i = 0; i < exception_count; i++)
        if (strcmp(exceptions[i].backend, backend) == 0 && strcmp(exceptions[i].test, test) == 0)
            return &exceptions[i];
    return NULL;
}

/* ---- JSON ---- */

static void print_string(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void print_member(const char *name, const char *value, const char *after)
{
    print_string(name);
    fputs(": ", stdout);
    print_string(value);
    fputs(after, stdout);
}

/* ---- results ---- */

static const char *const words[] = {"pass", "fail", "skip"};

void report_begin(bool json)
{
    as_json = json;
    if (json)
        fputs("{\"results\": [", stdout);
}

void report_result(const char *device, const char *backend, const char *test, cf_result result,
                   const char *reason)
{
    char text[700];
    const exception *known = find_exception(backend, test);
    snprintf(text, sizeof text, "%s", reason);
    if (known != NULL && result == CF_FAIL) {
        result = CF_SKIP;
        snprintf(text, sizeof text, "exception: %s (%s)", known->reason, reason);
    } else if (known != NULL && result == CF_PASS) {
        result = CF_FAIL;
        snprintf(text, sizeof text, "passes, its exception is stale: %s", known->reason);
    }
    counts[result]++;
    if (as_json) {
        fputs(first_result ? "\n  {" : ",\n  {", stdout);
        print_member("device", device, ", ");
        print_member("test", test, ", ");
        print_member("result", words[result], ", ");
        print_member("reason", text, "}");
    } else if (text[0] != '\0')
        printf("%s  %-10s %s (%s)\n", words[result], device, test, text);
    else
        printf("%s  %-10s %s\n", words[result], device, test);
    first_result = false;
    fflush(stdout); /* a forked child must not print it again, nor a crash lose it */
}

int report_end(void)
{
    if (as_json)
        printf("\n ], \"passed\": %u, \"failed\": %u, \"skipped\": %u}\n", counts[CF_PASS],
               counts[CF_FAIL], counts[CF_SKIP]);
    else
        printf("%u passed, %u failed, %u skipped\n", counts[CF_PASS], counts[CF_FAIL],
               counts[CF_SKIP]);
    return counts[CF_FAIL] != 0 || fflush(stdout) != 0 || ferror(stdout) ? 1 : 0;
}
