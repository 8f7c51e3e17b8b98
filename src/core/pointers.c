/* pointers.c: a radix tree over address / 512, three levels deep, with a set beside each level's links
 * that says which of them lead to something: so the range before an address is found in a few steps, too.
 *
 * Changes are made under one mutex, by single stores: a range's cell first, then its bits from the bottom
 * up; taken out from the top of a cell's chain, then the bits, from the bottom up again. A reader may meet a
 * bit that leads to nothing, and goes on to the one before. Nodes are made when something is entered below
 * them and stay. A child that was forked within a change finds at worst such a bit, or a range that no bit
 * leads to yet, which nobody had been told of. */
#include "core/pointers.h"

#include "base/allocate.h"
#include "core/options.h"
#include "core/pointers_tree.h"
#include "platform/mutex.h"

enum {
    WORD = ACCEL__TREE_WORD,
    ADDRESS_BITS = ACCEL__TREE_CELL_BITS + ACCEL__TREE_LEAF_BITS + ACCEL__TREE_BRANCH_BITS +
                   ACCEL__TREE_ROOT_BITS
};

typedef accel__tree_word word;
typedef accel__tree_leaf leaf;
typedef accel__tree_branch branch;

accel__tree_root accel__tree;

/* Guards changes. Lock order: a leaf but for base/allocate.h. */
static accel__mutex change_mutex;

/* ---- where an address is ---- */

static int leaf_index(uintptr_t address)
{
    return (int)accel__tree_in_leaf(address);
}

static int branch_index(uintptr_t address)
{
    return (int)accel__tree_in_branch(address);
}

static int root_index(uintptr_t address)
{
    return (int)accel__tree_in_root(address);
}

static bool is_beyond(uintptr_t address)
{
    return address >> ADDRESS_BITS != 0;
}

/* ---- sets ---- */

static uint64_t load(const word *from)
{
    return atomic_load_explicit(from, memory_order_acquire);
}

static void set_bit(word *words, int index)
{
    word *at = &words[index / WORD];
    atomic_store_explicit(at, load(at) | UINT64_C(1) << index % WORD, memory_order_release);
}

static bool clear_bit(word *words, int index)
{
    word *at = &words[index / WORD];
    const uint64_t left = load(at) & ~(UINT64_C(1) << index % WORD);
    atomic_store_explicit(at, left, memory_order_release);
    return left == 0;
}

static void set_add(word *words, word *summary, int index)
{
    set_bit(words, index);
    set_bit(summary, index / WORD);
}

/* True: the set is empty now. */
static bool set_remove(word *words, word *summary, size_t summary_count, int index)
{
    if (!clear_bit(words, index) || !clear_bit(summary, index / WORD))
        return false;
    for (size_t i = 0; i < summary_count; i++)
        if (load(&summary[i]) != 0)
            return false;
    return true;
}

/* The last one of the bits 0 to `index`; -1: none is set. */
static int last_bit(uint64_t bits, int index)
{
    const uint64_t here = bits & UINT64_MAX >> (WORD - 1 - index);
    return here != 0 ? WORD - 1 - __builtin_clzll(here) : -1;
}

/* The last member of words 0 to `index`, as the summary has it: a word, or -1. */
static int last_word(const word *summary, int index)
{
    for (int at = index; at >= 0; at = at / WORD * WORD - 1) {
        const int bit = last_bit(load(&summary[at / WORD]), at % WORD);
        if (bit >= 0)
            return at / WORD * WORD + bit;
    }
    return -1;
}

/* The greatest member that is at most `index`; -1: none. */
static int set_last(const word *words, const word *summary, int index)
{
    while (index >= 0) {
        const int bit = last_bit(load(&words[index / WORD]), index % WORD);
        if (bit >= 0)
            return index / WORD * WORD + bit;
        const int before = index / WORD > 0 ? last_word(summary, index / WORD - 1) : -1;
        index = before * WORD + WORD - 1; /* -1 where there is none */
    }
    return -1;
}

/* ---- changing ---- */

static branch *make_branch(uintptr_t address)
{
    _Atomic(branch *) *link = &accel__tree.branches[root_index(address)];
    branch *made = atomic_load_explicit(link, memory_order_acquire);
    if (made == NULL) {
        made = accel__allocate(sizeof *made);
        atomic_store_explicit(link, made, memory_order_release);
    }
    return made;
}

static leaf *make_leaf(branch *above, uintptr_t address)
{
    _Atomic(leaf *) *link = &above->leaves[branch_index(address)];
    leaf *made = atomic_load_explicit(link, memory_order_acquire);
    if (made == NULL) {
        made = accel__allocate(sizeof *made);
        atomic_store_explicit(link, made, memory_order_release);
    }
    return made;
}

/* The link at which a range that begins at `begin` stands or would stand: chains go downwards. */
static _Atomic(accel__range *) *place_in(_Atomic(accel__range *) *cell, uintptr_t begin)
{
    accel__range *at;
    while ((at = atomic_load_explicit(cell, memory_order_acquire)) != NULL &&
           accel__range_begin(at) > begin)
        cell = &at->same;
    return cell;
}

static accel_status enter_locked(accel__range *range, uintptr_t begin)
{
    branch *above = make_branch(begin);
    leaf *below = above != NULL ? make_leaf(above, begin) : NULL;
    if (below == NULL)
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    _Atomic(accel__range *) *link = place_in(&below->cells[leaf_index(begin)], begin);
    accel__range *after = atomic_load_explicit(link, memory_order_acquire);
    if (after != NULL && accel__range_begin(after) == begin)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    atomic_store_explicit(&range->same, after, memory_order_relaxed);
    atomic_store_explicit(link, range, memory_order_release);
    set_add(below->set.words, below->set.summary, leaf_index(begin));
    set_add(above->set.words, above->set.summary, branch_index(begin));
    set_add(accel__tree.set.words, accel__tree.set.summary, root_index(begin));
    return ACCEL_OK;
}

accel_status accel__pointers_enter(accel__range *range)
{
    const uintptr_t begin = accel__range_begin(range);
    if (is_beyond(begin))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    accel__mutex_lock(&change_mutex);
    const accel_status status = enter_locked(range, begin);
    accel__mutex_unlock(&change_mutex);
    return status;
}

#define SET_REMOVE(set, index)                                                                     \
    set_remove((set).words, (set).summary, sizeof(set).summary / sizeof(set).summary[0], index)

static void leave_locked(accel__range *range, uintptr_t begin)
{
    leaf *below = accel__tree_leaf_of(begin);
    branch *above = accel__tree.branches[root_index(begin)];
    _Atomic(accel__range *) *cell = &below->cells[leaf_index(begin)];
    _Atomic(accel__range *) *link = place_in(cell, begin);
    if (atomic_load_explicit(link, memory_order_acquire) != range)
        return; /* a fork came between: it never was entered */
    atomic_store_explicit(link, atomic_load_explicit(&range->same, memory_order_relaxed),
                          memory_order_release);
    if (atomic_load_explicit(cell, memory_order_relaxed) == NULL &&
        SET_REMOVE(below->set, leaf_index(begin)) && SET_REMOVE(above->set, branch_index(begin)))
        (void)SET_REMOVE(accel__tree.set, root_index(begin));
}

void accel__pointers_leave(accel__range *range)
{
    const uintptr_t begin = accel__range_begin(range);
    accel__mutex_lock(&change_mutex);
    if (!is_beyond(begin) && accel__tree_leaf_of(begin) != NULL)
        leave_locked(range, begin);
    accel__mutex_unlock(&change_mutex);
}

/* ---- finding ---- */

/* The range of the cell that begins at `address` or last before it. Chains are walked under the mutex: one
 * that leaves may be put into another chain while a reader stands on it. */
static accel__range *last_in_cell(_Atomic(accel__range *) *cell, uintptr_t address)
{
    accel__range *first = atomic_load_explicit(cell, memory_order_acquire);
    if (first == NULL || accel__range_begin(first) <= address)
        return first;
    accel__mutex_lock(&change_mutex);
    accel__range *found = *cell;
    while (found != NULL && accel__range_begin(found) > address)
        found = found->same;
    accel__mutex_unlock(&change_mutex);
    return found;
}

accel__range *accel__pointers_at(const void *begin)
{
    const uintptr_t address = (uintptr_t)begin;
    leaf *below = is_beyond(address) ? NULL : accel__tree_leaf_of(address);
    if (below == NULL)
        return NULL;
    accel__range *found = last_in_cell(&below->cells[leaf_index(address)], address);
    return found != NULL && accel__range_begin(found) == address ? found : NULL;
}

/* The three below: the last range that begins at `address` or before it, in cells up to `index`. */
static accel__range *last_in_leaf(leaf *below, int index, uintptr_t address)
{
    while ((index = set_last(below->set.words, below->set.summary, index)) >= 0) {
        accel__range *range = last_in_cell(&below->cells[index], address);
        if (range != NULL)
            return range;
        index--;
    }
    return NULL;
}

static accel__range *last_in_branch(branch *above, int index, uintptr_t address)
{
    const int own = index;
    while ((index = set_last(above->set.words, above->set.summary, index)) >= 0) {
        leaf *below = atomic_load_explicit(&above->leaves[index], memory_order_acquire);
        accel__range *range = last_in_leaf(
            below, index == own ? leaf_index(address) : (1 << ACCEL__TREE_LEAF_BITS) - 1, address);
        if (range != NULL)
            return range;
        index--;
    }
    return NULL;
}

static accel__range *last_before(uintptr_t address)
{
    const int own = root_index(address);
    for (int index = own;
         (index = set_last(accel__tree.set.words, accel__tree.set.summary, index)) >= 0; index--) {
        branch *above = atomic_load_explicit(&accel__tree.branches[index], memory_order_acquire);
        const bool is_own = index == own;
        accel__range *range = last_in_branch(
            above, is_own ? branch_index(address) : (1 << ACCEL__TREE_BRANCH_BITS) - 1,
            is_own ? address : UINTPTR_MAX);
        if (range != NULL)
            return range;
    }
    return NULL;
}

accel__range *accel__pointers_before(const void *pointer)
{
    const uintptr_t address = (uintptr_t)pointer;
    return is_beyond(address) ? NULL : last_before(address);
}

accel__range *accel__pointers_around(const void *pointer)
{
    const uintptr_t address = (uintptr_t)pointer;
    accel__range *range = accel__pointers_before(pointer);
    return range != NULL && accel__range_state_of(range) == ACCEL__RANGE_LIVE &&
                   address - accel__range_begin(range) < accel__range_size(range)
               ? range
               : NULL;
}

bool accel__pointers_find(const void *pointer, accel__pointed *out_facts)
{
    const accel__range *range = accel__pointers_around(pointer);
    if (range == NULL)
        return false;
    *out_facts = (accel__pointed){
        .begin = accel__range_begin(range),
        .size = accel__range_size(range),
        .kind = atomic_load_explicit(&range->kind, memory_order_relaxed),
        .device = accel__range_device(range),
        .home = accel__range_home(range),
    };
    /* Changed under our eyes: the facts may be of two allocations. */
    return accel__range_state_of(range) == ACCEL__RANGE_LIVE &&
           (uintptr_t)pointer - out_facts->begin < out_facts->size;
}

accel_status accel_pointer_info(const void *pointer, accel_pointer_information *out_information)
{
    const accel_status status = accel__out_check(out_information, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__pointed facts;
    accel_pointer_information known = {
        .kind = ACCEL_MEMORY_KIND_UNKNOWN,
        .device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE),
        .host_readable = pointer != NULL,
    };
    if (accel__pointers_find(pointer, &facts)) {
        known.kind = facts.kind;
        known.device = facts.device->id;
        known.base = (void *)facts.begin;
        known.size = facts.size;
        known.offset = (uintptr_t)pointer - facts.begin;
        known.home_stream = facts.home;
        known.host_readable = facts.kind == ACCEL_MEMORY_KIND_PINNED ||
                              (facts.device->backend->table.flags & ACCEL_BACKEND_HOST_ACCESS) != 0;
    }
    accel__out_write(out_information, &known, sizeof known);
    return ACCEL_OK;
}
