/* SPDX-License-Identifier: MIT
 * status.h: how calls fail. Each fallible function returns an accel_status; the thread's last-error
 * record says what failed, in which backend, and with which code and text of the vendor.
 */
#ifndef ACCEL_STATUS_H
#define ACCEL_STATUS_H

#include <accel/base.h>

ACCEL_BEGIN_DECLS

/* The one list of statuses: name, number, short text. Numbers never change and are never reused;
 * new ones are added at the end. */
#define ACCEL_STATUS_LIST(X)                                                                       \
    X(ACCEL_OK, 0, "success")                                                                      \
    X(ACCEL_ERROR_INVALID_ARGUMENT, 1, "an argument is not valid")                                 \
    X(ACCEL_ERROR_OUT_OF_RANGE, 2, "an index, size or offset is out of range")                     \
    X(ACCEL_ERROR_OUT_OF_MEMORY, 3, "the device has too little free memory")                       \
    X(ACCEL_ERROR_OUT_OF_HOST_MEMORY, 4, "the host has too little free memory")                    \
    X(ACCEL_ERROR_UNSUPPORTED, 5, "this backend or device cannot do that")                         \
    X(ACCEL_ERROR_NOT_FOUND, 6, "no such backend, device, kernel or file")                         \
    X(ACCEL_ERROR_UNAVAILABLE, 7, "no usable accelerator")                                         \
    X(ACCEL_ERROR_CANNOT_TELL, 8, "the hardware could not be asked")                               \
    X(ACCEL_ERROR_FORKED, 9, "the process was forked after this backend had started")              \
    X(ACCEL_ERROR_NOT_READY, 10, "the work has not finished yet")                                  \
    X(ACCEL_ERROR_INVALID_STATE, 11, "the object is not in a state that allows this")              \
    X(ACCEL_ERROR_MISMATCH, 12, "two objects belong to different devices or backends")             \
    X(ACCEL_ERROR_BUILD_FAILED, 13, "a kernel could not be compiled")                              \
    X(ACCEL_ERROR_NO_COMPILER, 14, "no compiler was found")                                        \
    X(ACCEL_ERROR_DEVICE_FAILED, 15, "the device reported a failure")                              \
    X(ACCEL_ERROR_IO, 16, "a file could not be read or written")                                   \
    X(ACCEL_ERROR_PERMISSION, 17, "a right is missing")                                            \
    X(ACCEL_ERROR_IN_CALLBACK, 18, "not allowed inside a callback")                                \
    X(ACCEL_ERROR_START_FAILED, 19, "the backend could not be started")                            \
    X(ACCEL_ERROR_SYSTEM, 20, "the operating system refused a request")                            \
    X(ACCEL_ERROR_INTERNAL, 21, "accel has a fault; please report it")                             \
    X(ACCEL_ERROR_CAPTURE, 22, "not possible in a capture, or the capture failed")                 \
    X(ACCEL_ERROR_CORRUPTED, 23, "memory was written to outside of its allocation")

typedef enum accel_status {
#define ACCEL_STATUS_ENUM(name, number, text) name = number,
    ACCEL_STATUS_LIST(ACCEL_STATUS_ENUM)
#undef ACCEL_STATUS_ENUM
        ACCEL_STATUS_MAX_ENUM = 0x7fffffff /* fixes the size of the enum */
} accel_status;

/* The last failure on a thread. The strings are never NULL ("" where there is nothing to say) and
 * are lent: they live until the next failure on the same thread. */
typedef struct accel_error {
    uint32_t struct_size;       /* in: sizeof(accel_error) */
    accel_status status;        /* ACCEL_OK where nothing has failed on this thread yet */
    int64_t vendor_code;        /* the vendor's or the system's own code (errno), 0 where none */
    const char *backend;        /* "cuda"; "" where no backend was involved */
    const char *function;       /* the public function that failed */
    const char *message;        /* what failed and what to do about it, in one line */
    const char *vendor_message; /* the vendor's or the system's own text */
} accel_error;

/* accel_last_error (question): the last failure on the calling thread. It stays until the next
 * failure: neither success nor a release call changes it.
 * Errors: INVALID_ARGUMENT for NULL, or a struct_size that was not set (the record itself is left alone).
 * Any thread; fork: the child's thread keeps the record. */
ACCEL_API accel_status accel_last_error(accel_error *out_error);

/* accel_last_error_message (question): the message of accel_last_error(), "" where nothing has
 * failed. Lent until the next failure on the calling thread. Any thread; fork: as above. */
ACCEL_API const char *accel_last_error_message(void);

/* accel_status_name (question): "ACCEL_ERROR_FORKED"; "ACCEL_ERROR_UNKNOWN" for another number.
 * Static string; any thread. */
ACCEL_API const char *accel_status_name(accel_status status);

/* accel_status_text (question): the short text of a status; "unknown status" for another number. Static
 * string; any thread. */
ACCEL_API const char *accel_status_text(accel_status status);

ACCEL_END_DECLS

#endif /* ACCEL_STATUS_H */
