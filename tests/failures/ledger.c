/* ledger.c: see ledger.h. Reads with the system's calls alone: what it had to allocate it would count. */
#include "ledger.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "failures.h"

/* ---- reading ---- */

static int64_t count_entries(const char *path)
{
    int64_t count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

static int64_t count_lines(const char *path)
{
    static char block[1 << 16];
    int64_t count = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t size; file >= 0 && (size = read(file, block, sizeof block)) > 0;)
        for (ssize_t i = 0; i < size; i++)
            count += block[i] == '\n';
    if (file >= 0)
        close(file);
    return count;
}

static int64_t read_resident(void)
{
    char text[200] = "";
    long long size = 0;
    long long resident = 0;
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0)
        sscanf(text, "%lld %lld", &size, &resident);
    if (file >= 0)
        close(file);
    return resident * sysconf(_SC_PAGESIZE);
}

ledger ledger_read(void)
{
    return (ledger){.blocks = failures_live_blocks(),
                    .mapped_size = failures_mapped_size(),
                    .driver_objects = failures_driver_objects(),
                    .descriptors = count_entries("/proc/self/fd"),
                    .threads = count_entries("/proc/self/task"),
                    .mappings = count_lines("/proc/self/maps"),
                    .resident = read_resident()};
}

bool ledger_grew(const ledger *before, const ledger *now, char *text, size_t capacity)
{
    const struct {
        const char *name;
        int64_t before, now;
    } rows[] = {{"blocks of host memory", before->blocks, now->blocks},
                {"bytes mapped", before->mapped_size, now->mapped_size},
                {"objects of the driver", before->driver_objects, now->driver_objects},
                {"descriptors", before->descriptors, now->descriptors},
                {"threads", before->threads, now->threads}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = LEDGER_FIRST; i < sizeof rows / sizeof rows[0] && used < capacity; i++)
        if (rows[i].now > rows[i].before)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s: %lld, before %lld",
                                     used != 0 ? "; " : "", rows[i].name, (long long)rows[i].now,
                                     (long long)rows[i].before);
    return used != 0;
}

/* ---- back to zero ---- */

static void check_figures(world *w, accel_device device)
{
    accel_memory_statistics memory = {.struct_size = sizeof memory};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    MUST(accel_memory_stats(device, &memory) == ACCEL_OK);
    for (int i = 0; i < ACCEL_MEMORY_STAT_POOL_COUNT; i++) {
        MUST(memory.allocation[i].current == 0);
        MUST(memory.allocated_bytes[i].current == 0);
        MUST(memory.active[i].current == 0);
        MUST(memory.active_bytes[i].current == 0);
        MUST(memory.requested_bytes[i].current == 0);
        MUST(memory.reserved_bytes[i].current == 0);
        MUST(memory.inactive_split[i].current == 0);
    }
    MUST(accel_host_memory_stats(device, &host) == ACCEL_OK);
    MUST(host.active_requests.current == 0);
    MUST(host.segments.current == 0);
    MUST(host.reserved_bytes.current == 0);
}

void ledger_settle(world *w)
{
    MUST(accel_synchronize(w->device) == ACCEL_OK);
    MUST(accel_synchronize(w->other) == ACCEL_OK);
    MUST(accel_empty_host_cache() == ACCEL_OK);
    MUST(accel_empty_cache() == ACCEL_OK); /* also of events that the other has given back */
    MUST(accel_shutdown() == ACCEL_OK);
    check_figures(w, w->device);
    check_figures(w, w->other);
}
