/* mock_backend.h: a backend for tests of the core. Its devices live in host memory that it claims the
 * host cannot touch, its streams run on whatever thread pushes them on, and a stream can be held so
 * that work stays pending for as long as a test likes. Every call is counted and can be made to fail.
 * It does not survive a fork, and has no optional group unless a test adds some. */
#ifndef TESTS_DOUBLES_MOCK_BACKEND_H
#define TESTS_DOUBLES_MOCK_BACKEND_H

#include <accel/backend.h>
#include <stdatomic.h>

typedef enum mock_call {
    MOCK_PROBE,
    MOCK_START,
    MOCK_STOP,
    MOCK_DESCRIBE,
    MOCK_CAPABILITY,
    MOCK_OPEN,
    MOCK_MEMORY_INFO,
    MOCK_ALLOC,
    MOCK_FREE,
    MOCK_COPY,
    MOCK_FILL,
    MOCK_STREAM_CREATE,
    MOCK_STREAM_DESTROY,
    MOCK_STREAM_QUERY,
    MOCK_STREAM_SYNCHRONIZE,
    MOCK_EVENT_CREATE,
    MOCK_EVENT_DESTROY,
    MOCK_EVENT_RECORD,
    MOCK_EVENT_QUERY,
    MOCK_EVENT_SYNCHRONIZE,
    MOCK_EVENT_WAIT,
    MOCK_KERNEL,
    MOCK_LAUNCH,
    MOCK_CALLS
} mock_call;

enum { MOCK_DEVICES_MAX = 256, MOCK_VENDOR_CODE = 719 };
#define MOCK_VENDOR_TEXT "the mock was told to fail"

typedef struct mock_control {
    _Atomic(int32_t) device_count;
    _Atomic(bool) cannot_tell;
    _Atomic(unsigned) start_ms; /* how long a start takes */
    _Atomic(unsigned) calls[MOCK_CALLS];
    _Atomic(unsigned) fail[MOCK_CALLS]; /* that many next calls fail */
    _Atomic(unsigned) opened[MOCK_DEVICES_MAX];
    _Atomic(int) objects;      /* native objects and allocations that live now */
    _Atomic(uint32_t) process; /* of the last call but probe, describe, capability */
} mock_control;

extern mock_control mock;

/* A copy of the table, to be changed and registered. */
accel_backend_table mock_table(void);

/* New streams are held until mock_release_all: their work stays pending. */
void mock_hold_new_streams(bool hold);
/* Lets every held stream run; streams made later are not held. */
void mock_release_all(void);

#endif
