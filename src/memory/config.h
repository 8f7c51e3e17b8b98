/* config.h: the allocators' settings, as ACCEL_ALLOC_CONF or accel_allocator_set_config gives them.
 *
 * A set of settings is immutable and never freed, so readers need no lock and may keep a pointer for as
 * long as one operation lasts. The variable is read at the first call of either function below; while its
 * text is wrong, accel__config_get gives the defaults and accel__config_check fails. */
#ifndef ACCEL_MEMORY_CONFIG_H
#define ACCEL_MEMORY_CONFIG_H

#include <accel/allocator_config.h>
#include <stdatomic.h>

/* Powers of two from 1 MiB to 32 GiB. */
enum { ACCEL__CONFIG_INTERVALS = 16 };

typedef struct accel__config {
    /* PyTorch's keys. Sizes are bytes. */
    size_t max_split_size;         /* SIZE_MAX: unlimited */
    size_t max_non_split_rounding; /* the large segment size, else 20 MiB */
    size_t large_segment_size;     /* 0: the allocator finds the size of its segments itself */
    double garbage_collection_threshold; /* in (0, 1); 0: off */
    double per_process_memory_fraction;  /* in [0, 1]; 1: no limit */
    bool expandable_segments;            /* growable ones, where the backend can; the default */
    bool has_roundup;                    /* some division below is more than 1 */
    uint8_t roundup_log2[ACCEL__CONFIG_INTERVALS]; /* of the number of divisions; 0: none */

    /* Ours. */
    size_t memory_limit;       /* bytes that a device may reserve in this process; 0: none */
    size_t thread_cache_size;  /* bytes that a thread may cache for a device; 1 MiB; 0: none */
    size_t pinned_cache_limit; /* bytes of pinned memory that may lie cached; SIZE_MAX: unlimited */
    bool caching;     /* false: each allocation is one of the driver, each free gives back */
    bool exact_peaks; /* of several threads together, at the price of a shared counter */
    bool guard;       /* canaries before and behind each allocation */
    bool poison;      /* fills at alloc and free */
    bool is_plain;    /* caching, and neither guard nor poison: the fast way asks this alone */

    const char *text;           /* as given */
    struct accel__config *next; /* every set ever made: config.c's */
} accel__config;

/* The settings that hold now; never NULL. One load once they were read. */
extern _Atomic(const accel__config *) accel__config_current;
const accel__config *accel__config_read(void);

static inline const accel__config *accel__config_get(void)
{
    const accel__config *now = atomic_load_explicit(&accel__config_current, memory_order_acquire);
    return __builtin_expect(now != NULL, true) ? now : accel__config_read();
}

/* Fails where the variable's text is wrong: for what uses an allocator. One load once it was right. */
accel_status accel__config_check_slow(const char *function);

static inline accel_status accel__config_check(const char *function)
{
    const accel__config *now = atomic_load_explicit(&accel__config_current, memory_order_acquire);
    return __builtin_expect(now != NULL, true) ? ACCEL_OK : accel__config_check_slow(function);
}

/* `size` (at least 1) rounded as the settings say: a multiple of 512, not less than `size`; SIZE_MAX where
 * that would overflow. */
size_t accel__config_round(const accel__config *config, size_t size);

#endif
