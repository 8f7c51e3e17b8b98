/* flat.c: see flat.h. The rounds are cut into slices; the first warms up. Caches grow now and then, until they
 * have what a process ever needs at once; what leaks grows in slice after slice. Resident memory and the
 * lines of /proc/self/maps, which the C library and a driver have a part in, may do that a little. */
#include "flat.h"

#include <time.h>

#include "failures.h"
#include "ledger.h"

/* Streams that are released live until a worker has looked at them: every so often all have. */
enum { SLICES = 9, SLICES_GROWN_MOST = 6, SETTLE_ROUNDS = 16 };

/* One number of the ledger. */
static const struct row {
    const char *name;
    size_t offset;
    int64_t slack; /* it may grow by so much in all, in however many slices */
} rows[] = {
    {"blocks of host memory", offsetof(ledger, blocks), 0},
    {"bytes mapped", offsetof(ledger, mapped_size), 0},
    {"objects of the driver", offsetof(ledger, driver_objects), 0},
    {"descriptors", offsetof(ledger, descriptors), 0},
    {"threads", offsetof(ledger, threads), 0},
    {"lines of /proc/self/maps", offsetof(ledger, mappings), 16},
    {"resident bytes", offsetof(ledger, resident), 2 << 20},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int64_t value_of(const ledger *from, const struct row *row)
{
    int64_t value;
    memcpy(&value, (const char *)from + row->offset, sizeof value);
    return value;
}

static bool run_round(world *w, const scenario *of)
{
    w->turn++;
    w->failed[0] = w->wrong[0] = '\0';
    w->called = w->called_wanted = 0;
    w->is_clean = true;
    if (of->prepare != NULL)
        of->prepare(w);
    const accel_status status = of->run(w);
    if (of->check != NULL)
        of->check(w);
    return status == ACCEL_OK && w->wrong[0] == '\0';
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool run_slice(world *w, const scenario *of, unsigned rounds, double seconds)
{
    const double end = now() + seconds;
    bool ok = true;
    for (unsigned i = 0; (i < rounds || now() < end) && ok; i++) {
        ok = run_round(w, of);
        if (ok && i % SETTLE_ROUNDS == SETTLE_ROUNDS - 1)
            ledger_settle(w);
    }
    if (ok)
        ledger_settle(w);
    ok = ok && w->wrong[0] == '\0';
    if (!ok)
        fprintf(stderr, "%s, run %u: %s %s: %s\n", of->name, w->turn, w->failed, w->wrong,
                accel_last_error_message());
    return ok;
}

static bool is_flat(const struct row *row, const ledger slices[SLICES + 1])
{
    unsigned grown = 0;
    for (int i = 0; i < SLICES; i++)
        grown += value_of(&slices[i + 1], row) > value_of(&slices[i], row);
    return grown <= SLICES_GROWN_MOST ||
           value_of(&slices[SLICES], row) - value_of(&slices[0], row) <= row->slack;
}

static void print_growth(const scenario *of, const struct row *row, const ledger slices[SLICES + 1],
                         unsigned rounds)
{
    fprintf(stderr, "%s, %u runs a slice, %s:", of->name, rounds, row->name);
    for (int i = 0; i <= SLICES; i++)
        fprintf(stderr, " %lld", (long long)value_of(&slices[i], row));
    fprintf(stderr, "\n");
}

bool flat_run(world *w, const scenario *of, unsigned rounds, double seconds)
{
    ledger slices[SLICES + 1];
    bool flat = true;
    const unsigned each = rounds / (SLICES + 1) + 1;
    for (int i = 0; i <= SLICES; i++) {
        if (!run_slice(w, of, each, seconds / (SLICES + 1)))
            return false;
        slices[i] = ledger_read();
    }
    for (int i = LEDGER_FIRST; i < ROWS - LEDGER_LEFT_OUT; i++) {
        if (is_flat(&rows[i], slices))
            continue;
        print_growth(of, &rows[i], slices, each);
        flat = false;
    }
    return flat;
}
