/* ledger.h: what a process holds: the library's own blocks and mappings, objects of the driver, the
 * process' descriptors, threads and mappings, and whether the figures are back to zero. */
#ifndef TESTS_FAILURES_LEDGER_H
#define TESTS_FAILURES_LEDGER_H

#include "scenario.h"

typedef struct ledger {
    int64_t blocks;
    int64_t mapped_size;
    int64_t driver_objects;
    int64_t descriptors;
    int64_t threads;
    int64_t mappings; /* lines of /proc/self/maps */
    int64_t resident; /* bytes */
} ledger;

/* AddressSanitizer keeps memory back that was freed. Resident bytes, the last of the numbers, then grow, and a
 * driver's addresses are new ones again and again, for which the library's map of addresses takes nodes: blocks,
 * the first of the numbers. Neither is compared under it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEDGER_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(LEDGER_SANITIZED)
enum { LEDGER_FIRST = 1, LEDGER_LEFT_OUT = 1 };
#else
enum { LEDGER_FIRST = 0, LEDGER_LEFT_OUT = 0 };
#endif

/* Gives back what is cached, and waits for what is under way. Notes in the world where something is not
 * back to zero then. */
void ledger_settle(world *w);

ledger ledger_read(void);

/* Whether there is more now than before; writes what. The last two are no part of it: they depend on the
 * C library. */
bool ledger_grew(const ledger *before, const ledger *now, char *text, size_t capacity);

#endif
