/* check.h: assertions over accel calls for cmocka tests. A wrong status fails the test with the call,
 * both statuses and the last-error message. Only for the test's own thread: other threads and forked
 * children use CHECK_QUIET, which says where it went wrong and returns. */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <accel/accel.h>
#include <accel/cpu.h>

#define EXPECT(call, wanted) test_expect((call), (wanted), #call, __FILE__, __LINE__)
#define OK(call) EXPECT(call, ACCEL_OK)

void test_expect(accel_status got, accel_status wanted, const char *call, const char *file,
                 int line);

/* The failure that `call` must give, and that the record must say the same: status, the public
 * function's name, and a message. */
#define FAILS(call, wanted, function)                                                              \
    test_expect_failure((call), (wanted), (function), #call, __FILE__, __LINE__)

void test_expect_failure(accel_status got, accel_status wanted, const char *function,
                         const char *call, const char *file, int line);

/* For threads and forked children: prints and returns 1 from the function it is in. */
#define CHECK_QUIET(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                     \
                    accel_last_error_message());                                                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Before the first accel call of a test program: a known environment with `devices` cpu devices.
 * TEST_MASK becomes ACCEL_MASK: the same test against the core's stand-ins. TEST_THREADS becomes
 * ACCEL_CPU_THREADS. */
void test_environment(unsigned devices);

/* The cpu backend's number; fails the test where it is missing. */
accel_backend test_cpu(void);
accel_device test_cpu_device(int32_t index);

#endif
