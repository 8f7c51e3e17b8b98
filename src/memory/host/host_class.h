/* host_class.h: size classes of pinned memory: multiples of 512 bytes up to 4 KiB, then eight steps between
 * two powers of two, so that a block is at most an eighth larger than what was asked. */
#ifndef ACCEL_MEMORY_HOST_HOST_CLASS_H
#define ACCEL_MEMORY_HOST_HOST_CLASS_H

#include <stddef.h>

enum {
    ACCEL__HOST_UNIT = 512,
    ACCEL__HOST_CLASS_LINEAR_LOG2 = 12,     /* up to 4 KiB in units */
    ACCEL__HOST_CLASS_STEPS_LOG2 = 3,       /* eight steps an octave */
    ACCEL__HOST_CLASS_MOST_LOG2 = 46,       /* no request is larger */
    ACCEL__HOST_CLASS_EXACT = 1024 * 1024,  /* up to here a block has the size of its class */
    ACCEL__HOST_CLASS_SPAN = 2,             /* an eighth more is at most that many classes higher */
    ACCEL__HOST_PAGE = 4096,                /* above, a whole number of these */
    ACCEL__HOST_SHARED_SIZE = 32 * 1024,    /* up to here blocks share a segment … */
    ACCEL__HOST_SHARED_SEGMENT = 64 * 1024, /* … of at least this size, … */
    ACCEL__HOST_SHARED_COUNT = 8,           /* … and of at least that many */
    ACCEL__HOST_CLASSES = ((ACCEL__HOST_CLASS_MOST_LOG2 - ACCEL__HOST_CLASS_LINEAR_LOG2)
                           << ACCEL__HOST_CLASS_STEPS_LOG2) +
                          (1 << ACCEL__HOST_CLASS_STEPS_LOG2)
};

/* `size` (1 to 2^46) rounded up to what a block for it has. */
static inline size_t accel__host_class_round(size_t size)
{
    size_t step = ACCEL__HOST_UNIT;
    if (size > ACCEL__HOST_CLASS_EXACT)
        step = ACCEL__HOST_PAGE;
    else if (size > (size_t)1 << ACCEL__HOST_CLASS_LINEAR_LOG2)
        step = (size_t)1 << (63 - __builtin_clzll(size - 1) - ACCEL__HOST_CLASS_STEPS_LOG2);
    return (size + step - 1) & ~(step - 1);
}

/* The class of a rounded size. */
static inline unsigned accel__host_class_of(size_t rounded)
{
    if (rounded <= (size_t)1 << ACCEL__HOST_CLASS_LINEAR_LOG2)
        return (unsigned)(rounded / ACCEL__HOST_UNIT - 1);
    const unsigned log2 = 63u - (unsigned)__builtin_clzll(rounded - 1);
    const unsigned step = (unsigned)((rounded - 1) >> (log2 - ACCEL__HOST_CLASS_STEPS_LOG2)) & 7u;
    return ((log2 - ACCEL__HOST_CLASS_LINEAR_LOG2 + 1) << ACCEL__HOST_CLASS_STEPS_LOG2) + step;
}

/* The largest block that serves a request of that rounded size. */
static inline size_t accel__host_class_most(size_t rounded)
{
    return rounded <= ACCEL__HOST_CLASS_EXACT ? rounded
                                              : rounded + (rounded >> ACCEL__HOST_CLASS_STEPS_LOG2);
}

#endif
