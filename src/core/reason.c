/* reason.c: the texts of reasons, from the public list. */
#include <accel/discovery.h>

typedef struct row {
    accel_reason reason;
    const char *name;
    const char *cause;
    const char *remedy;
} row;

static const row rows[] = {
#define MAKE_ROW(constant, number, text, cause, remedy) {constant, text, cause, remedy},
    ACCEL_REASON_LIST(MAKE_ROW)
#undef MAKE_ROW
};

static const row unknown = {ACCEL_REASON_MAX_ENUM, "unknown", "unknown", "unknown"};

static const row *find(accel_reason reason)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].reason == reason)
            return &rows[i];
    return &unknown;
}

const char *accel_reason_name(accel_reason reason)
{
    return find(reason)->name;
}

const char *accel_reason_cause(accel_reason reason)
{
    return find(reason)->cause;
}

const char *accel_reason_remedy(accel_reason reason)
{
    return find(reason)->remedy;
}
