/* block.c: where the structures of blocks come from. Slabs of them are taken from the host and never
 * given back; a heap keeps those that it does not need, and leaves them to the next heap at its end. */
#include "memory/heap/block.h"

#include <string.h>

#include "base/allocate.h"
#include "platform/mutex.h"

enum { SLAB_COUNT = 64 };

/* Slabs are chained, so that all of them can be reached for as long as the process lives. */
typedef struct slab {
    struct slab *next;
    accel__block blocks[SLAB_COUNT];
} slab;

/* Guards what follows; a leaf. In a forked child a half-made change may be seen: `common` is then left
 * alone, by its generation. */
static accel__mutex common_mutex;
static slab *slabs;
static accel__block *common; /* linked by bin_after */
static uint32_t common_generation;

/* As many of the common ones as a slab has: who took all would have the next heap make new ones, and at its end
 * there would be more than ever. False: there are none. */
static bool take_common(accel__block_store *store)
{
    size_t count = 0;
    accel__mutex_lock(&common_mutex);
    if (common_generation != accel__generation())
        common = NULL;
    for (; common != NULL && count < SLAB_COUNT; count++) {
        accel__block *block = common;
        common = block->bin_after;
        accel__block_recycle(store, block);
    }
    accel__mutex_unlock(&common_mutex);
    return count != 0;
}

static bool add_slab(accel__block_store *store)
{
    slab *made = accel__allocate_aligned(sizeof *made, _Alignof(slab));
    if (made == NULL)
        return false;
    accel__mutex_lock(&common_mutex);
    made->next = slabs;
    slabs = made;
    accel__mutex_unlock(&common_mutex);
    for (size_t i = SLAB_COUNT; i-- > 0;)
        accel__block_recycle(store, &made->blocks[i]);
    return true;
}

bool accel__block_reserve_slow(accel__block_store *store, size_t count)
{
    while (store->count < count)
        if (!take_common(store) && !add_slab(store))
            return false;
    return true;
}

void accel__block_store_close(accel__block_store *store)
{
    accel__mutex_lock(&common_mutex);
    if (common_generation != accel__generation())
        common = NULL;
    common_generation = accel__generation();
    while (store->spare != NULL) {
        accel__block *block = store->spare;
        store->spare = block->bin_after;
        block->bin_after = common;
        common = block;
    }
    accel__mutex_unlock(&common_mutex);
    store->count = 0;
}
