/* machine.c: see machine.h. */
#include "platform/machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "platform/calls.h"

/* The beginning of a file, as a string. False: it cannot be read. */
static bool read_file(const char *path, char *buffer, size_t capacity)
{
    const int descriptor = accel__platform.open(path, O_RDONLY, 0);
    size_t size = 0;
    buffer[0] = '\0';
    if (descriptor < 0)
        return false;
    while (size + 1 < capacity) {
        const ssize_t got = read(descriptor, buffer + size, capacity - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    buffer[size] = '\0';
    close(descriptor);
    return size != 0;
}

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

/* A number of this process's control group (version 2). UINT64_MAX: no limit, or not to be had. */
static uint64_t cgroup_number(const char *name)
{
    char groups[2048];
    char path[2300];
    char value[32];
    char *end = NULL;
    if (!read_file("/proc/self/cgroup", groups, sizeof groups))
        return UINT64_MAX;
    const char *own = strncmp(groups, "0::/", 4) == 0 ? groups : strstr(groups, "\n0::/");
    if (own == NULL)
        return UINT64_MAX;
    own = strchr(own, '/');
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/%s", (int)strcspn(own, "\n"), own, name);
    if (!read_file(path, value, sizeof value)) {
        /* In a container the path may be the host's, while the mount is our own group. */
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s", name);
        if (!read_file(path, value, sizeof value))
            return UINT64_MAX;
    }
    const uint64_t number = strtoull(value, &end, 10);
    return end != value ? number : UINT64_MAX;
}

bool accel__machine_memory(uint64_t *out_free, uint64_t *out_total)
{
    char text[2048];
    *out_free = *out_total = 0;
    if (!read_file("/proc/meminfo", text, sizeof text))
        return false;
    *out_total = kibibytes(text, "MemTotal");
    *out_free = kibibytes(text, "MemAvailable");
    const uint64_t limit = cgroup_number("memory.max");
    if (limit < *out_total) {
        const uint64_t used = cgroup_number("memory.current");
        const uint64_t left = used < limit ? limit - used : 0;
        *out_total = limit;
        *out_free = left < *out_free ? left : *out_free;
    }
    return true;
}

void accel__machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size)
{
    char text[4096];
    struct utsname system;
    name[0] = vendor[0] = '\0';
    if (read_file("/proc/cpuinfo", text, sizeof text)) {
        find_line(text, "model name", name, name_size);
        find_line(text, "vendor_id", vendor, vendor_size);
    }
    if (name[0] == '\0')
        snprintf(name, name_size, "%s CPU", uname(&system) == 0 ? system.machine : "unknown");
}
