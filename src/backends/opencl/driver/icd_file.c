/* icd_file.c: see icd_file.h. A .icd file holds one line, the name of a library; files in the field end
 * it with a line feed, with CR LF, with blanks, or with nothing. Nothing here loads anything. */
#include "backends/opencl/driver/icd_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/environment.h"
#include "platform/trust.h"

#define PRIME UINT64_C(0x100000001b3)

enum { ICD_SIZE_MAX = 4096, LOADER_SIZE_MAX = 1 << 20 };

uint64_t accel__opencl_hash(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ at[i]) * PRIME;
    return seed;
}

/* What changes when a file is replaced or written to, or who may do so. */
static uint64_t hash_file(uint64_t seed, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return accel__opencl_hash(seed, "-", 1);
    const uint64_t words[] = {
        (uint64_t)facts.st_dev,          (uint64_t)facts.st_ino,
        (uint64_t)facts.st_size,         (uint64_t)facts.st_mtim.tv_sec,
        (uint64_t)facts.st_mtim.tv_nsec, (uint64_t)facts.st_mode << 32 | facts.st_uid};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        seed = (seed ^ words[i] ^ words[i] >> 32) * PRIME;
    return seed;
}

static void settle(accel_backend_driver *driver, accel_reason reason, const char *detail)
{
    driver->reason = reason;
    snprintf(driver->detail, sizeof driver->detail, "%.255s", detail);
}

/* ---- libraries ---- */

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool find_in(const char *folder, size_t folder_size, const char *library, char *path,
                    size_t capacity)
{
    const int size = snprintf(path, capacity, "%.*s/%s", (int)folder_size, folder, library);
    return size > 0 && (size_t)size < capacity && is_file(path);
}

static bool find_in_system(const char *library, char *path, size_t capacity)
{
    static const char *const parents[] = {"/usr/local/lib", "/lib", "/usr/lib"};
    static const char *const folders[] = {"/lib64", "/usr/lib64", "/usr/local/lib64",
                                          "/lib",   "/usr/lib",   "/usr/local/lib"};
    struct utsname machine;
    char folder[sizeof machine.machine + 32];
    for (size_t i = 0; uname(&machine) == 0 && i < sizeof parents / sizeof parents[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s-linux-gnu", parents[i], machine.machine);
        if (find_in(folder, strlen(folder), library, path, capacity))
            return true;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (find_in(folders[i], strlen(folders[i]), library, path, capacity))
            return true;
    return false;
}

/* Drivers run in this process with all its rights. */
static void check_trust(accel_backend_driver *driver, const char *path)
{
    char reason[200];
    char detail[256];
    if (accel__trust_path(path, reason, sizeof reason))
        return;
    snprintf(detail, sizeof detail, "not loaded: %s", reason);
    settle(driver, ACCEL_REASON_LIBRARY_UNUSABLE, detail);
    driver->key = accel__opencl_hash(driver->key, reason, strlen(reason)); /* until it is mended */
}

bool accel__opencl_find_library(const char *library, char *path, size_t capacity)
{
    if (strchr(library, '/') != NULL) {
        snprintf(path, capacity, "%s", library);
        return is_file(path);
    }
    const char *rest = accel__environment_path("LD_LIBRARY_PATH");
    while (rest != NULL && *rest != '\0') {
        const size_t size = strcspn(rest, ":;");
        if (size != 0 && find_in(rest, size, library, path, capacity))
            return true;
        rest += size + (rest[size] != '\0');
    }
    return find_in_system(library, path, capacity);
}

void accel__opencl_read_library(const char *library, accel_backend_driver *out_driver)
{
    char path[4096];
    *out_driver = (accel_backend_driver){.key = ACCEL__OPENCL_HASH_START};
    const int size = snprintf(out_driver->library, sizeof out_driver->library, "%s", library);
    if (size < 0 || (size_t)size >= sizeof out_driver->library) {
        settle(out_driver, ACCEL_REASON_LIBRARY_UNUSABLE, "its name is too long");
        return;
    }
    const bool found = accel__opencl_find_library(library, path, sizeof path);
    if (found) {
        out_driver->key = hash_file(out_driver->key, path);
        check_trust(out_driver, path);
    } else if (strchr(library, '/') != NULL)
        settle(out_driver, ACCEL_REASON_LIBRARY_MISSING, "there is no such file");
    else /* the loader knows more places than we: the helper will tell */
        out_driver->key = hash_file(out_driver->key, "/etc/ld.so.cache");
    out_driver->key = accel__opencl_hash(out_driver->key, library, strlen(library));
}

/* Both loaders in use read this variable, so they hold its name; no driver does. */
bool accel__opencl_is_loader(const char *path)
{
    static const char mark[] = "OCL_ICD_VENDORS";
    struct stat facts;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_loader = false;
    if (descriptor < 0)
        return false;
    if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
        facts.st_size <= LOADER_SIZE_MAX) {
        const size_t size = (size_t)facts.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        is_loader = bytes != MAP_FAILED && memmem(bytes, size, mark, sizeof mark - 1) != NULL;
        if (bytes != MAP_FAILED)
            munmap(bytes, size);
    }
    close(descriptor);
    return is_loader;
}

/* ---- .icd files ---- */

/* The file's text; *out_size is more than ICD_SIZE_MAX where it is longer. 0, or errno's value. */
static int read_file(const char *path, char text[ICD_SIZE_MAX + 2], size_t *out_size)
{
    *out_size = 0;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return errno;
    ssize_t count = 1;
    while (count > 0 && *out_size <= ICD_SIZE_MAX) {
        count = read(descriptor, text + *out_size, ICD_SIZE_MAX + 1 - *out_size);
        *out_size += count > 0 ? (size_t)count : 0;
    }
    const int code = count < 0 ? errno : 0;
    close(descriptor);
    text[*out_size] = '\0';
    return code;
}

/* The first line that is not blank, without the blanks around it. */
static char *first_line(char *text)
{
    static const char blanks[] = " \t\r\n\v\f";
    text += strspn(text, blanks);
    text[strcspn(text, "\r\n")] = '\0';
    size_t size = strlen(text);
    while (size != 0 && strchr(blanks, text[size - 1]) != NULL)
        text[--size] = '\0';
    return text;
}

static void read_text(char *text, size_t size, accel_backend_driver *driver)
{
    if (size > ICD_SIZE_MAX) {
        settle(driver, ACCEL_REASON_LIBRARY_UNUSABLE, "the file is no list of one library");
        return;
    }
    if (strlen(text) != size) {
        settle(driver, ACCEL_REASON_LIBRARY_UNUSABLE, "the file has a zero byte in it");
        return;
    }
    const char *library = first_line(text);
    if (*library == '\0') {
        settle(driver, ACCEL_REASON_LIBRARY_MISSING, "the file names no library");
        return;
    }
    accel__opencl_read_library(library, driver);
    /* Such a name would mean another library in each working directory. */
    if (strchr(library, '/') != NULL && *library != '/')
        settle(driver, ACCEL_REASON_LIBRARY_UNUSABLE,
               "the file names a library by a path that does not begin with /");
}

bool accel__opencl_read_icd(const char *path, accel_backend_driver *out_driver)
{
    char text[ICD_SIZE_MAX + 2];
    char reason[128];
    size_t size = 0;
    *out_driver = (accel_backend_driver){.key = ACCEL__OPENCL_HASH_START};
    if (!is_file(path))
        return false;
    const int code = read_file(path, text, &size);
    if (code == 0) {
        read_text(text, size, out_driver);
        check_trust(out_driver, path);
    } else
        settle(out_driver, code == EACCES ? ACCEL_REASON_PERMISSION : ACCEL_REASON_LIBRARY_UNUSABLE,
               strerror_r(code, reason, sizeof reason));
    out_driver->key = hash_file(out_driver->key, path);
    snprintf(out_driver->source, sizeof out_driver->source, "%s", path);
    return true;
}
