/* library.c: see library.h. An installable driver is spoken to through the dispatch table that each of
 * its platforms begins with, so that no loader and no other driver has a part in it; a library that is
 * an implementation by itself (it has no clIcdGetPlatformIDsKHR) through its exported functions.
 * Runs in the helper, and at the start of the backend; everything a driver says is doubted. */
#include "backends/opencl/driver/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/device.h"
#include "base/allocate.h"
#include "base/error.h"
#include "platform/calls.h"
#include "platform/loader.h"

enum { TEXT_MAX = 1 << 20, VERSION_LEAST = 12 };

typedef cl_int (*get_platforms)(cl_uint, cl_platform_id *, cl_uint *);
typedef void (*any_function)(void);

static const char function[] = "OpenCL driver";

/* ---- loading ---- */

static accel_status fail_load(const char *library)
{
    const char *text = dlerror();
    text = text != NULL ? text : "no reason given";
    const size_t size = strlen(library);
    /* "libx.so: cannot open shared object file" begins with the name of what is missing: the library
     * itself, or another one that it needs. */
    const bool missing = strncmp(text, library, size) == 0 && strstr(text, "No such file") != NULL;
    return accel__fail(missing ? ACCEL_ERROR_NOT_FOUND : ACCEL_ERROR_UNSUPPORTED, "opencl",
                       function, "%s", text);
}

/* dlsym's and OpenCL's object pointers are functions here, which ISO C has no cast for. */
static any_function as_function(void *pointer)
{
    any_function made;
    memcpy(&made, &pointer, sizeof made);
    return made;
}

/* NULL: the library is no installable driver. */
static get_platforms find_icd_entry(void *handle)
{
    static const char name[] = "clIcdGetPlatformIDsKHR";
    void *(*ask)(const char *) = (void *(*)(const char *))as_function(
        dlsym(handle, "clGetExtensionFunctionAddress"));
    void *found = ask != NULL ? ask(name) : NULL;
    if (found == NULL)
        found = dlsym(handle, name);
    return (get_platforms)as_function(found);
}

/* ---- functions of a platform ---- */

/* Where each function stands. */
typedef struct slot {
    const char *name;
    size_t place;
    int version;
    size_t offset;
} slot;

static const slot slots[] = {
#define SLOT(name, place, version, result, parameters)                                             \
    {#name, place, version, offsetof(accel__opencl_api, name)},
    ACCEL__OPENCL_FUNCTIONS(SLOT)};

static const slot usm_slots[] = {ACCEL__OPENCL_USM_FUNCTIONS(SLOT)};
#undef SLOT

enum { SLOT_COUNT = sizeof slots / sizeof slots[0], USM_COUNT = sizeof usm_slots / sizeof(slot) };

static void store(accel__opencl_api *api, const slot *which, void *pointer)
{
    memcpy((char *)api + which->offset, &pointer, sizeof pointer);
}

/* The function of one slot: from the table (an array of pointers), or exported by the library. */
static void *look_up(void *handle, void *const *table, const slot *which)
{
    return table != NULL ? table[which->place] : dlsym(handle, which->name);
}

/* Fills in what OpenCL up to `version` has. A table of an older driver ends before newer functions: they
 * must not even be read. */
static accel_status fill_api(accel__opencl_api *api, void *handle, void *const *table, int version)
{
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        if (slots[i].version > version)
            continue;
        void *found = look_up(handle, table, &slots[i]);
        store(api, &slots[i], found);
        if (found == NULL && slots[i].version <= VERSION_LEAST)
            return accel__fail(ACCEL_ERROR_UNSUPPORTED, "opencl", function,
                               "the driver lacks the function %s", slots[i].name);
    }
    return ACCEL_OK;
}

static void fill_usm(accel__opencl_platform *platform)
{
    for (size_t i = 0; i < USM_COUNT; i++)
        store(&platform->api, &usm_slots[i],
              platform->api.clGetExtensionFunctionAddressForPlatform(platform->id,
                                                                     usm_slots[i].name));
}

/* ---- texts ---- */

/* Keeps a driver's text fit for a terminal and for JSON: control characters become blanks, and blanks
 * at its ends go. Cut at a UTF-8 boundary. */
static void tidy(const char *text, char *buffer, size_t capacity)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t size = strnlen(text, capacity - 1);
    while (size != 0 && text[size] != '\0' && ((unsigned char)text[size] & 0xc0u) == 0x80u)
        size--;
    for (size_t i = 0; i < size; i++)
        buffer[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    while (size != 0 && buffer[size - 1] == ' ')
        size--;
    buffer[size] = '\0';
}

/* What has texts: a device, or where that is NULL a platform. */
typedef struct text_owner {
    cl_device_id device;
    cl_platform_id platform;
} text_owner;

static cl_int ask_text(const accel__opencl_api *api, text_owner owner, cl_uint what, size_t size,
                       char *text, size_t *out_size)
{
    return owner.device != NULL
               ? api->clGetDeviceInfo(owner.device, what, size, text, out_size)
               : api->clGetPlatformInfo(owner.platform, what, size, text, out_size);
}

/* The whole text, to be freed. */
static accel_status get_text(const accel__opencl_api *api, text_owner owner, cl_uint what,
                             char **out_text)
{
    const char *call = owner.device != NULL ? "clGetDeviceInfo" : "clGetPlatformInfo";
    size_t size = 0;
    cl_int code = ask_text(api, owner, what, 0, NULL, &size);
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, call);
    if (size > TEXT_MAX)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "opencl", function,
                           "%s says that a text has %zu bytes", call, size);
    char *text = accel__allocate(size + 1);
    if (text == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                           "no memory for a text");
    code = size != 0 ? ask_text(api, owner, what, size, text, NULL) : CL_SUCCESS;
    if (code == CL_SUCCESS) {
        *out_text = text;
        return ACCEL_OK;
    }
    accel__deallocate(text);
    return accel__opencl_fail(code, call);
}

/* The text, tidied; "" where it cannot be had. */
static accel_status read_text(const accel__opencl_api *api, text_owner owner, cl_uint what,
                              char *buffer, size_t capacity)
{
    char *text = NULL;
    const accel_status status = get_text(api, owner, what, &text);
    tidy(text != NULL ? text : "", buffer, capacity);
    accel__deallocate(text);
    return status;
}

accel_status accel__opencl_read_text(const accel__opencl_api *api, cl_device_id device,
                                     cl_uint what, char *buffer, size_t capacity)
{
    return read_text(api, (text_owner){.device = device}, what, buffer, capacity);
}

accel_status accel__opencl_find_extension(const accel__opencl_api *api, cl_device_id device,
                                          const char *name, bool *out_found)
{
    char *all = NULL;
    char *rest = NULL;
    *out_found = false;
    const accel_status status = get_text(api, (text_owner){.device = device}, CL_DEVICE_EXTENSIONS,
                                         &all);
    for (char *word = status == ACCEL_OK ? strtok_r(all, " ", &rest) : NULL;
         word != NULL && !*out_found; word = strtok_r(NULL, " ", &rest))
        *out_found = strcmp(word, name) == 0;
    accel__deallocate(all);
    return status;
}

/* ---- platforms ---- */

/* "OpenCL 3.0 PoCL …" gives 30; 0 for anything else. */
static int parse_version(const char *text)
{
    int major = 0;
    int minor = 0;
    if (sscanf(text, "OpenCL %d.%d", &major, &minor) != 2 || major < 1 || major > 99 || minor < 0 ||
        minor > 9)
        return 0;
    return major * 10 + minor;
}

static accel_status list_devices(accel__opencl_platform *platform)
{
    static const char call[] = "clGetDeviceIDs";
    const cl_bitfield kinds = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
    cl_uint count = 0;
    cl_int code = platform->api.clGetDeviceIDs(platform->id, kinds, 0, NULL, &count);
    if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0))
        return ACCEL_OK;
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, call);
    if (count > ACCEL__OPENCL_DEVICE_MAX)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "opencl", function,
                           "the driver says that it has %u devices", count);
    code = platform->api.clGetDeviceIDs(platform->id, kinds, count, platform->devices, NULL);
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, call);
    platform->device_count = count;
    for (cl_uint i = 0; i < count; i++)
        if (platform->devices[i] == NULL)
            return accel__fail(ACCEL_ERROR_INTERNAL, "opencl", function,
                               "the driver's device %u is NULL", i);
    return ACCEL_OK;
}

/* *out_usable: it is new enough for us. */
static accel_status open_platform(void *handle, bool is_icd, cl_platform_id id,
                                  accel__opencl_platform *platform, bool *out_usable)
{
    char version[128];
    *out_usable = false;
    void *const *table = NULL;
    if (id != NULL && is_icd)
        memcpy(&table, id, sizeof table);
    if (id == NULL || (is_icd && table == NULL))
        return accel__fail(ACCEL_ERROR_INTERNAL, "opencl", function,
                           "a platform of the driver is NULL or has no functions");
    *platform = (accel__opencl_platform){.id = id};
    store(&platform->api, &slots[1], look_up(handle, table, &slots[1]));
    if (platform->api.clGetPlatformInfo == NULL)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, "opencl", function,
                           "the driver lacks the function clGetPlatformInfo");
    accel_status status = read_text(&platform->api, (text_owner){.platform = id},
                                    CL_PLATFORM_VERSION, version, sizeof version);
    if (status != ACCEL_OK)
        return status;
    platform->version = parse_version(version);
    if (platform->version < VERSION_LEAST)
        return ACCEL_OK;
    *out_usable = true;
    status = fill_api(&platform->api, handle, table, platform->version);
    if (status == ACCEL_OK)
        status = read_text(&platform->api, (text_owner){.platform = id}, CL_PLATFORM_NAME,
                           platform->name, sizeof platform->name);
    if (status == ACCEL_OK)
        fill_usm(platform);
    return status == ACCEL_OK ? list_devices(platform) : status;
}

/* Asks for the platforms' numbers; none is no failure. */
static accel_status list_platforms(get_platforms ask, cl_platform_id ids[], cl_uint *out_count)
{
    static const char call[] = "clGetPlatformIDs";
    cl_uint count = 0;
    cl_int code = ask(0, NULL, &count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0))
        return ACCEL_OK;
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, call);
    if (count > ACCEL__OPENCL_PLATFORM_MAX)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "opencl", function,
                           "the driver says that it has %u platforms", count);
    code = ask(count, ids, NULL);
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, call);
    *out_count = count;
    return ACCEL_OK;
}

static accel_status open_platforms(void *handle, bool is_icd, const cl_platform_id ids[],
                                   cl_uint count, accel__opencl_platform *platforms,
                                   cl_uint *out_count)
{
    for (cl_uint i = 0; i < count; i++) {
        bool usable = false;
        const accel_status status = open_platform(handle, is_icd, ids[i], &platforms[*out_count],
                                                  &usable);
        if (status != ACCEL_OK)
            return status;
        *out_count += usable ? 1 : 0;
    }
    return ACCEL_OK;
}

accel_status accel__opencl_load_library(const char *library, accel__opencl_platform **out_platforms,
                                        cl_uint *out_count)
{
    cl_platform_id ids[ACCEL__OPENCL_PLATFORM_MAX] = {NULL};
    cl_uint count = 0;
    *out_platforms = NULL;
    *out_count = 0;
    accel__loader_enter();
    void *handle = accel__platform.library_open(library, RTLD_NOW | RTLD_LOCAL);
    accel__loader_leave();
    if (handle == NULL)
        return fail_load(library);
    get_platforms ask = find_icd_entry(handle);
    const bool is_icd = ask != NULL;
    if (!is_icd)
        ask = (get_platforms)as_function(dlsym(handle, "clGetPlatformIDs"));
    if (ask == NULL)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, "opencl", function,
                           "%s is no OpenCL driver: it lacks clIcdGetPlatformIDsKHR", library);
    accel_status status = list_platforms(ask, ids, &count);
    if (status != ACCEL_OK)
        return status;
    accel__opencl_platform *platforms = accel__allocate_array(count, sizeof *platforms);
    if (platforms == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                           "no memory for the platforms of %s", library);
    status = open_platforms(handle, is_icd, ids, count, platforms, out_count);
    if (status == ACCEL_OK) {
        *out_platforms = platforms;
        return ACCEL_OK;
    }
    *out_count = 0;
    accel__deallocate(platforms);
    return status;
}
