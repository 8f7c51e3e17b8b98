/* icd.c: see icd.h. Which drivers there are, by the rules of the two loaders in use, Khronos' and
 * ocl-icd:
 *
 *   OCL_ICD_FILENAMES   libraries, separated by colons; they come first
 *   OCL_ICD_VENDORS     a directory: its *.icd files; a name ending in .icd: that file (a name without
 *                       slash is looked for in the default directory first); else a library
 *   OPENCL_VENDOR_PATH  a directory in place of /etc/OpenCL/vendors; OCL_ICD_VENDORS comes before it
 *
 * An implementation that is preloaded (oclgrind does that) replaces all drivers, as it does for other
 * programs; and where no driver is named, a libOpenCL.so.1 that is no loader is taken for one. */
#include "backends/opencl/driver/icd.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/opencl/driver/icd_file.h"
#include "base/environment.h"

static const char default_folder[] = "/etc/OpenCL/vendors";

/* What is being listed. */
typedef struct listing {
    accel_backend_driver *drivers;
    uint32_t capacity;
    uint32_t count; /* may be more than the capacity */
} listing;

/* ---- the stamp ---- */

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether drivers or loaders of OpenCL may read that variable. Called for each variable at each
 * question: most are told apart by their first letter. */
static bool matters(const char *variable)
{
    switch (variable[0]) {
    case 'A':
        return begins_with(variable, "ACCEL_OPENCL_");
    case 'C':
        return begins_with(variable, "CUDA_");
    case 'G':
        return begins_with(variable, "GPU_");
    case 'H':
        return begins_with(variable, "HIP_");
    case 'L':
        return begins_with(variable, "LD_");
    case 'O':
        return begins_with(variable, "OCL_") || begins_with(variable, "OPENCL_") ||
               begins_with(variable, "OCLGRIND_");
    case 'P':
        return begins_with(variable, "POCL_");
    case 'R':
        return begins_with(variable, "RUSTICL_") || begins_with(variable, "ROCR_");
    case 'Z':
        return begins_with(variable, "ZE_");
    default:
        return false;
    }
}

/* One pass over the environment is cheaper than asking for each variable; sums do not depend on the
 * order. */
uint64_t accel__opencl_stamp(void)
{
    uint64_t sum = 0;
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (matters(*at))
            sum += accel__opencl_hash(ACCEL__OPENCL_HASH_START, *at, strlen(*at));
    return sum;
}

/* ---- names ---- */

static bool name_is_taken(const listing *made, const char *name)
{
    for (uint32_t i = 0; i < made->count && i < made->capacity; i++)
        if (strcmp(made->drivers[i].name, name) == 0)
            return true;
    return false;
}

/* "pocl" from "/etc/OpenCL/vendors/pocl.icd" or from "libpocl.so.2"; a number behind it where there is
 * one of that name already. */
static void name_driver(const listing *made, accel_backend_driver *driver)
{
    const char *path = driver->source[0] != '\0' ? driver->source : driver->library;
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char stem[48];
    if (driver->source[0] == '\0' && strncmp(base, "lib", 3) == 0 && base[3] != '\0')
        base += 3;
    size_t size = strcspn(base, ".");
    size = size < sizeof stem - 1 ? size : sizeof stem - 1;
    for (size_t i = 0; i < size; i++)
        stem[i] = strchr(" \t:,/\"'", base[i]) != NULL || (unsigned char)base[i] < ' ' ? '_'
                                                                                       : base[i];
    stem[size] = '\0';
    snprintf(driver->name, sizeof driver->name, "%s", size != 0 ? stem : "driver");
    for (unsigned number = 2; name_is_taken(made, driver->name); number++)
        snprintf(driver->name, sizeof driver->name, "%s-%u", size != 0 ? stem : "driver", number);
}

static bool is_same_library(const char *one, const char *other)
{
    char path[4096];
    struct stat facts;
    struct stat other_facts;
    if (strcmp(one, other) == 0)
        return true;
    return accel__opencl_find_library(one, path, sizeof path) && stat(path, &facts) == 0 &&
           accel__opencl_find_library(other, path, sizeof path) && stat(path, &other_facts) == 0 &&
           facts.st_ino == other_facts.st_ino && facts.st_dev == other_facts.st_dev;
}

/* Two files may name one library, also by two of its names: it is asked once. */
static bool is_listed(const listing *made, const accel_backend_driver *driver)
{
    for (uint32_t i = 0; i < made->count && i < made->capacity; i++)
        if (driver->library[0] != '\0' &&
            is_same_library(made->drivers[i].library, driver->library))
            return true;
    return false;
}

static void add(listing *made, accel_backend_driver *driver)
{
    if (is_listed(made, driver))
        return;
    name_driver(made, driver);
    if (made->count < made->capacity)
        made->drivers[made->count] = *driver;
    made->count++;
}

/* ---- sources ---- */

static void add_library(listing *made, const char *library)
{
    accel_backend_driver driver;
    accel__opencl_read_library(library, &driver);
    add(made, &driver);
}

static bool add_icd(listing *made, const char *path)
{
    accel_backend_driver driver;
    if (!accel__opencl_read_icd(path, &driver))
        return false;
    add(made, &driver);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text);
    const size_t end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

enum { NAME_SIZE = sizeof((struct dirent *)0)->d_name };

/* Of the .icd files that come behind `after` in the order of names the first, "" where there is none. A
 * pass through the folder for each file is dearer than sorting, and takes no memory. */
static void find_next(DIR *folder, const char *after, char next[NAME_SIZE])
{
    next[0] = '\0';
    rewinddir(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && ends_with(entry->d_name, ".icd") &&
            strcmp(entry->d_name, after) > 0 &&
            (next[0] == '\0' || strcmp(entry->d_name, next) < 0))
            snprintf(next, NAME_SIZE, "%s", entry->d_name);
}

static void fail_folder(const char *folder, int code, accel_backend_probe *out_probe)
{
    char text[128];
    out_probe->cannot_tell = code != ENOENT && code != ENOTDIR;
    snprintf(out_probe->reason, sizeof out_probe->reason, "no OpenCL driver: %.100s: %s", folder,
             strerror_r(code, text, sizeof text));
}

/* In the order of the names, so that devices have the same numbers each time. */
static void add_folder(listing *made, const char *folder, accel_backend_probe *out_probe)
{
    char name[NAME_SIZE] = "";
    char next[NAME_SIZE];
    char path[4096];
    DIR *opened = opendir(folder);
    if (opened == NULL) {
        fail_folder(folder, errno, out_probe);
        return;
    }
    for (find_next(opened, name, next); next[0] != '\0'; find_next(opened, name, next)) {
        memcpy(name, next, sizeof name);
        const int size = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (size > 0 && (size_t)size < sizeof path)
            add_icd(made, path);
    }
    closedir(opened);
    if (made->count == 0)
        snprintf(out_probe->reason, sizeof out_probe->reason,
                 "no OpenCL driver: there is no .icd file in %.150s", folder);
}

/* Libraries separated by any of `separators`; only those that `accept` takes. */
static void add_list(listing *made, const char *list, const char *separators,
                     bool (*accept)(const char *library))
{
    char library[sizeof made->drivers->library + 1];
    while (list != NULL && *list != '\0') {
        const size_t size = strcspn(list, separators);
        snprintf(library, sizeof library, "%.*s", (int)(size < 4096 ? size : 4096), list);
        if (size != 0 && (accept == NULL || accept(library)))
            add_library(made, library);
        list += size + (list[size] != '\0');
    }
}

static bool is_preloaded_implementation(const char *library)
{
    const char *slash = strrchr(library, '/');
    const char *base = slash != NULL ? slash + 1 : library;
    return strncmp(base, "libOpenCL.so", 12) == 0 || strncmp(base, "liboclgrind-rt", 14) == 0;
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static void add_vendors(listing *made, const char *vendors, const char *standard,
                        accel_backend_probe *out_probe)
{
    char path[4096];
    if (is_folder(vendors) || (!ends_with(vendors, ".icd") && strstr(vendors, ".so") == NULL)) {
        add_folder(made, vendors, out_probe);
        return;
    }
    if (!ends_with(vendors, ".icd")) {
        add_library(made, vendors);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", standard, vendors);
    if ((strchr(vendors, '/') == NULL && add_icd(made, path)) || add_icd(made, vendors))
        return;
    snprintf(out_probe->reason, sizeof out_probe->reason,
             "no OpenCL driver: OCL_ICD_VENDORS names %.150s, which is not there", vendors);
}

/* A system whose libOpenCL.so.1 is the driver. */
static void add_implementation(listing *made)
{
    char path[4096];
    if (accel__opencl_find_library("libOpenCL.so.1", path, sizeof path) &&
        !accel__opencl_is_loader(path))
        add_library(made, path);
}

uint32_t accel__opencl_list(accel_backend_driver *out_drivers, uint32_t capacity,
                            accel_backend_probe *out_probe)
{
    listing made = {.drivers = out_drivers, .capacity = capacity};
    const char *vendors = accel__environment_path("OCL_ICD_VENDORS");
    const char *standard = accel__environment_path("OPENCL_VENDOR_PATH");
    standard = standard != NULL ? standard : default_folder;
    add_list(&made, accel__environment_path("LD_PRELOAD"), " :", is_preloaded_implementation);
    if (made.count != 0)
        return made.count;
    add_list(&made, accel__environment_path("OCL_ICD_FILENAMES"), ":", NULL);
    if (vendors != NULL)
        add_vendors(&made, vendors, standard, out_probe);
    else
        add_folder(&made, standard, out_probe);
    if (made.count == 0)
        add_implementation(&made);
    if (made.count != 0 && !out_probe->cannot_tell) /* what was missing does not matter then */
        out_probe->reason[0] = '\0';
    return made.count;
}
