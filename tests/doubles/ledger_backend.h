/* ledger_backend.h: a backend for tests of the allocator: the mock, but with memory that is nothing except
 * entries in a ledger: addresses that nobody may touch, of a given capacity. Every call is checked against
 * what came before, counted, and can be made to fail. */
#ifndef TESTS_DOUBLES_LEDGER_BACKEND_H
#define TESTS_DOUBLES_LEDGER_BACKEND_H

#include <accel/backend.h>
#include <stdatomic.h>

typedef struct ledger_control {
    _Atomic(size_t) capacity;      /* bytes that can be had in all */
    _Atomic(size_t) used;          /* bytes that are had, by allocation and commitment */
    _Atomic(size_t) peak;          /* the most that ever were */
    _Atomic(size_t) reserved;      /* bytes of addresses */
    _Atomic(unsigned) allocations; /* that live now */
    _Atomic(unsigned) calls; /* that give or take memory: allocations, commitments and their ends */
    _Atomic(uint64_t) given; /* calls that gave memory, … */
    _Atomic(uint64_t) given_bytes; /* … and its bytes */
    _Atomic(uint64_t) taken;       /* calls that took it back */
    _Atomic(uint64_t) made;        /* of the ones that gave it: allocations */
    _Atomic(unsigned)
        fail_after; /* the call of that number from now on that can fail fails; 0: none */
    /* Called when a commitment has given memory; NULL: nobody. */
    void (*_Atomic on_given)(void);
    /* Called before memory is taken back; NULL: nobody. */
    void (*_Atomic on_taken)(uintptr_t begin, size_t size);
    _Atomic(bool) no_addresses; /* reservations fail */
    _Atomic(unsigned) mistakes; /* calls that no caller may make: what is wrong is printed */
} ledger_control;

extern ledger_control ledger;

/* A copy of the table, named "ledger" or "growing_ledger". */
accel_backend_table ledger_table(bool with_virtual_memory);

#endif
