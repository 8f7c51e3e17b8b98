/* ledger_backend.c: see ledger_backend.h. One list of what is had, under one mutex. */
#include "doubles/ledger_backend.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "doubles/mock_backend.h"

enum { PAGE = 2 * 1024 * 1024, BUCKETS = 4096 };

typedef struct entry {
    struct entry *next; /* in its bucket, or in the list of ranges */
    uintptr_t begin;
    size_t size;
    unsigned char *pages; /* of a range: which have memory */
} entry;

ledger_control ledger;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry *buckets[BUCKETS];
static entry *ranges;
static uintptr_t next_address = (uintptr_t)1 << 40;

static void mistake(const char *what, const void *pointer)
{
    fprintf(stderr, "ledger: %s: %p\n", what, pointer);
    ledger.mistakes++;
}

static entry **bucket_of(uintptr_t begin)
{
    return &buckets[begin / 512 * 0x9e3779b97f4a7c15u >> 52];
}

/* Whether the call that begins now shall fail. */
static bool fails(void)
{
    unsigned left = ledger.fail_after;
    while (left != 0 && !atomic_compare_exchange_weak(&ledger.fail_after, &left, left - 1))
        continue;
    return left == 1;
}

static accel_status out_of_memory(const char *function, size_t size)
{
    return accel__fail_vendor(ACCEL_ERROR_OUT_OF_MEMORY, "ledger", function, MOCK_VENDOR_CODE,
                              MOCK_VENDOR_TEXT, "no %zu bytes", size);
}

static void tell_taken(uintptr_t begin, size_t size)
{
    void (*function)(uintptr_t, size_t) = ledger.on_taken;
    if (function != NULL)
        function(begin, size);
}

/* Takes from the capacity; with the mutex held. */
static bool take(size_t size)
{
    if (size > ledger.capacity || ledger.used > ledger.capacity - size)
        return false;
    ledger.used += size;
    ledger.given++;
    ledger.given_bytes += size;
    if (ledger.used > ledger.peak)
        ledger.peak = atomic_load(&ledger.used);
    return true;
}

static uintptr_t draw_address(size_t size, size_t alignment)
{
    const size_t least = alignment > PAGE ? alignment : PAGE;
    const uintptr_t begin = (next_address + least - 1) & ~(uintptr_t)(least - 1);
    next_address = begin + size + PAGE;
    return begin;
}

static entry *make(size_t size, size_t alignment)
{
    entry *made = calloc(1, sizeof *made);
    made->size = size;
    made->begin = draw_address(size, alignment);
    return made;
}

static accel_status ledger_alloc(accel_native_device *device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    (void)device;
    *out_pointer = NULL;
    pthread_mutex_lock(&mutex);
    ledger.calls++;
    const bool good = !fails() && take(size);
    if (good) {
        entry *made = make(size, alignment);
        entry **bucket = bucket_of(made->begin);
        made->next = *bucket;
        *bucket = made;
        ledger.allocations++;
        ledger.made++;
        *out_pointer = (void *)made->begin;
    }
    pthread_mutex_unlock(&mutex);
    return good ? ACCEL_OK : out_of_memory("ledgerAlloc", size);
}

static void ledger_free(accel_native_device *device, void *pointer)
{
    (void)device;
    pthread_mutex_lock(&mutex);
    ledger.calls++;
    entry **link = bucket_of((uintptr_t)pointer);
    while (*link != NULL && (*link)->begin != (uintptr_t)pointer)
        link = &(*link)->next;
    entry *found = *link;
    if (found != NULL) {
        *link = found->next;
        tell_taken(found->begin, found->size);
        ledger.used -= found->size;
        ledger.taken++;
        ledger.allocations--;
        free(found);
    } else {
        mistake("free of what was not allocated", pointer);
    }
    pthread_mutex_unlock(&mutex);
}

static accel_status ledger_memory_info(int32_t index, size_t *out_free, size_t *out_total)
{
    (void)index;
    *out_total = ledger.capacity;
    *out_free = ledger.capacity - ledger.used;
    return ACCEL_OK;
}

/* ---- virtual memory ---- */

static accel_status ledger_granularity(accel_native_device *device, size_t *out_bytes)
{
    (void)device;
    *out_bytes = PAGE;
    return ACCEL_OK;
}

static accel_status ledger_reserve(accel_native_device *device, size_t size, void **out_address)
{
    (void)device;
    *out_address = NULL;
    pthread_mutex_lock(&mutex);
    const bool good = !ledger.no_addresses && !fails();
    if (good) {
        entry *made = make(size, PAGE);
        made->pages = calloc(size / PAGE + 1, 1);
        made->next = ranges;
        ranges = made;
        ledger.reserved += size;
        *out_address = (void *)made->begin;
    }
    pthread_mutex_unlock(&mutex);
    return good ? ACCEL_OK : out_of_memory("ledgerReserve", size);
}

static entry *find_range(const void *address)
{
    entry *found = ranges;
    while (found != NULL && (uintptr_t)address - found->begin >= found->size)
        found = found->next;
    return found;
}

static void ledger_release(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    pthread_mutex_lock(&mutex);
    entry **link = &ranges;
    while (*link != NULL && (*link)->begin != (uintptr_t)address)
        link = &(*link)->next;
    entry *found = *link;
    if (found == NULL || found->size != size) {
        mistake("release of what was not reserved", address);
    } else {
        if (memchr(found->pages, 1, size / PAGE) != NULL)
            mistake("release of addresses with memory", address);
        *link = found->next;
        ledger.reserved -= size;
        free(found->pages);
        free(found);
    }
    pthread_mutex_unlock(&mutex);
}

/* The pages of a part, all of which must be `now`; NULL: a mistake. */
static unsigned char *pages_of(void *address, size_t size, int now)
{
    entry *range = find_range(address);
    if (range == NULL || (uintptr_t)address % PAGE != 0 || size % PAGE != 0 || size == 0 ||
        (uintptr_t)address - range->begin + size > range->size) {
        mistake("not a part of a range", address);
        return NULL;
    }
    unsigned char *pages = range->pages + ((uintptr_t)address - range->begin) / PAGE;
    if (memchr(pages, !now, size / PAGE) != NULL) {
        mistake(now ? "it has no memory" : "it has memory", address);
        return NULL;
    }
    return pages;
}

static accel_status ledger_commit(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    pthread_mutex_lock(&mutex);
    ledger.calls++;
    unsigned char *pages = pages_of(address, size, 0);
    const bool good = pages != NULL && !fails() && take(size);
    if (good)
        memset(pages, 1, size / PAGE);
    pthread_mutex_unlock(&mutex);
    void (*on_given)(void) = ledger.on_given;
    if (good && on_given != NULL)
        on_given();
    return good ? ACCEL_OK : out_of_memory("ledgerCommit", size);
}

static void ledger_decommit(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    pthread_mutex_lock(&mutex);
    ledger.calls++;
    unsigned char *pages = pages_of(address, size, 1);
    if (pages != NULL) {
        tell_taken((uintptr_t)address, size);
        memset(pages, 0, size / PAGE);
        ledger.used -= size;
        ledger.taken++;
    }
    pthread_mutex_unlock(&mutex);
}

accel_backend_table ledger_table(bool with_virtual_memory)
{
    accel_backend_table table = mock_table();
    table.name = with_virtual_memory ? "growing_ledger" : "ledger";
    table.memory.alloc = ledger_alloc;
    table.memory.free = ledger_free;
    table.device.memory_info = ledger_memory_info;
    if (with_virtual_memory)
        table.virtual_memory = (accel_backend_virtual){
            .granularity = ledger_granularity,
            .reserve = ledger_reserve,
            .release = ledger_release,
            .commit = ledger_commit,
            .decommit = ledger_decommit,
        };
    return table;
}
