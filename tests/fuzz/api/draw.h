/* draw.h: the numbers that a step of the fuzzer is made of. A step's numbers follow from the seed, the round,
 * the thread and the step alone, so that a sequence without some of its steps has the others unchanged:
 * that is what makes it possible to shrink one. */
#ifndef TESTS_FUZZ_API_DRAW_H
#define TESTS_FUZZ_API_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_draw {
    uint64_t state;
} fuzz_draw;

/* SplitMix64. */
static inline uint64_t draw_bits(fuzz_draw *draw)
{
    draw->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = draw->state;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static inline fuzz_draw draw_for(uint64_t seed, uint64_t round, uint64_t thread, uint64_t step)
{
    fuzz_draw draw = {seed};
    draw.state = draw_bits(&draw) ^ round;
    draw.state = draw_bits(&draw) ^ thread;
    draw.state = draw_bits(&draw) ^ step;
    return draw;
}

static inline uint32_t draw_below(fuzz_draw *draw, uint32_t end)
{
    return (uint32_t)(((draw_bits(draw) >> 32) * end) >> 32);
}

static inline bool draw_chance(fuzz_draw *draw, uint32_t percent)
{
    return draw_below(draw, 100) < percent;
}

#endif
