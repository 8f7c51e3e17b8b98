/* probe_record.h: what accel-probe writes to the process that started it, and how that reads it: a
 * header, any number of devices, an end. Both come from one installation and one machine; the header
 * catches a mix of versions. Everything read is checked: a driver may have written into the pipe. */
#ifndef ACCEL_CORE_PROBE_RECORD_H
#define ACCEL_CORE_PROBE_RECORD_H

#include <accel/backend.h>

enum {
    ACCEL__PROBE_MAGIC = 0x50434341, /* "ACCP" */
    ACCEL__PROBE_VERSION = 1,
    ACCEL__PROBE_DEVICE_MAX = 256,
    ACCEL__PROBE_TIMEOUT_MS = 3000 /* default of ACCEL_PROBE_TIMEOUT_MS */
};

typedef struct accel__probe_header {
    uint32_t magic;
    uint32_t version;
    uint32_t library_version; /* accel_version() */
    uint32_t found_size;      /* sizeof(accel_backend_found) */
} accel__probe_header;

typedef enum accel__probe_kind { ACCEL__PROBE_FOUND = 1, ACCEL__PROBE_END = 2 } accel__probe_kind;

typedef struct accel__probe_end {
    uint32_t reason; /* accel_reason */
    uint32_t found_count;
    char detail[256];
} accel__probe_end;

typedef struct accel__probe_message {
    uint32_t kind;
    uint32_t size; /* of the payload, which follows */
} accel__probe_message;

static inline accel__probe_header accel__probe_header_make(void)
{
    return (accel__probe_header){ACCEL__PROBE_MAGIC, ACCEL__PROBE_VERSION, accel_version(),
                                 sizeof(accel_backend_found)};
}

/* Checks `size` bytes. On success *out_end is the end, with the number of devices, which
 * accel__probe_found copies out. False: it is no whole record; *out_text says why. */
bool accel__probe_parse(const char *bytes, size_t size, accel__probe_end *out_end,
                        const char **out_text);
accel_backend_found accel__probe_found(const char *bytes, uint32_t index);

/* The size of a whole record with that many devices. */
size_t accel__probe_size(uint32_t found_count);

#endif
