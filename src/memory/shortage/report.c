/* report.c: see report.h. */
#include "memory/shortage/report.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <accel/allocator.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "core/device.h"
#include "memory/heap/heap_parts.h"
#include "memory/history/history.h"
#include "memory/shortage/pressure.h"
#include "memory/statistics/statistics.h"

/* The thread's last report; NULL: there was none. Not in the thread-local storage itself: that of a
 * library that is opened at run time must be small. Freed by the key when the thread ends. */
static _Thread_local accel_out_of_memory_report *last;
static pthread_key_t last_key;
static pthread_once_t last_once = PTHREAD_ONCE_INIT;
static bool last_is_possible;

/* ---- figures ---- */

static void add_heap(accel_out_of_memory_report *report, accel__heap *heap)
{
    accel__heap_summary summary;
    accel__heap_summarize(heap, &summary);
    report->reserved += summary.reserved;
    report->cached += summary.free_bytes;
    if (summary.largest > report->largest_hole)
        report->largest_hole = summary.largest;
    if (report->pool_count == ACCEL_OUT_OF_MEMORY_POOLS_MAX)
        return;
    report->pools[report->pool_count++] = (accel_out_of_memory_pool){
        .id = {.first = summary.id[0], .second = summary.id[1]},
        .reserved = summary.reserved,
        .cached = summary.free_bytes,
        .largest_hole = summary.largest,
    };
}

static void ask_device(accel_out_of_memory_report *report, const accel__device *device)
{
    accel__error_mute();
    if (device->backend->table.device.memory_info(
            accel__inventory_table_index(device->backend, device->id.index), &report->free,
            &report->total) != ACCEL_OK)
        report->free = report->total = 0;
    accel__error_unmute();
    /* On the host, what is reserved but untouched counts as free: then nothing can be said of others. */
    const size_t known = report->free + report->reserved;
    report->others = report->total > known ? report->total - known : 0;
}

static void fill(accel_out_of_memory_report *report, accel__heap *failed)
{
    accel__device *device = failed->device;
    report->device = device->id;
    for (accel__heap *heap = accel__heap_first(device); heap != NULL; heap = accel__heap_next(heap))
        add_heap(report, heap);
    report->allocated = report->reserved - report->cached;
    if (report->cached != 0)
        report->fragmentation = 1.0 - (double)report->largest_hole / (double)report->cached;
    const size_t limit = accel__limit_get(device);
    report->limit = limit != SIZE_MAX ? limit : 0;
    ask_device(report, device);
}

/* ---- text ---- */

typedef struct amount {
    char text[32];
} amount;

static amount show(size_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    amount shown;
    double value = (double)bytes / 1024.0;
    int unit = 0;
    while (value >= 1024.0 && unit < 3) {
        value /= 1024.0;
        unit++;
    }
    if (bytes < 1024)
        snprintf(shown.text, sizeof shown.text, "%zu bytes", bytes);
    else
        snprintf(shown.text, sizeof shown.text, "%.2f %s", value, units[unit]);
    return shown;
}

__attribute__((format(printf, 2, 3))) static void append(accel_out_of_memory_report *report,
                                                         const char *format, ...)
{
    const size_t size = strlen(report->text);
    va_list list;
    va_start(list, format);
    vsnprintf(report->text + size, sizeof report->text - size, format, list);
    va_end(list);
}

static void tell_asked(accel_out_of_memory_report *report, const accel__device *device)
{
    append(report, "%s asked of %s:%d", show(report->asked).text, device->backend->table.name,
           (int)report->device.index);
    if (report->rounded != report->asked)
        append(report, " (%s rounded)", show(report->rounded).text);
    if (report->limit_forbade)
        append(report, ": its limit of %s for this process forbids %s more",
               show(report->limit).text, show(report->wanted).text);
    else
        append(report, ": the driver has no %s", show(report->wanted).text);
    append(report, ". Reserved %s: %s in use, %s cached", show(report->reserved).text,
           show(report->allocated).text, show(report->cached).text);
    if (report->cached != 0)
        append(report, " (largest hole %s, fragmentation %.0f %%)", show(report->largest_hole).text,
               100.0 * report->fragmentation);
    if (report->total != 0)
        append(report, ". Device: %s, %s free", show(report->total).text, show(report->free).text);
    if (report->others != 0)
        append(report, ", %s used by others", show(report->others).text);
    if (report->limit != 0 && !report->limit_forbade)
        append(report, "; limit of this process %s", show(report->limit).text);
    append(report, ".");
}

static void tell_pools(accel_out_of_memory_report *report)
{
    for (uint32_t i = 0; i < report->pool_count; i++) {
        const accel_out_of_memory_pool *pool = &report->pools[i];
        if (pool->reserved != 0 && (pool->id.first != 0 || pool->id.second != 0))
            append(report, " Pool (%llu, %llu): %s reserved, %s free, largest hole %s.",
                   (unsigned long long)pool->id.first, (unsigned long long)pool->id.second,
                   show(pool->reserved).text, show(pool->cached).text,
                   show(pool->largest_hole).text);
    }
}

/* Only what was not done yet and would help. */
static void advise(accel_out_of_memory_report *report, const accel__heap *heap)
{
    const accel__config *config = accel__config_get();
    const bool can_grow = accel__backend_owns(heap->device->backend, ACCEL__GROUP_VIRTUAL);
    const bool cache_would_do = report->cached >= report->rounded;
    if (cache_would_do && can_grow && !config->expandable_segments)
        append(report, " The cached memory is in pieces: expandable_segments:True joins them.");
    else if (cache_would_do && !can_grow && config->max_split_size == SIZE_MAX)
        append(report,
               " The cached memory is in pieces: max_split_size_mb keeps large ones whole.");
    if (report->limit_forbade && report->free >= report->wanted)
        append(report, " The device has the memory: a higher limit allows it.");
    else if (!report->limit_forbade && report->others > report->rounded)
        append(report, " Other processes hold more than was asked.");
}

/* ---- the failure ---- */

static accel_status record(const accel_out_of_memory_report *report, const accel__device *device)
{
    accel__error_record driver;
    accel__error_save(&driver);
    const bool has_vendor = !report->limit_forbade && driver.status == ACCEL_ERROR_OUT_OF_MEMORY;
    return accel__fail_vendor(ACCEL_ERROR_OUT_OF_MEMORY, device->backend->table.name,
                              "accel_memory_alloc", has_vendor ? driver.vendor_code : 0,
                              has_vendor ? driver.vendor_message : NULL, "%s", report->text);
}

static void forget_last(void *report)
{
    accel__deallocate(report);
    last = NULL;
}

static void make_last_key(void)
{
    last_is_possible = pthread_key_create(&last_key, forget_last) == 0;
}

/* Where there is no host memory for it, the thread has no report. */
static void keep_last(const accel_out_of_memory_report *report)
{
    pthread_once(&last_once, make_last_key);
    if (last == NULL && last_is_possible)
        last = accel__allocate(sizeof *last);
    if (last != NULL && pthread_setspecific(last_key, last) != 0) {
        accel__deallocate(last);
        last = NULL;
    }
    if (last != NULL)
        *last = *report;
}

accel_status accel__report_out_of_memory(accel__heap *heap, size_t asked, size_t rounded,
                                         size_t wanted, bool limit_forbade)
{
    accel_out_of_memory_report report = {.struct_size = sizeof report,
                                         .asked = asked,
                                         .rounded = rounded,
                                         .wanted = wanted,
                                         .limit_forbade = limit_forbade};
    accel__device *device = heap->device;
    fill(&report, heap);
    tell_asked(&report, device);
    tell_pools(&report);
    advise(&report, heap);
    accel__statistics_count(device, ACCEL__COUNTER_OOMS);
    if (limit_forbade)
        accel__statistics_count(device, ACCEL__COUNTER_OOM_REJECTIONS);
    if (accel__history_is_on())
        accel__history_segment(ACCEL__HISTORY_OOM, device, report.free, rounded, 0,
                               heap->options.id);
    keep_last(&report);
    const accel_status status = record(&report, device);
    accel__pressure_tell(&report);
    return status;
}

accel_status accel_allocator_get_out_of_memory_report(accel_out_of_memory_report *out_report)
{
    const accel_status status = accel__out_check(out_report, __func__);
    if (status == ACCEL_OK && last != NULL)
        accel__out_write(out_report, last, sizeof *last);
    else if (status == ACCEL_OK)
        accel__out_clear(out_report);
    return status;
}
