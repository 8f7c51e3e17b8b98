/* cgroup.c: see cgroup.h.
 *
 * Where a container sees the path of its group as the host has it, while the mount is its own group, the
 * first folders on the way up are not there; the last one, the mount itself, is. */
#include "platform/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform/file_head.h"

enum { PATH_SIZE = 2300, VALUE_SIZE = 64 };

/* A folder of a group, and what is above it down to the mount. */
typedef struct group {
    char folder[PATH_SIZE];
    size_t mount_size; /* so much of `folder` is the mount */
} group;

/* ---- finding the group ---- */

/* Whether `controller` is in the list of `size` bytes, which commas separate. */
static bool has_word(const char *list, size_t size, const char *controller)
{
    const size_t wanted = strlen(controller);
    for (size_t at = 0; at < size;) {
        size_t word = 0;
        while (at + word < size && list[at + word] != ',')
            word++;
        if (word == wanted && memcmp(list + at, controller, word) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

static bool read_groups(const char *root, char *text, size_t capacity)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    return accel__read_head(path, text, capacity);
}

/* The line "number:controllers:path" of the controller; NULL: version 2, whose line has no controllers.
 * *out_list is behind the first colon, the path behind the second. */
static const char *find_path(const char *groups, const char *controller, const char **out_list,
                             size_t *out_list_size)
{
    for (const char *line = groups; line != NULL && *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        const char *list = memchr(line, ':', size);
        list = list != NULL ? list + 1 : NULL;
        const char *path = list != NULL ? memchr(list, ':', size - (size_t)(list - line)) : NULL;
        if (path != NULL) {
            *out_list = list;
            *out_list_size = (size_t)(path - list);
            if (controller == NULL ? path == list : has_word(list, *out_list_size, controller))
                return path + 1;
        }
        line = line[size] == '\n' ? line + size + 1 : NULL;
    }
    return NULL;
}

/* The mount is "<root>/sys/fs/cgroup", and for version 1 the folder of the controller in it, which bears
 * the name of the list or of the controller. */
static bool find_group(const char *root, const char *groups, const char *controller, group *out)
{
    const char *list = NULL;
    size_t list_size = 0;
    const char *path = find_path(groups, controller, &list, &list_size);
    if (path == NULL || *path != '/')
        return false;
    char mount[PATH_SIZE / 2];
    int size = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
    if (size > 0 && controller != NULL) {
        size = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%.*s", root, (int)list_size, list);
        if (size > 0 && (size_t)size < sizeof mount && access(mount, F_OK) != 0)
            size = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controller);
    }
    if (size <= 0 || (size_t)size >= sizeof mount)
        return false;
    out->mount_size = (size_t)size;
    size = snprintf(out->folder, sizeof out->folder, "%s%.*s", mount, (int)strcspn(path, "\n"),
                    path);
    return size > 0 && (size_t)size < sizeof out->folder;
}

/* To the group around; false at the mount. */
static bool go_up(group *at)
{
    size_t size = strlen(at->folder);
    if (size <= at->mount_size)
        return false;
    while (size > at->mount_size && at->folder[size - 1] != '/')
        size--;
    at->folder[size > at->mount_size ? size - 1 : at->mount_size] = '\0';
    return true;
}

/* ---- reading ---- */

static bool read_value(const group *at, const char *name, char *text, size_t capacity)
{
    char path[PATH_SIZE + VALUE_SIZE];
    snprintf(path, sizeof path, "%s/%s", at->folder, name);
    return accel__read_head(path, text, capacity);
}

/* UINT64_MAX: not there, or no number ("max", or "-1" where that is no limit). */
static uint64_t read_number(const group *at, const char *name)
{
    char text[VALUE_SIZE];
    char *end = NULL;
    if (!read_value(at, name, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX;
    const uint64_t number = strtoull(text, &end, 10);
    return end != text ? number : UINT64_MAX;
}

/* Bytes of files that are held and not in use: a number of memory.stat. */
static uint64_t read_droppable(const group *at, const char *name)
{
    char text[8192];
    const size_t size = strlen(name);
    if (!read_value(at, "memory.stat", text, sizeof text))
        return 0;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, size) == 0 && line[size] == ' ')
            return strtoull(line + size, NULL, 10);
    }
    return 0;
}

/* ---- memory ---- */

/* The files of a version. */
typedef struct memory_names {
    const char *controller;
    const char *limit;
    const char *used;
    const char *droppable;
} memory_names;

static void consider_memory(const group *at, const memory_names *names, uint64_t *limit,
                            uint64_t *left)
{
    const uint64_t own = read_number(at, names->limit);
    if (own == UINT64_MAX)
        return;
    uint64_t used = read_number(at, names->used);
    if (used == UINT64_MAX)
        used = 0;
    const uint64_t droppable = read_droppable(at, names->droppable);
    used -= droppable < used ? droppable : used;
    const uint64_t own_left = used < own ? own - used : 0;
    *limit = own < *limit ? own : *limit;
    *left = own_left < *left ? own_left : *left;
}

void accel__cgroup_memory(const char *root, uint64_t *out_limit, uint64_t *out_left)
{
    static const memory_names versions[] = {
        {NULL, "memory.max", "memory.current", "inactive_file"},
        {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
    };
    char groups[4096];
    *out_limit = *out_left = UINT64_MAX;
    if (!read_groups(root, groups, sizeof groups))
        return;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        group at;
        if (!find_group(root, groups, versions[i].controller, &at))
            continue;
        do
            consider_memory(&at, &versions[i], out_limit, out_left);
        while (go_up(&at));
    }
}

/* ---- processors ---- */

/* 0: no limit. */
static unsigned processors_of(uint64_t quota, uint64_t period)
{
    if (quota == UINT64_MAX || period == UINT64_MAX || quota == 0 || period == 0)
        return 0;
    const uint64_t count = quota / period + (quota % period != 0);
    return count < UINT32_MAX ? (unsigned)count : 0;
}

/* Version 2: "max 100000" or "200000 100000". */
static unsigned processors_v2(const group *at)
{
    char text[VALUE_SIZE];
    char *end = NULL;
    if (!read_value(at, "cpu.max", text, sizeof text) || text[0] < '0' || text[0] > '9')
        return 0;
    const uint64_t quota = strtoull(text, &end, 10);
    return processors_of(quota, strtoull(end, NULL, 10));
}

static unsigned processors_v1(const group *at)
{
    return processors_of(read_number(at, "cpu.cfs_quota_us"), read_number(at, "cpu.cfs_period_us"));
}

unsigned accel__cgroup_processors(const char *root)
{
    char groups[4096];
    unsigned least = 0;
    if (!read_groups(root, groups, sizeof groups))
        return 0;
    for (int version = 1; version <= 2; version++) {
        group at;
        if (!find_group(root, groups, version == 1 ? "cpu" : NULL, &at))
            continue;
        do {
            const unsigned count = version == 1 ? processors_v1(&at) : processors_v2(&at);
            least = count != 0 && (least == 0 || count < least) ? count : least;
        } while (go_up(&at));
    }
    return least;
}
