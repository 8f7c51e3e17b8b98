/* ising.cl: Metropolis sweeps over a square lattice of spins, one colour of the chessboard at a time.
 *
 * A site (row, x) is black where row + x is even. Each colour has an array of its own, side / 2 sites a
 * row, a byte each: 0 is down, 1 is up. Site c of a row is x = 2 c, or 2 c + 1. Its neighbours are all of
 * the other colour: above, below and beside it at c, and at c - 1 or c + 1. The edges are joined. */
#include <accel/philox.h>

uint neighbours_up(__global const uchar *other, uint side, uint row, uint c, uint is_odd)
{
    const uint half_side = side / 2;
    const uint above = (row == 0 ? side : row) - 1;
    const uint below = row + 1 == side ? 0 : row + 1;
    const uint right = c + 1 == half_side ? 0 : c + 1;
    const uint left = (c == 0 ? half_side : c) - 1;
    return (uint)other[above * half_side + c] + (uint)other[below * half_side + c] +
           (uint)other[row * half_side + c] +
           (uint)other[row * half_side + (is_odd != 0 ? right : left)];
}

/* Four sites of a row: a Philox block has four words. A flip that costs energy happens where the word is
 * below limits[agreeing neighbours]. colour: 0 for black, 1 for white. */
__kernel void half_sweep(ulong seed, ulong offset, uint from_cells, __global const ulong *cells,
                         __global const uint *limits, __global uchar *mine,
                         __global const uchar *other, uint side, uint colour)
{
    const uint site = 4 * (uint)get_global_id(0);
    if (site >= side * (side / 2))
        return;
    const accel_philox_state state = accel_philox_open(seed, offset, from_cells, cells);
    const accel_philox_words words = accel_philox_words_at(state, site, 0);
    const uint row = site / (side / 2);
    const uint first = site % (side / 2);
    for (uint i = 0; i < 4; i++) {
        const uint up = neighbours_up(other, side, row, first + i, (row + colour) & 1);
        const uint spin = mine[site + i];
        const uint agreeing = spin != 0 ? up : 4 - up;
        if (agreeing <= 2 || accel_philox_pick(words, i) < limits[agreeing])
            mine[site + i] = (uchar)(1 - spin);
    }
}

/* Adds to totals[2 step] how many sites are up, and to totals[2 step + 1] how many pairs of neighbours
 * agree. A work-item looks at eight black sites and at as many white ones. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
measure(__global const uchar *black, __global const uchar *white, __global const uint *step,
        __global uint *totals, uint side)
{
    __local uint ups[64];
    __local uint agreements[64];
    const uint me = get_local_id(0);
    const uint begin = 8 * (uint)get_global_id(0);
    uint up = 0;
    uint agreeing = 0;
    for (uint site = begin; site < begin + 8 && site < side * (side / 2); site++) {
        const uint row = site / (side / 2);
        const uint near = neighbours_up(white, side, row, site % (side / 2), row & 1);
        up += (uint)black[site] + (uint)white[site];
        agreeing += black[site] != 0 ? near : 4 - near;
    }
    ups[me] = up;
    agreements[me] = agreeing;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint width = 32; width > 0; width /= 2) {
        if (me < width) {
            ups[me] += ups[me + width];
            agreements[me] += agreements[me + width];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) {
        atomic_add(&totals[2 * step[0]], ups[0]);
        atomic_add(&totals[2 * step[0] + 1], agreements[0]);
    }
}

__kernel void next_step(__global uint *step)
{
    step[0] += 1;
}
