/* pointers.c: a hash table from the cells of 512 bytes in which ranges begin to the ranges; and, for the last one
 * before an address, a byte for each granule of 32 KiB that says how many begin there, and where if it is one,
 * under a tree of bits that says where those bytes are not 0. The table is small, so looking up where a block
 * begins, which every free does, stays within the processor's caches; and so do the bytes, which every split
 * and merge changes.
 *
 * Changes are made under one lock, by single stores. A reader takes no lock. What it finds is right: begin,
 * size and state say so. Where it finds nothing it must know that nothing was changed meanwhile, as a range
 * that it stood on may have gone into another chain: `changes` is odd during a change and another number
 * after, and then the reader looks again with the lock. Bytes and bits may lead to nothing, never the other
 * way round: they are set before and cleared after what they lead to, from the root down and from the leaf up.
 *
 * A child that was forked within a change finds `changes` odd, and everything in order but perhaps a byte that
 * counts one too many, or a bit too many. */
#include "core/pointers.h"

#include "base/allocate.h"
#include "base/lent.h"
#include "core/pointers_table.h"
#include "platform/spin.h"

/* ---- the table ---- */

enum { FIRST_HEADS = 1024 };

static _Atomic(accel__range *) first_heads[FIRST_HEADS];
static const accel__range_table first_table = {.mask = FIRST_HEADS - 1, .heads = first_heads};
_Atomic(const accel__range_table *) accel__ranges = &first_table;

/* Guards changes. Lock order: a leaf but for base/allocate.h. */
static accel__spin change_lock;
static _Atomic(uint64_t) changes;
static size_t count; /* of ranges */

static inline void lock(void)
{
    accel__spin_lock(&change_lock);
    const uint64_t number = atomic_load_explicit(&changes, memory_order_relaxed);
    if (number % 2 != 0) /* a fork came within a change */
        atomic_store_explicit(&changes, number + 1, memory_order_release);
}

static inline void begin_change(void)
{
    lock();
    atomic_store_explicit(&changes, atomic_load_explicit(&changes, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline void end_change(void)
{
    atomic_store_explicit(&changes, atomic_load_explicit(&changes, memory_order_relaxed) + 1,
                          memory_order_release);
    accel__spin_unlock(&change_lock);
}

static const accel__range_table *table_now(void)
{
    return atomic_load_explicit(&accel__ranges, memory_order_acquire);
}

static accel__range *load_range(const _Atomic(accel__range *) *link)
{
    return atomic_load_explicit(link, memory_order_acquire);
}

static void push(const accel__range_table *table, accel__range *range)
{
    _Atomic(accel__range *) *head = accel__ranges_head(table, accel__range_begin(range));
    atomic_store_explicit(&range->next[table->link], load_range(head), memory_order_release);
    atomic_store_explicit(head, range, memory_order_release);
}

/* Where there are as many ranges as chains, a table of four times as many follows, by the other links. Without
 * memory for it the chains grow. */
static void make_room(void)
{
    const accel__range_table *old = table_now();
    const size_t heads = 4 * (old->mask + 1);
    accel__range_table *made = accel__allocate(sizeof *made);
    if (made != NULL)
        made->heads = accel__allocate_array(heads, sizeof *made->heads);
    if (made == NULL || made->heads == NULL) {
        accel__deallocate(made);
        return;
    }
    made->mask = heads - 1;
    made->link = 1 - old->link;
    made->before = old;
    for (size_t i = 0; i <= old->mask; i++)
        for (accel__range *range = load_range(&old->heads[i]); range != NULL;
             range = load_range(&range->next[old->link]))
            push(made, range);
    atomic_store_explicit(&accel__ranges, made, memory_order_release);
}

/* ---- the tree of bits ---- */

enum {
    CELL_BITS = ACCEL__RANGES_CELL_BITS,
    GRANULE_BITS = ACCEL__RANGES_GRANULE_BITS,
    LEAF_BITS = 6, /* as many granules as a cache line has bytes */
    BRANCH_BITS = 13,
    ROOT_BITS = 14,
    ADDRESS_BITS = GRANULE_BITS + LEAF_BITS + BRANCH_BITS + ROOT_BITS,
    WORD = 64,
    BYTE = 8
};

typedef _Atomic(uint64_t) word;

/* A set of numbers below 1 << bits: `words`, and in `summary` a bit for each of them that is not 0. */
#define SET_OF(bits)                                                                               \
    struct {                                                                                       \
        word words[(1u << (bits)) / WORD];                                                         \
        word summary[((1u << (bits)) / WORD + 63) / WORD];                                         \
    }

/* The bytes of granules, eight in a word. */
typedef struct leaf {
    word words[(1 << LEAF_BITS) / BYTE];
} leaf;

typedef struct branch {
    SET_OF(BRANCH_BITS) set;
    leaf leaves[1u << BRANCH_BITS]; /* zeroed memory: pages that are never used are never there */
} branch;

static struct {
    SET_OF(ROOT_BITS) set;
    _Atomic(branch *) branches[1u << ROOT_BITS]; /* made when they are needed, and kept */
} root;

static int cell_index(uintptr_t address)
{
    return (int)(address >> CELL_BITS & ((1u << (GRANULE_BITS - CELL_BITS)) - 1));
}

static int leaf_index(uintptr_t address)
{
    return (int)(address >> GRANULE_BITS & ((1u << LEAF_BITS) - 1));
}

static int branch_index(uintptr_t address)
{
    return (int)(address >> (GRANULE_BITS + LEAF_BITS) & ((1u << BRANCH_BITS) - 1));
}

static int root_index(uintptr_t address)
{
    return (int)(address >> (GRANULE_BITS + LEAF_BITS + BRANCH_BITS));
}

static bool is_beyond(uintptr_t address)
{
    return address >> ADDRESS_BITS != 0;
}

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

/* From the summary down: what a bit leads to comes first. */
static inline void set_add(word *words, word *summary, int index)
{
    if (load(&words[index / WORD]) == 0)
        set_bit(summary, index / WORD);
    set_bit(words, index);
}

/* True: the set is empty now. */
static inline bool set_remove(word *words, word *summary, size_t summary_count, int index)
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

static branch *make_branch(uintptr_t address)
{
    _Atomic(branch *) *link = &root.branches[root_index(address)];
    branch *made = atomic_load_explicit(link, memory_order_acquire);
    if (made == NULL) {
        made = accel__allocate(sizeof *made);
        atomic_store_explicit(link, made, memory_order_release);
    }
    return made;
}

/* What the byte of a granule says. */
enum {
    NONE = 0,
    ONE = 1,       /* and the number of its cell */
    ONE_LAST = 64, /* the greatest of those */
    SEVERAL = 128, /* and how many, in whatever cells; it may be one that is left */
    BEYOND = 255   /* more than that can say: for ever */
};

static inline uint64_t byte_with(uint64_t byte, int cell)
{
    const uint64_t more = byte <= ONE_LAST ? SEVERAL + 2 : byte + (byte != BEYOND);
    return byte == NONE ? ONE + (uint64_t)cell : more;
}

static inline uint64_t byte_without(uint64_t byte)
{
    const uint64_t less = byte - (byte != BEYOND);
    return byte <= ONE_LAST || less == SEVERAL ? NONE : less;
}

/* Where the byte of a granule lies in its word. */
static inline int shift_of(uintptr_t begin)
{
    return leaf_index(begin) % BYTE * BYTE;
}

static inline uint64_t replace_byte(uint64_t in, int shift, uint64_t byte)
{
    return (in & ~(UINT64_C(0xff) << shift)) | byte << shift;
}

/* False: no memory for a node. */
static inline bool mark_cell(uintptr_t begin)
{
    branch *above = make_branch(begin);
    if (above == NULL)
        return false;
    word *at = &above->leaves[branch_index(begin)].words[leaf_index(begin) / BYTE];
    const int shift = shift_of(begin);
    const uint64_t now = load(at);
    if (now == 0) { /* the rest of the leaf may be, too */
        set_add(root.set.words, root.set.summary, root_index(begin));
        set_add(above->set.words, above->set.summary, branch_index(begin));
    }
    const uint64_t byte = byte_with(now >> shift & 0xff, cell_index(begin));
    atomic_store_explicit(at, replace_byte(now, shift, byte), memory_order_release);
    return true;
}

static bool is_empty(const leaf *of)
{
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof of->words / sizeof of->words[0]; i++)
        all |= load(&of->words[i]);
    return all == 0;
}

#define SET_REMOVE(set, index)                                                                     \
    set_remove((set).words, (set).summary, sizeof(set).summary / sizeof(set).summary[0], index)

static inline void unmark_cell(uintptr_t begin)
{
    branch *above = root.branches[root_index(begin)];
    leaf *below = &above->leaves[branch_index(begin)];
    word *at = &below->words[leaf_index(begin) / BYTE];
    const int shift = shift_of(begin);
    const uint64_t now = load(at);
    const uint64_t left = replace_byte(now, shift, byte_without(now >> shift & 0xff));
    atomic_store_explicit(at, left, memory_order_release);
    if (left == 0 && is_empty(below) && SET_REMOVE(above->set, branch_index(begin)))
        (void)SET_REMOVE(root.set, root_index(begin));
}

/* The greatest granule of the leaf up to `index` that has a byte; -1: none has. */
static int last_byte(const leaf *of, int index)
{
    for (; index >= 0; index = index / BYTE * BYTE - 1) {
        const int bit = last_bit(load(&of->words[index / BYTE]), index % BYTE * BYTE + BYTE - 1);
        if (bit >= 0)
            return index / BYTE * BYTE + bit / BYTE;
    }
    return -1;
}

/* The last granule with a byte that begins at `address` or before it, as its address, and the byte; UINTPTR_MAX:
 * there is none. */
static uintptr_t last_granule(uintptr_t address, uint64_t *out_byte)
{
    int in_root = root_index(address);
    int in_branch = branch_index(address);
    int in_leaf = leaf_index(address);
    for (; (in_root = set_last(root.set.words, root.set.summary, in_root)) >= 0; in_root--) {
        if (in_root != root_index(address))
            in_branch = (1 << BRANCH_BITS) - 1;
        branch *above = atomic_load_explicit(&root.branches[in_root], memory_order_acquire);
        for (; (in_branch = set_last(above->set.words, above->set.summary, in_branch)) >= 0;
             in_branch--) {
            const leaf *below = &above->leaves[in_branch];
            if (in_root != root_index(address) || in_branch != branch_index(address))
                in_leaf = (1 << LEAF_BITS) - 1;
            in_leaf = last_byte(below, in_leaf);
            if (in_leaf >= 0) {
                *out_byte = load(&below->words[in_leaf / BYTE]) >> in_leaf % BYTE * BYTE & 0xff;
                return (((uintptr_t)in_root << BRANCH_BITS | (uintptr_t)in_branch) << LEAF_BITS |
                        (uintptr_t)in_leaf)
                       << GRANULE_BITS;
            }
        }
    }
    return UINTPTR_MAX;
}

/* ---- changing ---- */

static accel_status enter(accel__range *range, uintptr_t begin)
{
    if (accel__pointers_at_once((const void *)begin) != NULL)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (!mark_cell(begin))
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    if (count > table_now()->mask)
        make_room();
    push(table_now(), range);
    count++;
    return ACCEL_OK;
}

accel_status accel__pointers_enter(accel__range *range)
{
    const uintptr_t begin = accel__range_begin(range);
    if (is_beyond(begin))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    begin_change();
    const accel_status status = enter(range, begin);
    end_change();
    return status;
}

static void leave(accel__range *range, uintptr_t begin)
{
    const accel__range_table *table = table_now();
    _Atomic(accel__range *) *link = accel__ranges_head(table, begin);
    accel__range *at = NULL;
    while ((at = load_range(link)) != NULL && at != range)
        link = &at->next[table->link];
    if (at == NULL)
        return; /* it never was entered */
    atomic_store_explicit(link, load_range(&range->next[table->link]), memory_order_release);
    count--;
    unmark_cell(begin);
}

void accel__pointers_leave(accel__range *range)
{
    const uintptr_t begin = accel__range_begin(range);
    if (is_beyond(begin))
        return;
    begin_change();
    leave(range, begin);
    end_change();
}

/* ---- finding ---- */

/* A look without the lock has found nothing: whether that is certain. `seen` is the number of before. */
static bool is_certain(uint64_t seen)
{
    return seen % 2 == 0 && atomic_load_explicit(&changes, memory_order_acquire) == seen;
}

accel__range *accel__pointers_at(const void *begin)
{
    const uint64_t seen = atomic_load_explicit(&changes, memory_order_acquire);
    accel__range *range = accel__pointers_at_once(begin);
    if (range != NULL || is_certain(seen))
        return range;
    lock();
    range = accel__pointers_at_once(begin);
    accel__spin_unlock(&change_lock);
    return range;
}

/* The last one that begins in the cell of `cell`, at `address` or before it; NULL: none. */
static accel__range *last_in_cell(uintptr_t cell, uintptr_t address)
{
    const accel__range_table *table = table_now();
    accel__range *best = NULL;
    for (accel__range *range = load_range(accel__ranges_head(table, cell)); range != NULL;
         range = load_range(&range->next[table->link])) {
        const uintptr_t begin = accel__range_begin(range);
        if (begin >> CELL_BITS == cell >> CELL_BITS && begin <= address &&
            (best == NULL || begin > accel__range_begin(best)))
            best = range;
    }
    return best;
}

/* The same in the granule that begins at `granule`, of which `byte` was seen. */
static accel__range *last_in_granule(uintptr_t granule, uint64_t byte, uintptr_t address)
{
    const uintptr_t size = (uintptr_t)1 << GRANULE_BITS;
    uintptr_t cell = (address - granule < size ? address : granule + size - 1) >> CELL_BITS
                                                                                      << CELL_BITS;
    if (byte <= ONE_LAST)
        return last_in_cell(granule + ((byte - ONE) << CELL_BITS), address);
    accel__range *range = NULL;
    while ((range = last_in_cell(cell, address)) == NULL && cell != granule)
        cell -= (uintptr_t)1 << CELL_BITS;
    return range;
}

static accel__range *last_before(uintptr_t address)
{
    uint64_t byte = NONE;
    uintptr_t granule = 0;
    for (uintptr_t at = address; (granule = last_granule(at, &byte)) != UINTPTR_MAX;
         at = granule - 1) {
        accel__range *range = byte != NONE ? last_in_granule(granule, byte, address) : NULL;
        if (range != NULL || granule == 0)
            return range;
    }
    return NULL;
}

accel__range *accel__pointers_before(const void *pointer)
{
    const uintptr_t last = ((uintptr_t)1 << ADDRESS_BITS) - 1; /* no range begins behind */
    const uintptr_t address = is_beyond((uintptr_t)pointer) ? last : (uintptr_t)pointer;
    const uint64_t seen = atomic_load_explicit(&changes, memory_order_acquire);
    accel__range *range = last_before(address);
    if (is_certain(seen))
        return range;
    lock();
    range = last_before(address);
    accel__spin_unlock(&change_lock);
    return range;
}

static bool is_around(const accel__range *range, uintptr_t address)
{
    return range != NULL && accel__range_state_of(range) == ACCEL__RANGE_LIVE &&
           address - accel__range_begin(range) < accel__range_size(range);
}

accel__range *accel__pointers_around(const void *pointer)
{
    const uintptr_t address = (uintptr_t)pointer;
    const uint64_t seen = atomic_load_explicit(&changes, memory_order_acquire);
    accel__range *range = is_beyond(address) ? NULL : last_before(address);
    if (!is_around(range, address) && !is_certain(seen))
        range = accel__pointers_before(pointer);
    return is_around(range, address) ? range : NULL;
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
