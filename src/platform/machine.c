/* machine.c: see machine.h. */
#include "platform/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "platform/cgroup.h"
#include "platform/file_head.h"

/* "Name:   value" in the text of /proc/cpuinfo and the like: the value, or "". */
static void find_line(const char *text, const char *name, char *buffer, size_t capacity)
{
    const size_t size = strlen(name);
    buffer[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *rest = line + size;
        if (strncmp(line, name, size) == 0 && rest[strspn(rest, " \t")] == ':') {
            rest = strchr(rest, ':') + 1;
            rest += strspn(rest, " \t");
            snprintf(buffer, capacity, "%.*s", (int)strcspn(rest, "\n"), rest);
            return;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static uint64_t kibibytes(const char *text, const char *name)
{
    char value[32];
    find_line(text, name, value, sizeof value);
    return strtoull(value, NULL, 10) * 1024;
}

bool accel__machine_memory(uint64_t *out_free, uint64_t *out_total)
{
    char text[2048];
    *out_free = *out_total = 0;
    if (!accel__read_head("/proc/meminfo", text, sizeof text))
        return false;
    *out_total = kibibytes(text, "MemTotal");
    *out_free = kibibytes(text, "MemAvailable");
    uint64_t limit;
    uint64_t left;
    accel__cgroup_memory("", &limit, &left);
    if (limit < *out_total)
        *out_total = limit;
    if (left < *out_free)
        *out_free = left;
    return true;
}

void accel__machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size)
{
    char text[4096];
    struct utsname system;
    name[0] = vendor[0] = '\0';
    if (accel__read_head("/proc/cpuinfo", text, sizeof text)) {
        find_line(text, "model name", name, name_size);
        find_line(text, "vendor_id", vendor, vendor_size);
    }
    if (name[0] == '\0')
        snprintf(name, name_size, "%s CPU", uname(&system) == 0 ? system.machine : "unknown");
}
