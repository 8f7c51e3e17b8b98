/* handle.h: finds released and foreign handles. In debug and invariants builds every object is listed
 * while it lives; in release builds only NULL is found, and the rest costs nothing. */
#ifndef ACCEL_BASE_HANDLE_H
#define ACCEL_BASE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum accel__handle_kind {
    ACCEL__HANDLE_STREAM = 1,
    ACCEL__HANDLE_EVENT,
    ACCEL__HANDLE_MODULE,
    ACCEL__HANDLE_KERNEL,
    ACCEL__HANDLE_GENERATOR,
    ACCEL__HANDLE_GRAPH
} accel__handle_kind;

/* First member of each object, so that a pointer to the object is one to its handle. */
typedef struct accel__handle {
    accel__handle_kind kind;
} accel__handle;

#if ACCEL_CHECK_HANDLES
void accel__handle_open(accel__handle *handle, accel__handle_kind kind);
void accel__handle_close(accel__handle *handle);
/* Reads the object only where it is listed. */
bool accel__handle_is_live(const void *object, accel__handle_kind kind);
#else
static inline void accel__handle_open(accel__handle *handle, accel__handle_kind kind)
{
    handle->kind = kind;
}

static inline void accel__handle_close(accel__handle *handle)
{
    (void)handle;
}

static inline bool accel__handle_is_live(const void *object, accel__handle_kind kind)
{
    (void)kind;
    return object != 0;
}
#endif

#endif
