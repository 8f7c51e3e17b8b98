/* symbols.h: names for addresses of code: from the symbol tables of the files that the program and
 * its libraries were loaded from. Called when snapshots are written and leaks are visited; takes no
 * lock of accel. */
#ifndef ACCEL_MEMORY_HISTORY_SYMBOLS_H
#define ACCEL_MEMORY_HISTORY_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct accel__symbol {
    uintptr_t address;    /* where a call returns to */
    const char *function; /* "??" where it is not known */
    const char *file;     /* "path+0xoffset" of the call in the object; "??" where not known */
} accel__symbol;

typedef struct accel__symbols {
    accel__symbol *items; /* by address, each once */
    size_t count;
    struct accel__symbol_text *texts;
} accel__symbols;

/* Names the addresses; they are sorted and made unique in place. False: no host memory. */
bool accel__symbols_find(uintptr_t *addresses, size_t count, accel__symbols *out_symbols);
void accel__symbols_release(accel__symbols *symbols);

/* The place in `items` of an address that was named. */
size_t accel__symbols_place(const accel__symbols *symbols, uintptr_t address);

#endif
