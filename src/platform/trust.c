/* trust.c: see trust.h. Where every step is safe, nobody else can change the way between this look and the
 * use that follows; so a path that passed may be used as it is. */
#include "platform/trust.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* A way through the file system, name by name. */
typedef struct way {
    char at[PATH_MAX];   /* looked at so far */
    char rest[PATH_MAX]; /* still to go */
    unsigned links;
    uid_t also;
    char *reason;
    size_t capacity;
} way;

static bool refuse(const way *to, const char *what)
{
    snprintf(to->reason, to->capacity, "%s%s", what, to->at[0] != '\0' ? to->at : "/");
    return false;
}

static bool refuse_code(const way *to, int code)
{
    char text[128];
    snprintf(to->reason, to->capacity, "%s: %s", to->at, strerror_r(code, text, sizeof text));
    return false;
}

/* ---- who may ---- */

/* Without it (a program that is linked statically) root's number is all there is to go by. */
static uid_t find_system_owner(void)
{
    Dl_info info;
    struct stat facts;
    void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL &&
        info.dli_fname[0] == '/' && stat(info.dli_fname, &facts) == 0)
        return facts.st_uid;
    return 0;
}

static bool is_trusted(uid_t owner, uid_t also)
{
    return owner == geteuid() || owner == 0 || owner == also || owner == find_system_owner();
}

/* The sticky bit of a folder keeps others from names that are not theirs. */
static bool others_may_write(const struct stat *facts)
{
    if (S_ISDIR(facts->st_mode) && (facts->st_mode & S_ISVTX) != 0)
        return false;
    const bool own_group = facts->st_gid == getegid() || facts->st_uid == 0;
    return (facts->st_mode & S_IWOTH) != 0 || ((facts->st_mode & S_IWGRP) != 0 && !own_group);
}

static bool check_owner(const way *to, const struct stat *facts)
{
    char text[64];
    if (is_trusted(facts->st_uid, to->also))
        return true;
    snprintf(text, sizeof text, "another user (%lu) owns ", (unsigned long)facts->st_uid);
    return refuse(to, text);
}

static bool check(const way *to, const struct stat *facts)
{
    if (!check_owner(to, facts))
        return false;
    if (!S_ISLNK(facts->st_mode) && others_may_write(facts))
        return refuse(to, "others may write to ");
    return true;
}

/* ---- the way ---- */

static void go_up(way *to)
{
    char *slash = strrchr(to->at, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* Appends the next name of the rest to `at`. False: there is none, or no room. */
static bool take_name(way *to)
{
    const char *name = to->rest + strspn(to->rest, "/");
    const size_t size = strcspn(name, "/");
    const size_t used = strlen(to->at);
    if (size == 0 || used + size + 2 > sizeof to->at)
        return false;
    if (size == 2 && memcmp(name, "..", 2) == 0) {
        go_up(to);
    } else if (size != 1 || name[0] != '.') {
        to->at[used] = '/';
        memcpy(to->at + used + 1, name, size);
        to->at[used + 1 + size] = '\0';
    }
    memmove(to->rest, name + size, strlen(name + size) + 1);
    return true;
}

/* Puts the link's text before the rest. */
static bool follow(way *to)
{
    char text[PATH_MAX];
    const ssize_t size = readlink(to->at, text, sizeof text - 1);
    if (size < 0)
        return refuse_code(to, errno);
    text[size] = '\0';
    const size_t left = strlen(to->rest);
    if (++to->links > LINKS_MAX || (size_t)size + left + 1 > sizeof to->rest)
        return refuse_code(to, ELOOP);
    memmove(to->rest + size, to->rest, left + 1);
    memcpy(to->rest, text, (size_t)size);
    if (text[0] == '/')
        to->at[0] = '\0';
    else
        go_up(to);
    return true;
}

/* Looks at what `at` is by now. */
static bool look(way *to)
{
    struct stat facts;
    if (lstat(to->at[0] != '\0' ? to->at : "/", &facts) != 0)
        return refuse_code(to, errno);
    return check(to, &facts) && (!S_ISLNK(facts.st_mode) || follow(to));
}

/* A relative path begins at the working directory. */
static bool begin(way *to, const char *path, uid_t also, char *reason, size_t capacity)
{
    *to = (way){.also = also, .reason = reason, .capacity = capacity};
    reason[0] = '\0';
    if (path[0] != '/' && getcwd(to->rest, sizeof to->rest - 1) == NULL)
        return refuse_code(to, errno);
    const size_t used = strlen(to->rest);
    const size_t size = strlen(path);
    if (used + size + 2 > sizeof to->rest)
        return refuse_code(to, ENAMETOOLONG);
    to->rest[used] = '/';
    memcpy(to->rest + used + 1, path, size + 1);
    return true;
}

bool accel__trust_path(const char *path, char *reason, size_t capacity)
{
    way to;
    if (!begin(&to, path, geteuid(), reason, capacity) || !look(&to))
        return false;
    while (take_name(&to))
        if (!look(&to))
            return false;
    return to.rest[strspn(to.rest, "/")] == '\0' || refuse_code(&to, ENAMETOOLONG);
}

bool accel__trust_file(const char *path, uid_t also, char *reason, size_t capacity)
{
    way to;
    struct stat facts;
    if (!begin(&to, path, also, reason, capacity))
        return false;
    memcpy(to.at, to.rest, sizeof to.at);
    if (stat(to.at, &facts) != 0)
        return refuse_code(&to, errno);
    if (!check(&to, &facts))
        return false;
    go_up(&to);
    if (stat(to.at[0] != '\0' ? to.at : "/", &facts) != 0)
        return refuse_code(&to, errno);
    return check(&to, &facts);
}

/* A link that root made leads where root wanted; so do those behind it. */
bool accel__trust_links(const char *path, char *reason, size_t capacity)
{
    struct stat facts;
    way to = {.also = geteuid(), .reason = reason, .capacity = capacity};
    const size_t size = strlen(path);
    reason[0] = '\0';
    for (size_t end = 1; end <= size && size < sizeof to.at; end++) {
        if ((path[end] != '/' && path[end] != '\0') || path[end - 1] == '/')
            continue;
        memcpy(to.at, path, end);
        to.at[end] = '\0';
        if (lstat(to.at, &facts) != 0)
            return true;
        const bool is_way = S_ISLNK(facts.st_mode) || S_ISFIFO(facts.st_mode) ||
                            S_ISSOCK(facts.st_mode);
        if (is_way && !check_owner(&to, &facts))
            return false;
    }
    return true;
}
