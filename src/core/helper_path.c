/* helper_path.c: see helper_path.h. */
#include "core/helper_path.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "platform/trust.h"

/* Set by the build to the installed helper; the places beside the library need no such knowledge. */
#ifndef ACCEL_INSTALLED_PROBE
#define ACCEL_INSTALLED_PROBE "/usr/libexec/accel/accel-probe"
#endif

static bool is_file(const char *path)
{
    struct stat status;
    return path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_program(const char *path)
{
    return is_file(path) && access(path, X_OK) == 0;
}

/* The folder of the file that this code was loaded from, a library or the program itself. The kernel's
 * word, not the loader's: that has a relative name for what was opened by one, and for a program what
 * its caller chose to call it. */
static bool own_folder(char *buffer, size_t capacity, uid_t *out_owner)
{
    struct stat facts;
    static const char anchor; /* any object of this file */
    const uintptr_t wanted = (uintptr_t)&anchor;
    char line[PATH_MAX + 128];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        char *path = strchr(line, '/');
        char *slash = strrchr(line, '/');
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || wanted < begin ||
            wanted >= end)
            continue;
        if (path == NULL || (size_t)(slash - path) >= capacity)
            break;
        path[strcspn(path, "\n")] = '\0';
        *out_owner = stat(path, &facts) == 0 ? facts.st_uid : geteuid();
        memcpy(buffer, path, (size_t)(slash - path));
        buffer[slash - path] = '\0';
        found = true;
    }
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* What ACCEL_PROBE names is taken where it is a file that nobody else could have written; that it cannot be
 * run is found out by trying. */
static bool take_named(const char *named, char *buffer, size_t capacity)
{
    char reason[256];
    const char *wrong = named[0] != '/'            ? " is no absolute path"
                        : is_file(named)           ? ""
                        : access(named, F_OK) != 0 ? " is not there"
                                                   : " is no file";
    if (wrong[0] == '\0' && !accel__trust_path(named, reason, sizeof reason)) {
        snprintf(buffer, capacity, "ACCEL_PROBE is not run: %s", reason);
        return false;
    }
    snprintf(buffer, capacity, "%s%s%s", wrong[0] != '\0' ? "ACCEL_PROBE: " : "", named, wrong);
    return wrong[0] == '\0';
}

/* Who owns the library is trusted with the helper beside it. */
static bool take_beside(const char *folder, uid_t owner, const char *name, char *buffer,
                        size_t capacity, char *distrust, size_t distrust_capacity)
{
    char reason[256];
    snprintf(buffer, capacity, "%s/%s", folder, name);
    if (!is_program(buffer))
        return false;
    if (accel__trust_file(buffer, owner, reason, sizeof reason))
        return true;
    snprintf(distrust, distrust_capacity, "not run: %s", reason);
    return false;
}

bool accel__helper_path(char *buffer, size_t capacity)
{
    static const char *const beside[] = {"accel-probe", "../bin/accel-probe",
                                         "../libexec/accel/accel-probe",
                                         "../../libexec/accel/accel-probe"};
    const char *named = accel__environment_path("ACCEL_PROBE");
    if (named != NULL)
        return take_named(named, buffer, capacity);
    char folder[PATH_MAX];
    char distrust[512] = "";
    uid_t owner = geteuid();
    if (own_folder(folder, sizeof folder, &owner))
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
            if (take_beside(folder, owner, beside[i], buffer, capacity, distrust, sizeof distrust))
                return true;
    if (take_beside("", owner, &ACCEL_INSTALLED_PROBE[1], buffer, capacity, distrust,
                    sizeof distrust))
        return true;
    if (distrust[0] != '\0')
        snprintf(buffer, capacity, "%s", distrust);
    else
        snprintf(buffer, capacity, "neither beside the library nor at %s", ACCEL_INSTALLED_PROBE);
    return false;
}
