/* opencl_symbols_test.c: the declarations of src/backends/opencl/driver/symbols.h against the real headers, line
 * by line: values of constants, places in the dispatch table, types of functions. Skipped where the
 * headers are not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#if defined(__has_include) && __has_include(<CL/cl_icd.h>)
#define HAVE_HEADERS 1
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>
#define ACCEL__OPENCL_ONLY_LISTS
#include "backends/opencl/driver/symbols.h"
#endif

#ifdef HAVE_HEADERS

static void constants(void **state)
{
    (void)state;
#define SAME_VALUE(name, value)                                                                    \
    if ((long long)(name) != (long long)(value))                                                   \
        fail_msg("%s is %lld in the headers, %lld here", #name, (long long)(name),                 \
                 (long long)(value));
    ACCEL__OPENCL_CODES(SAME_VALUE)
    ACCEL__OPENCL_CONSTANTS(SAME_VALUE)
}

static void places(void **state)
{
    (void)state;
#define SAME_PLACE(name, place, version, result, parameters)                                       \
    if (offsetof(struct _cl_icd_dispatch, name) != (place) * sizeof(void *))                       \
        fail_msg("%s stands at place %zu of the table, not %d", #name,                             \
                 offsetof(struct _cl_icd_dispatch, name) / sizeof(void *), (place));
    ACCEL__OPENCL_FUNCTIONS(SAME_PLACE)
}

/* Types: the compiler compares. */
#define SAME_TYPE(name, place, version, result, parameters)                                        \
    _Static_assert(__builtin_types_compatible_p(result(*) parameters,                              \
                                                __typeof__(((struct _cl_icd_dispatch *)0)->name)), \
                   #name " has another type in the headers");
ACCEL__OPENCL_FUNCTIONS(SAME_TYPE)

#define SAME_USM_TYPE(name, place, version, result, parameters)                                    \
    _Static_assert(__builtin_types_compatible_p(result(*) parameters, name##_fn),                  \
                   #name " has another type in the headers");
ACCEL__OPENCL_USM_FUNCTIONS(SAME_USM_TYPE)

_Static_assert(sizeof(cl_device_pci_bus_info_khr) == 4 * sizeof(cl_uint), "bus information");

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constants), cmocka_unit_test(places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif
