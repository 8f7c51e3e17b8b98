/* deferred.c: see deferred.h. */
#include "core/deferred.h"

#include "base/allocate.h"

/* Whether a later call of `later`'s kind makes `earlier` needless, with nothing ordinary between. */
static bool overwrites(const accel__deferred *later, const accel__deferred *earlier)
{
    if (later->kind == ACCEL_LAZY_KIND_SEED_ALL)
        return earlier->kind != ACCEL_LAZY_KIND_ORDINARY;
    return later->kind == ACCEL_LAZY_KIND_SEED && earlier->kind == ACCEL_LAZY_KIND_SEED &&
           earlier->device.index == later->device.index;
}

/* The last ordinary call, NULL where there is none. */
static accel__deferred *find_fence(accel__deferred_queue *queue)
{
    accel__deferred *fence = queue->fence_hint;
    for (accel__deferred *node = fence != NULL ? fence : queue->head; node != NULL;
         node = node->next)
        if (node->kind == ACCEL_LAZY_KIND_ORDINARY)
            fence = node;
    queue->fence_hint = fence;
    return fence;
}

/* Unlinks what `made` makes needless. Each unlink is one store. */
static accel__deferred *unlink_overwritten(accel__deferred_queue *queue,
                                           const accel__deferred *made)
{
    accel__deferred *fence = find_fence(queue);
    _Atomic(accel__deferred *) *link = fence != NULL ? &fence->next : &queue->head;
    accel__deferred *dropped = NULL;
    queue->tail_hint = fence;
    for (accel__deferred *node = *link; node != NULL; node = *link) {
        if (!overwrites(made, node)) {
            link = &node->next;
            continue;
        }
        *link = atomic_load(&node->next);
        node->next = dropped;
        dropped = node;
    }
    return dropped;
}

accel__deferred *accel__deferred_push(accel__deferred_queue *queue, accel__deferred *made)
{
    accel__deferred *dropped = made->kind == ACCEL_LAZY_KIND_ORDINARY
                                   ? NULL
                                   : unlink_overwritten(queue, made);
    _Atomic(accel__deferred *) *link = queue->tail_hint != NULL ? &queue->tail_hint->next
                                                                : &queue->head;
    while (*link != NULL)
        link = &atomic_load(link)->next;
    *link = made;
    queue->tail_hint = made;
    if (made->kind == ACCEL_LAZY_KIND_ORDINARY)
        queue->fence_hint = made;
    return dropped;
}

accel__deferred *accel__deferred_pop(accel__deferred_queue *queue)
{
    accel__deferred *first = queue->head;
    if (first == NULL)
        return NULL;
    if (queue->tail_hint == first)
        queue->tail_hint = NULL;
    if (queue->fence_hint == first)
        queue->fence_hint = NULL;
    queue->head = atomic_load(&first->next);
    return first;
}

void accel__deferred_drop(accel__deferred *chain)
{
    while (chain != NULL) {
        accel__deferred *next = chain->next;
        if (chain->drop != NULL)
            chain->drop(chain->user);
        accel__deallocate(chain);
        chain = next;
    }
}
