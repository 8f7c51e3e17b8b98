/* load_test.c: loading the library and asking it change nothing in the program: no variable, descriptor,
 * thread, signal handler or limit, and nothing is printed. Case B27. The library is opened here by name:
 * a program that is linked with it could not look before. */
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/process.h"

/* What a program has that a library could change. */
typedef struct state {
    unsigned threads;
    uint64_t descriptors;
    uint64_t variables;
    uint64_t handlers;
    uint64_t limits;
} state;

static uint64_t hash(uint64_t seed, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return seed;
}

static state look(void)
{
    state now = {.threads = test_thread_count(), .descriptors = test_descriptor_digest()};
    for (char **variable = environ; *variable != NULL; variable++)
        now.variables = hash(now.variables + 1, *variable, strlen(*variable));
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0)
            now.handlers = hash(now.handlers + 1, &action.sa_handler, sizeof action.sa_handler);
    }
    for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
        struct rlimit limit;
        getrlimit((__rlimit_resource_t)kind, &limit);
        now.limits = hash(now.limits + 1, &limit, sizeof limit);
    }
    return now;
}

static void check_unchanged(const state *before)
{
    const state now = look();
    assert_int_equal(now.threads, before->threads);
    assert_int_equal(now.descriptors, before->descriptors);
    assert_int_equal(now.variables, before->variables);
    assert_int_equal(now.handlers, before->handlers);
    assert_int_equal(now.limits, before->limits);
}

typedef int find_function(const char *name, uint32_t *out_backend);
typedef int count_function(uint32_t backend, int32_t *out_count);

/* Standard output and error go into a file meanwhile, which must stay empty. */
static void test_loading_and_asking(void **unused)
{
    (void)unused;
    char path[4096];
    char captured[] = "/tmp/accel_test_output-XXXXXX";
    find_function *find = NULL;
    count_function *count = NULL;
    int32_t devices = 0;
    snprintf(path, sizeof path, "%s/lib/libaccel.so", getenv("BUILD_DIR"));
    fflush(NULL);
    const int file = mkstemp(captured);
    const int output = dup(1);
    const int errors = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    const state before = look();
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    check_unchanged(&before);
    *(void **)&find = dlsym(library, "accel_backend_find");
    *(void **)&count = dlsym(library, "accel_device_count");
    static const char *const backends[] = {"cpu", "opencl"};
    for (int i = 0; i < 2; i++) {
        uint32_t backend = 0;
        assert_int_equal(find(backends[i], &backend), 0);
        count(backend, &devices);
        check_unchanged(&before);
    }
    dlclose(library);
    check_unchanged(&before);
    dup2(output, 1);
    dup2(errors, 2);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    close(output);
    close(errors);
    close(file);
    unlink(captured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loading_and_asking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
