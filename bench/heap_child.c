/* SPDX-License-Identifier: MIT
 * heap_child.c: one sample of the malloc of this process, which LD_PRELOAD may have made another one:
 * jemalloc cannot be opened beside the C library's, as it wants a place in the static thread-local block.
 *
 *   heap_child pairs SIZE THREADS | replace | who SYMBOL
 *
 * Prints nanoseconds. `who` ends with 0 where the process has that symbol, which its malloc exports.
 */
#include "heaps.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments)
{
    void *(*volatile take)(size_t) = malloc; /* the compiler knows pairs of calls, and drops them */
    void (*volatile give)(void *) = free;
    const bench_heap heap = {take, give};
    double value = 0;
    if (count == 3 && strcmp(arguments[1], "who") == 0)
        return dlsym(RTLD_DEFAULT, arguments[2]) == NULL;
    if (count == 4 && strcmp(arguments[1], "pairs") == 0)
        value = bench_heap_pairs(&heap, strtoul(arguments[2], NULL, 10),
                                 (unsigned)strtoul(arguments[3], NULL, 10));
    else if (count == 2 && strcmp(arguments[1], "replace") == 0)
        value = bench_heap_replace(&heap);
    else
        return 2;
    printf("%.3f\n", value);
    return 0;
}
