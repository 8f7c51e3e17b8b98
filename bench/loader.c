/* SPDX-License-Identifier: MIT
 * loader.c: a program that opens one library and prints how many nanoseconds that took. Run by
 * start.c: in the bench program itself the library is open already.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    uint64_t begin = now_ns();
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    uint64_t end = now_ns();
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%" PRIu64 "\n", end - begin);
    return 0;
}
