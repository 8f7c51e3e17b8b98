/* library.c: see library.h.
 *
 * The bytes go into an anonymous memory file, or where that is refused or not executable into a file
 * that is removed again after loading; what was checked is thereby what is loaded, and nobody can change
 * it in between.
 *
 * Invariant: no path is given to dlopen twice in a process. The C library takes an object whose path
 * it has seen for the one it has loaded, and descriptor numbers come again. */
#include "platform/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "platform/calls.h"
#include "platform/loader.h"
#include "platform/scratch.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* since Linux 6.3: asks for what was the rule before */
#endif

static _Atomic(uint64_t) load_count;

/* ---- checking ---- */

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { MACHINE = EM_RISCV };
#else
enum { MACHINE = 0 }; /* left to the loader */
#endif

static bool inside(uint64_t offset, uint64_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

/* The header is whole and of this machine. */
static const char *header_fault(const ElfW(Ehdr) * header)
{
    enum { OWN_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };
    enum { OWN_ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB };
    if (header->e_ident[EI_CLASS] != OWN_CLASS || header->e_ident[EI_DATA] != OWN_ORDER ||
        (MACHINE != 0 && header->e_machine != MACHINE))
        return "it was built for another kind of machine";
    if (header->e_type != ET_DYN)
        return "it is an ELF file, but no shared object";
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum == 0)
        return "its ELF header is damaged";
    return NULL;
}

static const char *segments_fault(const unsigned char *bytes, const ElfW(Ehdr) * header,
                                  size_t size)
{
    bool loads = false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment; /* copied: nothing says that the offset is aligned */
        memcpy(&segment, bytes + header->e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD)
            loads = true;
        if (segment.p_type != PT_NULL && !inside(segment.p_offset, segment.p_filesz, size))
            return "it is cut off: a segment ends behind its end";
    }
    return loads ? NULL : "it has nothing to load";
}

static const char *object_fault(const void *object, size_t size)
{
    ElfW(Ehdr) header;
    if (size < SELFMAG || memcmp(object, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    if (size < sizeof header)
        return "it is cut off inside its header";
    memcpy(&header, object, sizeof header);
    const char *fault = header_fault(&header);
    if (fault != NULL)
        return fault;
    if (!inside(header.e_phoff, header.e_phnum * (uint64_t)header.e_phentsize, size) ||
        (header.e_shoff != 0 &&
         !inside(header.e_shoff, header.e_shnum * (uint64_t)header.e_shentsize, size)))
        return "it is cut off: one of its tables ends behind its end";
    return segments_fault(object, &header, size);
}

bool accel__library_check(const void *object, size_t size, const char **out_reason)
{
    const char *fault = object_fault(object, size);
    *out_reason = fault != NULL ? fault : "";
    return fault == NULL;
}

/* ---- the file to load from ---- */

/* Some systems forbid code from such a file (noexec mounts, hardening). */
static bool is_executable(int descriptor)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = accel__platform.map(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
    if (page == MAP_FAILED)
        return false;
    accel__platform.unmap(page, size);
    return true;
}

static int make_memory_file(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int descriptor = accel__platform.memory_file("accel-kernel", flags | MFD_EXEC);
    if (descriptor >= 0 || errno != EINVAL)
        return descriptor;
    return accel__platform.memory_file("accel-kernel", flags);
}

/* A descriptor with the bytes, sealed; -1 where that is not to be had here. */
static int fill_memory_file(const void *object, size_t size)
{
    const int descriptor = make_memory_file();
    if (descriptor < 0)
        return -1;
    if (accel__write_all(descriptor, object, size) == 0 &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) ==
            0 &&
        is_executable(descriptor))
        return descriptor;
    close(descriptor);
    return -1;
}

/* The descriptor's path in a spelling that no other number has: its binary digits as "./" and ".//". */
static bool name_descriptor(int descriptor, uint64_t number, char *path, size_t capacity)
{
    size_t used = (size_t)snprintf(path, capacity, "/proc/self/fd/");
    for (; number != 0 && used + 4 < capacity; number >>= 1)
        used += (size_t)snprintf(path + used, capacity - used, "%s", number & 1u ? ".//" : "./");
    const int size = snprintf(path + used, capacity - used, "%d", descriptor);
    return number == 0 && size > 0 && (size_t)size < capacity - used && access(path, R_OK) == 0;
}

/* ---- loading ---- */

static accel_status open_path(const char *path, void **out_library, char *reason, size_t capacity)
{
    accel__loader_enter();
    *out_library = accel__platform.library_open(path, RTLD_NOW | RTLD_LOCAL);
    accel__loader_leave();
    if (*out_library != NULL)
        return ACCEL_OK;
    const char *text = dlerror();
    snprintf(reason, capacity, "the loader refuses it: %s",
             text != NULL ? text : "no reason given");
    return ACCEL_ERROR_INVALID_ARGUMENT;
}

static void explain(char *reason, size_t capacity, const char *parent, int code)
{
    char text[128] = "";
    /* GNU strerror_r may return a static string instead of filling the buffer. */
    snprintf(reason, capacity, "no file to load it from can be made in %s: %s", parent,
             code != 0 ? strerror_r(code, text, sizeof text) : "code in it may not be run");
}

/* Tries one directory. False: it cannot be used, `reason` says why; else *out_status is the outcome. */
static bool load_from_directory(const char *parent, const void *object, size_t size,
                                void **out_library, accel_status *out_status, char *reason,
                                size_t capacity)
{
    accel__scratch scratch;
    int code = accel__scratch_create(&scratch, parent);
    if (code != 0) {
        explain(reason, capacity, parent, code);
        return false;
    }
    char name[32];
    char path[sizeof scratch.path + sizeof name];
    snprintf(name, sizeof name, "%llu.so", (unsigned long long)atomic_fetch_add(&load_count, 1));
    accel__scratch_path(&scratch, name, path, sizeof path);
    code = accel__write_file(path, 0700, object, size);
    const int descriptor = code == 0 ? accel__platform.open(path, O_RDONLY, 0) : -1;
    const bool usable = descriptor >= 0 && is_executable(descriptor);
    if (usable)
        *out_status = open_path(path, out_library, reason, capacity);
    else
        explain(reason, capacity, parent, code);
    if (descriptor >= 0)
        close(descriptor);
    accel__scratch_remove(&scratch);
    return usable;
}

static accel_status load_from_file(const void *object, size_t size, void **out_library,
                                   char *reason, size_t capacity)
{
    const char *wanted = accel__environment_path("TMPDIR");
    const char *const parents[] = {wanted != NULL ? wanted : "/tmp", "/tmp", "/var/tmp",
                                   "/dev/shm"};
    accel_status status = ACCEL_ERROR_SYSTEM;
    for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++)
        if (load_from_directory(parents[i], object, size, out_library, &status, reason, capacity))
            return status;
    return ACCEL_ERROR_SYSTEM;
}

accel_status accel__library_load(const void *object, size_t size, void **out_library, char *reason,
                                 size_t reason_capacity)
{
    *out_library = NULL;
    const char *fault = object_fault(object, size);
    if (fault != NULL) {
        snprintf(reason, reason_capacity, "%s", fault);
        return ACCEL_ERROR_INVALID_ARGUMENT;
    }
    char path[256];
    const int descriptor = fill_memory_file(object, size);
    if (descriptor < 0)
        return load_from_file(object, size, out_library, reason, reason_capacity);
    accel_status status;
    if (name_descriptor(descriptor, atomic_fetch_add(&load_count, 1), path, sizeof path))
        status = open_path(path, out_library, reason, reason_capacity);
    else
        status = load_from_file(object, size, out_library, reason, reason_capacity);
    close(descriptor);
    return status;
}

void *accel__library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void accel__library_unload(void *library)
{
    accel__loader_enter();
    dlclose(library);
    accel__loader_leave();
}
