/* hostile.c: an installable OpenCL driver that does at one place what no driver should do. The file's
 * name says where and what: "PLACE-ACT.so", so that one library, linked under many names, is many
 * drivers. What it does not spoil works: a platform with one device, as far as discovery needs it.
 *
 *   places   load, entry, platform, devices, device
 *   acts     null, abort, hang, exit-0, exit-3, exit-now, print, garbage, threads, fork; and nonsense
 *            of the place's own kind: nonsense-count, nonsense-null, nonsense-table, nonsense-size,
 *            nonsense-text, nonsense-version
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* OpenCL's constants and places in the table that this needs. */
enum {
    TABLE_SIZE = 160,
    PLATFORM_VERSION = 0x901,
    DEVICE_TYPE = 0x1000,
    DEVICE_ADDRESS_BITS = 0x100D,
    DEVICE_NAME = 0x102B,
    DEVICE_FIRST_TEXT = 0x102B,
    DEVICE_LAST_TEXT = 0x1030
};

typedef struct object {
    void *const *table;
} object;

static void *table[TABLE_SIZE];
static object platform = {table};
static object device = {table};
static object broken = {NULL};

/* ---- what to do where ---- */

/* "devices-hang" from this library's file name. */
static const char *plan(void)
{
    static char name[64];
    Dl_info info;
    if (name[0] == '\0' && dladdr(&platform, &info) != 0) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(name, sizeof name, "%s", slash != NULL ? slash + 1 : info.dli_fname);
        char *end = strstr(name, ".so");
        if (end != NULL)
            *end = '\0';
    }
    return name;
}

/* The act where it is for this place, else "". */
static const char *act_at(const char *place)
{
    const size_t size = strlen(place);
    const char *whole = plan();
    return strncmp(whole, place, size) == 0 && whole[size] == '-' ? whole + size + 1 : "";
}

static void *spin(void *user)
{
    while (user == NULL)
        usleep(1000);
    return NULL;
}

static void start_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, spin, NULL);
}

static void write_everywhere(void)
{
    static const char garbage[4096] = "ACCP";
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        if (write(descriptor, garbage, sizeof garbage) < 0)
            continue;
}

static void leave_child(void)
{
    if (fork() == 0) {
        alarm(20); /* never longer than the test */
        for (;;)
            pause();
    }
}

__attribute__((no_sanitize("undefined"))) static void do_it(const char *act)
{
    if (strcmp(act, "null") == 0)
        *(volatile int *)NULL = 1;
    if (strcmp(act, "abort") == 0)
        abort();
    while (strcmp(act, "hang") == 0)
        pause();
    if (strncmp(act, "exit-", 5) == 0 && act[5] != 'n')
        exit(act[5] - '0');
    if (strcmp(act, "exit-now") == 0)
        _exit(0);
    if (strcmp(act, "print") == 0) {
        printf("a driver speaks\n");
        fprintf(stderr, "and complains\n");
        fflush(NULL);
    }
    if (strcmp(act, "garbage") == 0)
        write_everywhere();
    if (strcmp(act, "threads") == 0)
        start_threads();
    if (strcmp(act, "fork") == 0)
        leave_child();
}

static int is_nonsense(const char *place, const char *kind)
{
    const char *act = act_at(place);
    return strncmp(act, "nonsense-", 9) == 0 && strcmp(act + 9, kind) == 0;
}

/* ---- the driver ---- */

static int give(const void *value, size_t size, size_t capacity, void *out, size_t *out_size)
{
    if (out_size != NULL)
        *out_size = size;
    if (out != NULL)
        memcpy(out, value, size < capacity ? size : capacity);
    return 0;
}

static int get_platform_info(object *of, unsigned what, size_t capacity, void *out,
                             size_t *out_size)
{
    const char *text = what != PLATFORM_VERSION                  ? "Hostile"
                       : is_nonsense("platform", "version") != 0 ? "\xff\xfeOpenCL 99999999999.x"
                                                                 : "OpenCL 1.2 hostile";
    (void)of;
    do_it(act_at("platform"));
    const int status = give(text, strlen(text) + 1, capacity, out, out_size);
    if (is_nonsense("platform", "size") && out_size != NULL)
        *out_size = SIZE_MAX / 2;
    return status;
}

static int get_devices(object *of, uint64_t kinds, unsigned capacity, object **out_devices,
                       unsigned *out_count)
{
    (void)of;
    (void)kinds;
    do_it(act_at("devices"));
    if (out_count != NULL)
        *out_count = is_nonsense("devices", "count") ? 1u << 31 : 1;
    if (out_devices != NULL && capacity != 0)
        out_devices[0] = is_nonsense("devices", "null") ? NULL : &device;
    return 0;
}

/* A text without an end, where that is asked for. */
static int give_device_text(size_t capacity, void *out, size_t *out_size)
{
    static const char text[] = "Hostile device";
    if (!is_nonsense("device", "text"))
        return give(text, sizeof text, capacity, out, out_size);
    if (out_size != NULL)
        *out_size = 100000;
    if (out != NULL)
        memset(out, 0xff, capacity);
    return 0;
}

static int get_device_info(object *of, unsigned what, size_t capacity, void *out, size_t *out_size)
{
    static const uint64_t numbers[16] = {1, 1, 1};
    const uint64_t number = what == DEVICE_TYPE ? 2 /* a CPU */ : 64;
    const bool is_plain = what != DEVICE_TYPE && what != DEVICE_ADDRESS_BITS;
    (void)of;
    do_it(act_at("device"));
    int status = 0;
    if (what >= DEVICE_FIRST_TEXT && what <= DEVICE_LAST_TEXT)
        status = give_device_text(capacity, out, out_size);
    else
        status = give(is_plain ? numbers : &number, capacity, capacity, out, out_size);
    if (is_nonsense("device", "size") && out_size != NULL)
        *out_size = SIZE_MAX / 2;
    return status;
}

static int refuse(void)
{
    return -59; /* CL_INVALID_OPERATION */
}

typedef int info_function(object *of, unsigned what, size_t capacity, void *out, size_t *out_size);
typedef int list_function(object *of, uint64_t kinds, unsigned capacity, object **out_devices,
                          unsigned *out_count);

static void fill_table(void)
{
    int (*const rest)(void) = refuse;
    info_function *const infos[] = {get_platform_info, get_device_info};
    list_function *const list = get_devices;
    for (int i = 0; i < TABLE_SIZE; i++)
        memcpy(&table[i], &rest, sizeof rest);
    memcpy(&table[1], &infos[0], sizeof infos[0]);
    memcpy(&table[2], &list, sizeof list);
    memcpy(&table[3], &infos[1], sizeof infos[1]);
}

EXPORTED int clIcdGetPlatformIDsKHR(unsigned capacity, object **out_platforms, unsigned *out_count)
{
    fill_table();
    do_it(act_at("entry"));
    if (out_count != NULL)
        *out_count = is_nonsense("entry", "count") ? 1u << 31 : 1;
    if (out_platforms != NULL && capacity != 0)
        out_platforms[0] = is_nonsense("entry", "null")    ? NULL
                           : is_nonsense("entry", "table") ? &broken
                                                           : &platform;
    return 0;
}

EXPORTED void *clGetExtensionFunctionAddress(const char *name)
{
    int (*const entry)(unsigned, object **, unsigned *) = clIcdGetPlatformIDsKHR;
    void *pointer = NULL;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        memcpy(&pointer, &entry, sizeof pointer);
    return pointer;
}

__attribute__((constructor)) static void load(void)
{
    do_it(act_at("load"));
}
