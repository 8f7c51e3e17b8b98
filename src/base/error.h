/* error.h: fills the thread's last-error record.
 * Rule: whoever first knows what went wrong calls accel__fail; callers above pass the status on
 * untouched. Release paths never call it. */
#ifndef ACCEL_BASE_ERROR_H
#define ACCEL_BASE_ERROR_H

#include <accel/status.h>

/* Records the failure and returns `status`. `function` is the public function (pass __func__ where
 * that is it); `backend` may be NULL. The message is cut at 511 bytes, at a UTF-8 boundary. */
accel_status accel__fail(accel_status status, const char *backend, const char *function,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As accel__fail, with the vendor's own code and text (NULL for none). */
accel_status accel__fail_vendor(accel_status status, const char *backend, const char *function,
                                int64_t vendor_code, const char *vendor_message, const char *format,
                                ...) __attribute__((format(printf, 6, 7)));

/* As accel__fail with errno's value and text; the status is chosen from the code: ENOMEM gives
 * OUT_OF_HOST_MEMORY, EACCES and EPERM PERMISSION, ENOENT NOT_FOUND, others SYSTEM. */
accel_status accel__fail_errno(int code, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* INVALID_ARGUMENT: the argument `what` is NULL. */
accel_status accel__fail_null(const char *function, const char *what);

/* Says that the failure just recorded was met by that public function, where another one or a backend
 * recorded it. Returns `status`; nothing where that is OK. */
accel_status accel__error_met_by(accel_status status, const char *function);

/* While a thread is muted its failures are not recorded: for release calls, and for asking several
 * backends of which some may fail. Nests. */
void accel__error_mute(void);
void accel__error_unmute(void);

/* What a thread's record holds. */
typedef struct accel__error_record {
    accel_status status;
    int64_t vendor_code;
    char backend[24];
    char function[48];
    char message[512];
    char vendor_message[192];
} accel__error_record;

/* For an attempt whose failure another one may make good: the record is saved before, and put back where
 * that was so. */
void accel__error_save(accel__error_record *out_copy);
void accel__error_restore(const accel__error_record *copy);

/* Around a function of the program's that is called from inside of a call: it may ask for the failures of its
 * own calls, though the thread is muted, and leaves none of them to the call that it interrupts. */
typedef struct accel__error_aside {
    unsigned muted;
    accel__error_record record;
} accel__error_aside;

void accel__error_set_aside(accel__error_aside *out_aside);
void accel__error_put_back(const accel__error_aside *aside);

#endif
