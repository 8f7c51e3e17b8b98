/* stack_set.c: open addressing over the places of the numbers. */
#include "memory/history/stack_set.h"

#include "base/allocate.h"
#include "base/array.h"
#include "memory/history/stack.h"

/* The cell of the number, or the empty one where it would be. */
static size_t cell_of(const accel__stack_set *set, uint32_t number)
{
    size_t cell = (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (set->cell_count - 1);
    while (set->cells[cell] != 0 && set->numbers[set->cells[cell] - 1] != number)
        cell = (cell + 1) & (set->cell_count - 1);
    return cell;
}

/* At least half of the cells stay empty. */
static bool grow(accel__stack_set *set)
{
    const size_t count = set->cell_count != 0 ? set->cell_count * 2 : 256;
    uint32_t *cells = accel__allocate_array(count, sizeof *cells);
    if (cells == NULL)
        return false;
    accel__deallocate(set->cells);
    set->cells = cells;
    set->cell_count = count;
    for (size_t i = 0; i < set->count; i++)
        set->cells[cell_of(set, set->numbers[i])] = (uint32_t)i + 1;
    return true;
}

bool accel__stack_set_add(accel__stack_set *set, uint32_t number)
{
    if (number == 0)
        return true;
    if (set->count * 2 >= set->cell_count && !grow(set))
        return false;
    const size_t cell = cell_of(set, number);
    if (set->cells[cell] != 0)
        return true;
    if (!accel__array_reserve((void **)&set->numbers, &set->capacity, set->count, 1,
                              sizeof *set->numbers))
        return false;
    set->numbers[set->count++] = number;
    set->cells[cell] = (uint32_t)set->count;
    return true;
}

size_t accel__stack_set_place(const accel__stack_set *set, uint32_t number)
{
    return set->cells[cell_of(set, number)] - 1;
}

bool accel__stack_set_name(accel__stack_set *set)
{
    const uintptr_t *frames = NULL;
    size_t total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += accel__stack_frames(set->numbers[i], &frames);
    uintptr_t *addresses = accel__allocate_array(total + 1, sizeof *addresses);
    if (addresses == NULL)
        return false;
    total = 0;
    for (size_t i = 0; i < set->count; i++) {
        const size_t count = accel__stack_frames(set->numbers[i], &frames);
        for (size_t k = 0; k < count; k++)
            addresses[total++] = frames[k];
    }
    const bool named = accel__symbols_find(addresses, total, &set->symbols);
    accel__deallocate(addresses);
    return named;
}

void accel__stack_set_release(accel__stack_set *set)
{
    accel__symbols_release(&set->symbols);
    accel__deallocate(set->numbers);
    accel__deallocate(set->cells);
    *set = (accel__stack_set){0};
}
