/* snapshot_stacks.c: see snapshot_stacks.h. Called by snapshot_read.c and the report.
 *
 * Invariant: a table of slots is at most half full, so that a search ends. */
#include "cli/snapshot_stacks.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return accel__snapshot_hash(hash * UINT64_C(0x9E3779B97F4A7C15) + value);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    const size_t size = strlen(text);
    uint64_t piece = 0;
    for (size_t i = 0; i < size; i += sizeof piece) {
        piece = 0;
        memcpy(&piece, text + i, size - i < sizeof piece ? size - i : sizeof piece);
        hash = mix(hash, piece);
    }
    return mix(hash, size);
}

static uint64_t hash_frame(const accel__frame *frame)
{
    return mix(hash_text(hash_text(0, frame->file), frame->name), (uint64_t)frame->line);
}

static uint64_t hash_numbers(const uint32_t *numbers, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = mix(hash, numbers[i]);
    return hash;
}

/* Room for `count` elements of `size` bytes. */
static bool reserve(void **array, size_t *capacity, size_t count, size_t size)
{
    if (count <= *capacity)
        return true;
    size_t wanted = *capacity * 2 > count ? *capacity * 2 : count;
    void *grown = reallocarray(*array, wanted, size);
    if (grown == NULL)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

typedef uint64_t (*hash_function)(const accel__stacks *stacks, uint32_t number);

/* Puts the numbers below `count` into a table of at least twice as many slots. */
static bool make_slots(const accel__stacks *stacks, hash_function hash, uint32_t count,
                       uint32_t **slots, size_t *slot_count)
{
    if (*slots != NULL && (size_t)count * 2 < *slot_count)
        return true;
    size_t wanted = *slot_count > 0 ? *slot_count * 2 : FIRST_SLOTS;
    uint32_t *made = calloc(wanted, sizeof *made);
    if (made == NULL)
        return false;
    for (uint32_t number = 0; number < count; number++) {
        size_t at = hash(stacks, number) & (wanted - 1);
        while (made[at] != 0)
            at = (at + 1) & (wanted - 1);
        made[at] = number + 1;
    }
    free(*slots);
    *slots = made;
    *slot_count = wanted;
    return true;
}

static uint64_t hash_of_frame(const accel__stacks *stacks, uint32_t number)
{
    return hash_frame(&stacks->frames[number]);
}

static uint64_t hash_of_stack(const accel__stacks *stacks, uint32_t number)
{
    const accel__stack *stack = &stacks->stacks[number];
    return hash_numbers(stacks->numbers + stack->first, stack->count);
}

bool accel__stacks_frame(accel__stacks *stacks, const accel__frame *frame, uint32_t *out_number)
{
    void *frames = stacks->frames;
    if (!make_slots(stacks, hash_of_frame, stacks->frame_count, &stacks->frame_slots,
                    &stacks->frame_slot_count) ||
        !reserve(&frames, &stacks->frame_capacity, (size_t)stacks->frame_count + 1, sizeof *frame))
        return false;
    stacks->frames = frames;
    size_t at = hash_frame(frame) & (stacks->frame_slot_count - 1);
    for (; stacks->frame_slots[at] != 0; at = (at + 1) & (stacks->frame_slot_count - 1)) {
        const accel__frame *known = &stacks->frames[stacks->frame_slots[at] - 1];
        *out_number = stacks->frame_slots[at] - 1;
        if (known->line == frame->line && strcmp(known->file, frame->file) == 0 &&
            strcmp(known->name, frame->name) == 0)
            return true;
    }
    *out_number = stacks->frame_count++;
    stacks->frames[*out_number] = *frame;
    stacks->frame_slots[at] = *out_number + 1;
    return true;
}

static bool same_stack(const accel__stacks *stacks, uint32_t number, const uint32_t *frames,
                       size_t count)
{
    const accel__stack *stack = &stacks->stacks[number];
    return stack->count == count &&
           memcmp(stacks->numbers + stack->first, frames, count * sizeof *frames) == 0;
}

/* Room for one more stack of `count` frames, and the empty one at the very first. */
static bool reserve_stack(accel__stacks *stacks, size_t count)
{
    void *all = stacks->stacks;
    void *numbers = stacks->numbers;
    bool good = reserve(&all, &stacks->stack_capacity, (size_t)stacks->stack_count + 2,
                        sizeof *stacks->stacks);
    stacks->stacks = all;
    good = good && reserve(&numbers, &stacks->number_capacity, stacks->number_count + count,
                           sizeof *stacks->numbers);
    stacks->numbers = numbers;
    if (good && stacks->stack_count == 0)
        stacks->stacks[stacks->stack_count++] = (accel__stack){0};
    return good && make_slots(stacks, hash_of_stack, stacks->stack_count, &stacks->stack_slots,
                              &stacks->stack_slot_count);
}

bool accel__stacks_stack(accel__stacks *stacks, const uint32_t *frames, size_t count,
                         uint32_t *out_number)
{
    *out_number = 0;
    if (!reserve_stack(stacks, count))
        return false;
    if (count == 0)
        return true;
    size_t at = hash_numbers(frames, count) & (stacks->stack_slot_count - 1);
    for (; stacks->stack_slots[at] != 0; at = (at + 1) & (stacks->stack_slot_count - 1)) {
        *out_number = stacks->stack_slots[at] - 1;
        if (same_stack(stacks, *out_number, frames, count))
            return true;
    }
    *out_number = stacks->stack_count++;
    stacks->stacks[*out_number] = (accel__stack){stacks->number_count, count};
    memcpy(stacks->numbers + stacks->number_count, frames, count * sizeof *frames);
    stacks->number_count += count;
    stacks->stack_slots[at] = *out_number + 1;
    return true;
}

const accel__frame *accel__stacks_at(const accel__stacks *stacks, uint32_t stack, size_t index)
{
    return &stacks->frames[stacks->numbers[stacks->stacks[stack].first + index]];
}

void accel__stacks_release(accel__stacks *stacks)
{
    free(stacks->frames);
    free(stacks->frame_slots);
    free(stacks->stacks);
    free(stacks->stack_slots);
    free(stacks->numbers);
    memset(stacks, 0, sizeof *stacks);
}
