/* config_round.c: sizes of requests, rounded as the settings say. */
#include "memory/config.h"

enum { UNIT = 512 };

static size_t round_to(size_t size, size_t unit)
{
    size_t sum = 0;
    return __builtin_add_overflow(size, unit - 1, &sum) ? SIZE_MAX : sum & ~(unit - 1);
}

/* The next of 2^divisions_log2 equal steps between two powers of two. */
static size_t round_to_division(size_t size, unsigned divisions_log2)
{
    const unsigned log2 = 63u - (unsigned)__builtin_clzll(size);
    return round_to(size, ((size_t)1 << log2) >> divisions_log2);
}

size_t accel__config_round(const accel__config *config, size_t size)
{
    if (!config->has_roundup || size < UNIT)
        return round_to(size, UNIT);
    const unsigned log2 = 63u - (unsigned)__builtin_clzll(size);
    const unsigned last = ACCEL__CONFIG_INTERVALS - 1;
    const unsigned interval = log2 < 20 ? 0 : log2 - 20 < last ? log2 - 20 : last;
    const unsigned divisions = config->roundup_log2[interval];
    /* A step of fewer than 512 bytes is none. */
    return divisions != 0 && size > (size_t)UNIT << divisions ? round_to_division(size, divisions)
                                                              : round_to(size, UNIT);
}
