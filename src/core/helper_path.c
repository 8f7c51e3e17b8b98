/* helper_path.c: see helper_path.h. */
#include "core/helper_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"

/* Set by the build to the installed helper; the places beside the library need no such knowledge. */
#ifndef ACCEL_INSTALLED_PROBE
#define ACCEL_INSTALLED_PROBE "/usr/libexec/accel/accel-probe"
#endif

static bool is_program(const char *path)
{
    struct stat status;
    return path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           access(path, X_OK) == 0;
}

/* The folder of the file that this code was loaded from. For a program that accel is linked into, the
 * loader may only know a relative name: then /proc knows the absolute one. */
static bool own_folder(char *buffer, size_t capacity)
{
    static const char anchor; /* any object of this file */
    Dl_info info;
    char path[PATH_MAX];
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL)
        return false;
    if (info.dli_fname[0] == '/')
        snprintf(path, sizeof path, "%s", info.dli_fname);
    else {
        const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
        if (size <= 0)
            return false;
        path[size] = '\0';
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL || strlen(path) >= capacity)
        return false;
    *slash = '\0';
    snprintf(buffer, capacity, "%s", path);
    return true;
}

bool accel__helper_path(char *buffer, size_t capacity)
{
    static const char *const beside[] = {"accel-probe", "../bin/accel-probe",
                                         "../libexec/accel/accel-probe"};
    const char *named = accel__environment_path("ACCEL_PROBE");
    if (named != NULL) {
        if (named[0] == '/')
            snprintf(buffer, capacity, "%s", named);
        else
            snprintf(buffer, capacity, "ACCEL_PROBE is no absolute path: %s", named);
        return is_program(named);
    }
    char folder[PATH_MAX];
    if (own_folder(folder, sizeof folder))
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            snprintf(buffer, capacity, "%s/%s", folder, beside[i]);
            if (is_program(buffer))
                return true;
        }
    snprintf(buffer, capacity, "%s", ACCEL_INSTALLED_PROBE);
    if (is_program(buffer))
        return true;
    snprintf(buffer, capacity, "neither beside the library nor at %s", ACCEL_INSTALLED_PROBE);
    return false;
}
