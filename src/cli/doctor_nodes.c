/* doctor_nodes.c: may the user open the device files there are? A missing right looks like missing hardware
 * to most drivers; here the two are told apart. Nothing is opened: the kernel is asked for rights only.
 * See doctor.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor.h"

enum { NAME_SIZE = 64, PATH_SIZE = 1024, LIST_SIZE = 512 };

/* Where device files of accelerators are, and how the system tells of such devices otherwise. */
static const struct place {
    const char *folder;
    const char *prefix;
    const char *system; /* a folder with entries of the same names where the hardware is there */
} places[] = {
    {"/dev/dri", "renderD", "/sys/class/drm"},
    {"/dev", "kfd", "/sys/class/kfd"},
    {"/dev", "nvidia", NULL},
};

/* ---- names of users and groups ---- */

static const char *user_name(uid_t user, char *buffer)
{
    const struct passwd *entry = getpwuid(user);
    snprintf(buffer, NAME_SIZE, entry != NULL ? "%s" : "%.0s%u",
             entry != NULL ? entry->pw_name : "", (unsigned)user);
    return buffer;
}

static const char *group_name(gid_t group, char *buffer)
{
    const struct group *entry = getgrgid(group);
    snprintf(buffer, NAME_SIZE, entry != NULL ? "%s" : "%.0s%u",
             entry != NULL ? entry->gr_name : "", (unsigned)group);
    return buffer;
}

/* The groups of this process. The array is the caller's to free. */
static int process_groups(gid_t **out_groups)
{
    const int capacity = getgroups(0, NULL);
    *out_groups = capacity >= 0 ? calloc((size_t)capacity + 1, sizeof **out_groups) : NULL;
    if (*out_groups == NULL)
        return 0;
    int count = getgroups(capacity, *out_groups);
    count = count > 0 ? count : 0;
    bool has_own = false;
    for (int i = 0; i < count; i++)
        has_own |= (*out_groups)[i] == getegid();
    if (!has_own)
        (*out_groups)[count++] = getegid();
    return count;
}

/* "users, video". */
static void list_groups(char *buffer, size_t capacity)
{
    gid_t *groups = NULL;
    size_t used = 0;
    const int count = process_groups(&groups);
    buffer[0] = '\0';
    for (int i = 0; i < count && used < capacity; i++) {
        char name[NAME_SIZE];
        const int wrote = snprintf(buffer + used, capacity - used, "%s%s", i != 0 ? ", " : "",
                                   group_name(groups[i], name));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    free(groups);
}

/* Whether the user was put into the group, which this process does not have: it is older than that. */
static bool is_in_group_by_now(gid_t group)
{
    gid_t groups[256];
    int count = sizeof groups / sizeof groups[0];
    bool found = false;
    const struct passwd *entry = getpwuid(geteuid());
    if (entry == NULL || getgrouplist(entry->pw_name, entry->pw_gid, groups, &count) < 0)
        return false;
    for (int i = 0; i < count; i++)
        found |= groups[i] == group;
    return found;
}

/* ---- one file ---- */

static void write_remedy(const struct stat *facts, const char *path, char *buffer, size_t capacity)
{
    char group[NAME_SIZE];
    char user[NAME_SIZE];
    const bool by_group = (facts->st_mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP) &&
                          facts->st_gid != 0;
    group_name(facts->st_gid, group);
    user_name(geteuid(), user);
    if (!by_group)
        snprintf(
            buffer, capacity,
            "let an administrator give a group the right to %s (a udev rule), and add the user "
            "%s to that group",
            path, user);
    else if (getgrgid(facts->st_gid) == NULL)
        snprintf(buffer, capacity,
                 "add the group %s to the process (in a container: --group-add %s): it has no name "
                 "here",
                 group, group);
    else if (is_in_group_by_now(facts->st_gid))
        snprintf(buffer, capacity,
                 "log in again: the user %s is in the group %s, but this login is older than that",
                 user, group);
    else
        snprintf(buffer, capacity,
                 "add the user %s to the group %s (usermod -aG %s %s), and log in again", user,
                 group, group, user);
}

static void add_without_right(json_t *block, const char *path, const struct stat *facts)
{
    char remedy[PATH_SIZE + 256];
    char groups[LIST_SIZE];
    char owner[NAME_SIZE];
    char group[NAME_SIZE];
    char user[NAME_SIZE];
    write_remedy(facts, path, remedy, sizeof remedy);
    list_groups(groups, sizeof groups);
    accel__doctor_add(
        block, "problem", path, remedy,
        "no right: it belongs to user %s and group %s, mode %04o; this is user %s, in "
        "the groups %s",
        user_name(facts->st_uid, owner), group_name(facts->st_gid, group),
        (unsigned)(facts->st_mode & 07777), user_name(geteuid(), user), groups);
}

/* `root` is left out of what is shown. */
static void look_at(json_t *block, const char *root, const char *path)
{
    char real[2 * PATH_SIZE];
    struct stat facts;
    snprintf(real, sizeof real, "%s%s", root, path);
    if (stat(real, &facts) != 0)
        accel__doctor_add(block, "problem", path, "load the driver's kernel module again",
                          "its name is there, the file is not: %s", strerror(errno));
    else if (S_ISDIR(facts.st_mode))
        return; /* /dev/nvidia-caps */
    else if (!S_ISCHR(facts.st_mode))
        accel__doctor_add(block, "problem", path, "remove it, and load the driver's kernel module",
                          "is no device file");
    else if (faccessat(AT_FDCWD, real, R_OK | W_OK, AT_EACCESS) == 0)
        accel__doctor_add(block, "ok", path, NULL, "can be opened");
    else if (errno == EACCES || errno == EPERM)
        add_without_right(block, path, &facts);
    else
        accel__doctor_add(block, "problem", path, "see the system's message", "%s",
                          strerror(errno));
}

/* ---- all files ---- */

static int is_wanted(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void look_in(json_t *block, const char *root, const struct place *place)
{
    char real[PATH_SIZE];
    struct dirent **entries = NULL;
    snprintf(real, sizeof real, "%s%s", root, place->folder);
    const int count = scandir(real, &entries, NULL, alphasort);
    if (count < 0 && errno != ENOENT && errno != ENOTDIR)
        accel__doctor_add(block, "problem", place->folder,
                          "let an administrator make the directory readable (mode 0755)",
                          "cannot be read: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        if (is_wanted(entries[i]->d_name, place->prefix)) {
            snprintf(path, sizeof path, "%s/%s", place->folder, entries[i]->d_name);
            look_at(block, root, path);
        }
        free(entries[i]);
    }
    free(entries);
}

/* The hardware is known to the kernel, but has no file here: so it is in containers. */
static void look_for_missing(json_t *block, const char *root, const struct place *place)
{
    char real[2 * PATH_SIZE];
    struct dirent **entries = NULL;
    snprintf(real, sizeof real, "%s%s", root, place->system);
    const int count = scandir(real, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        const char *name = entries[i]->d_name;
        snprintf(path, sizeof path, "%s/%s", place->folder, name);
        snprintf(real, sizeof real, "%s%s", root, path);
        if (is_wanted(name, place->prefix) && access(real, F_OK) != 0 && errno == ENOENT)
            accel__doctor_add(block, "note", path,
                              "where this is a container, start it with the device "
                              "(docker run --device …)",
                              "not there, although the system has the device");
        free(entries[i]);
    }
    free(entries);
}

json_t *accel__doctor_nodes(const char *root)
{
    json_t *block = accel__doctor_block("device files");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        look_in(block, root, &places[i]);
        if (places[i].system != NULL)
            look_for_missing(block, root, &places[i]);
    }
    if (json_array_size(json_object_get(block, "items")) == 0) {
        accel__doctor_set_state(block, "none");
        accel__doctor_add(block, "none", "/dev", NULL,
                          "no file of an accelerator (dri/renderD*, kfd, nvidia*)");
    }
    return block;
}
