/* generation.h: which fork of the process this is. The number lives in a page that the kernel wipes
 * on fork, so the check is one load and one compare, and nothing runs in fork() itself; where such
 * pages are missing a pthread_atfork handler stores the zero. */
#ifndef ACCEL_PLATFORM_GENERATION_H
#define ACCEL_PLATFORM_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* At least a page of memory, wherever pages are of usual sizes. */
#if defined(__x86_64__) || defined(__i386__)
#define ACCEL__GENERATION_PAGE 4096
#else
#define ACCEL__GENERATION_PAGE 65536
#endif

/* A page of its own inside of the library: its address is no load away. Hidden, also where it is declared:
 * else the compiler would look it up in a table. 0: this process has not asked yet. */
typedef struct accel__generation_page {
    _Alignas(ACCEL__GENERATION_PAGE) _Atomic(uint32_t) number;
} accel__generation_page;

extern accel__generation_page accel__generation_cell __attribute__((visibility("hidden")));

/* Sets up detection, or gives this process its number after a fork. */
uint32_t accel__generation_renew(void);

/* The number as it lies there: 0 where nobody has asked in this process. */
static inline uint32_t accel__generation_known(void)
{
    return atomic_load_explicit(&accel__generation_cell.number, memory_order_acquire);
}

/* 1 in the process that first asked; greater in each forked child. Never 0; fits 29 bits. */
static inline uint32_t accel__generation(void)
{
    const uint32_t value = accel__generation_known();
    return value != 0 ? value : accel__generation_renew();
}

/* Whether this is still the process of that number: less work than comparing the two. `number` is one that
 * accel__generation gave. */
static inline bool accel__generation_is(uint32_t number)
{
    return accel__generation_known() == number;
}

#endif
