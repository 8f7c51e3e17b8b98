/* double.c: the platform, its device, and the table of functions. See double.h. */
#include "double.h"

#include <unistd.h>

static atomic_int alive;
static object platform = {double_table, 1};
void *double_table[DOUBLE_TABLE_SIZE];
object double_device = {double_table, 1};

/* For a test, which finds it with dlsym: how many objects there are. */
__attribute__((visibility("default"))) int opencl_double_alive(void);

int opencl_double_alive(void)
{
    return alive;
}

void double_count(int change)
{
    alive += change;
}

static int find_word(const char *all, const char *word, int fallback)
{
    const size_t size = strlen(word);
    for (const char *at = all != NULL ? strstr(all, word) : NULL; at != NULL;
         at = strstr(at + 1, word))
        if ((at == all || at[-1] == ' ') &&
            (at[size] == '=' || at[size] == ' ' || at[size] == '\0'))
            return at[size] == '=' ? atoi(at + size + 1) : 1;
    return fallback;
}

int double_knob(const char *word, int fallback)
{
    return find_word(getenv("DOUBLE_UNSEEN"), word,
                     find_word(getenv("OPENCL_DOUBLE"), word, fallback));
}

/* ---- the driver's end ---- */

static atomic_bool has_ended;
static atomic_bool has_handler;
static pthread_key_t caller; /* of each thread that has called */
static atomic_int threads_ended;

__attribute__((visibility("default"))) int opencl_double_threads_ended(void);

int opencl_double_threads_ended(void)
{
    return threads_ended;
}

static void thread_ends(void *value)
{
    (void)value;
    threads_ended++;
}

static void end(void)
{
    has_ended = true;
}

static void begin(void)
{
    if (double_knob("exit-handler", 0) == 0 || pthread_key_create(&caller, thread_ends) != 0)
        return;
    has_handler = atexit(end) == 0;
}

void double_called(void)
{
    if (!has_handler)
        return;
    if (has_ended)
        _exit(DOUBLE_CALLED_LATE);
    pthread_setspecific(caller, &has_ended);
}

void *double_make(size_t size)
{
    object *made = calloc(1, size);
    if (made == NULL)
        abort();
    made->table = double_table;
    made->references = 1;
    alive++;
    return made;
}

bool double_let_go(void *of)
{
    double_called();
    return --((object *)of)->references == 0;
}

void double_destroy(void *of)
{
    alive--;
    free(of);
}

cl_int double_give(const void *value, size_t size, size_t capacity, void *out, size_t *out_size)
{
    if (out_size != NULL)
        *out_size = size;
    if (out == NULL)
        return CL_SUCCESS;
    if (capacity < size)
        return CL_INVALID_VALUE;
    memcpy(out, value, size);
    return CL_SUCCESS;
}

cl_int double_give_text(const char *text, size_t capacity, void *out, size_t *out_size)
{
    return double_give(text, strlen(text) + 1, capacity, out, out_size);
}

/* ---- platform and device ---- */

cl_int double_clGetPlatformIDs(cl_uint capacity, cl_platform_id *out, cl_uint *out_count)
{
    FAIL();
    if (out_count != NULL)
        *out_count = 1;
    if (out != NULL && capacity > 0)
        out[0] = (cl_platform_id)&platform;
    return CL_SUCCESS;
}

cl_int double_clGetPlatformInfo(cl_platform_id of, cl_uint what, size_t capacity, void *out,
                                size_t *out_size)
{
    (void)of;
    FAIL();
    return double_give_text(what == CL_PLATFORM_VERSION ? "OpenCL 3.0 double" : "double", capacity,
                            out, out_size);
}

cl_int double_clGetDeviceIDs(cl_platform_id of, cl_bitfield kinds, cl_uint capacity,
                             cl_device_id *out, cl_uint *out_count)
{
    (void)of, (void)kinds;
    FAIL();
    if (out_count != NULL)
        *out_count = 1;
    if (out != NULL && capacity > 0)
        out[0] = (cl_device_id)&double_device;
    return CL_SUCCESS;
}

static cl_int get_device_number(cl_uint what, size_t capacity, void *out, size_t *out_size)
{
    static const size_t items[3] = {1024, 1024, 64};
    const cl_ulong wide = what == CL_DEVICE_TYPE             ? CL_DEVICE_TYPE_GPU
                          : what == CL_DEVICE_LOCAL_MEM_SIZE ? 65536
                          : what == CL_DEVICE_SVM_CAPABILITIES
                              ? (cl_ulong)(double_knob("no-svm", 0) == 0)
                          : what == CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL
                              ? (cl_ulong)double_knob("usm", 0)
                          : what == CL_DEVICE_SINGLE_FP_CONFIG ? 63
                                                               : UINT64_C(1) << 30;
    const size_t size = 1024;
    const cl_uint narrow = what == CL_DEVICE_ADDRESS_BITS ? 64
                           : what == CL_DEVICE_COMPILER_AVAILABLE
                               ? double_knob("no-compiler", 0) == 0
                               : 1;
    switch (what) {
    case CL_DEVICE_TYPE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    case CL_DEVICE_SVM_CAPABILITIES:
    case CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return double_give(&wide, sizeof wide, capacity, out, out_size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
        return double_give(&size, sizeof size, capacity, out, out_size);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return double_give(items, sizeof items, capacity, out, out_size);
    default:
        return double_give(&narrow, sizeof narrow, capacity, out, out_size);
    }
}

static const char *extensions(void)
{
    static char text[200];
    snprintf(text, sizeof text, "cl_khr_%s%s%s",
             double_knob("usm", 0) ? "x "
                                     "cl_intel_unified_shared_memory"
                                   : "x",
             double_knob("priorities", 0) ? " cl_khr_priority_hints" : "",
             double_knob("bus", 0) ? " cl_khr_pci_bus_info cl_khr_device_uuid" : "");
    return text;
}

cl_int double_clGetDeviceInfo(cl_device_id of, cl_uint what, size_t capacity, void *out,
                              size_t *out_size)
{
    static const cl_uint bus[4] = {1, 0x2a, 3, 4};
    static const unsigned char uuid[16] = {0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    (void)of;
    FAIL();
    switch (what) {
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
        return double_give_text("double", capacity, out, out_size);
    case CL_DRIVER_VERSION:
        return double_give_text("1", capacity, out, out_size);
    case CL_DEVICE_VERSION:
    case CL_DEVICE_OPENCL_C_VERSION:
        return double_give_text("OpenCL C 1.2", capacity, out, out_size);
    case CL_DEVICE_EXTENSIONS:
        return double_give_text(extensions(), capacity, out, out_size);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
        return double_give(&bus, sizeof bus, capacity, out, out_size);
    case CL_DEVICE_UUID_KHR:
        return double_give(uuid, sizeof uuid, capacity, out, out_size);
    default:
        return get_device_number(what, capacity, out, out_size);
    }
}

void *double_clGetExtensionFunctionAddressForPlatform(cl_platform_id of, const char *name)
{
    void *found = NULL;
    (void)of;
    if (double_knob("usm", 0) == 0)
        return NULL;
#define FIND(function, place, version, result, parameters)                                         \
    if (strcmp(name, #function) == 0) {                                                            \
        result(*pointer) parameters = double_##function;                                           \
        memcpy(&found, &pointer, sizeof found);                                                    \
    }
    ACCEL__OPENCL_USM_FUNCTIONS(FIND)
#undef FIND
    return found;
}

cl_context double_clCreateContext(const intptr_t *properties, cl_uint count,
                                  const cl_device_id *devices,
                                  void (*notify)(const char *, const void *, size_t, void *),
                                  void *user, cl_int *out_code)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    FAIL_OBJECT();
    return double_make(sizeof(object));
}

cl_int double_clReleaseContext(cl_context of)
{
    if (double_let_go(of))
        double_destroy(of);
    return CL_SUCCESS;
}

/* ---- the table ---- */

/* Of what this double does not do. */
static cl_int nothing(void)
{
    return CL_INVALID_OPERATION;
}

static void put(size_t place, void (*function)(void))
{
    if (function == NULL)
        function = (void (*)(void))nothing;
    memcpy(&double_table[place], &function, sizeof function);
}

static void fill_table(void)
{
    begin();
#define PUT(name, place, version, result, parameters) put(place, (void (*)(void))double_##name);
    ACCEL__OPENCL_FUNCTIONS(PUT)
#undef PUT
}

__attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint capacity,
                                                                     cl_platform_id *out,
                                                                     cl_uint *out_count);
__attribute__((visibility("default"))) void *clGetExtensionFunctionAddress(const char *name);

cl_int clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *out, cl_uint *out_count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_table);
    return double_clGetPlatformIDs(capacity, out, out_count);
}

void *clGetExtensionFunctionAddress(const char *name)
{
    cl_int (*function)(cl_uint, cl_platform_id *, cl_uint *) = clIcdGetPlatformIDsKHR;
    void *found = NULL;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        memcpy(&found, &function, sizeof found);
    return found;
}
