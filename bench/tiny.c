/* SPDX-License-Identifier: MIT
 * tiny.c: a library with one function: what dlopen costs at least.
 */
__attribute__((visibility("default"))) int bench_tiny(void);

int bench_tiny(void)
{
    return 1;
}
