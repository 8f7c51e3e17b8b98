/* SPDX-License-Identifier: MIT
 * discovery.h: why a backend has the devices it has: what was asked, what answered, what stood in the
 * way, and what to do about it. Everything here is a question, for any thread.
 */
#ifndef ACCEL_DISCOVERY_H
#define ACCEL_DISCOVERY_H

#include <accel/device.h>

ACCEL_BEGIN_DECLS

/* The one list of reasons: constant, number, short name, cause, remedy. Numbers never change. A test
 * walks it. */
#define ACCEL_REASON_LIST(X)                                                                       \
    X(ACCEL_REASON_NONE, 0, "ok", "all is well", "nothing to do")                                  \
    X(ACCEL_REASON_NO_DRIVER, 1, "no-driver", "no driver of this kind is installed",               \
      "install the vendor's driver package")                                                       \
    X(ACCEL_REASON_LIBRARY_MISSING, 2, "library-missing",                                          \
      "a file names a driver library that is not there",                                           \
      "reinstall the driver package, or remove the file that names it")                            \
    X(ACCEL_REASON_LIBRARY_UNUSABLE, 3, "library-unusable",                                        \
      "the driver library is there but cannot be loaded or lacks a function",                      \
      "reinstall the driver, in the version and for the machine type that the program has")        \
    X(ACCEL_REASON_NO_DEVICE, 4, "no-device", "the driver works and reports no device",            \
      "check that the device is plugged in, enabled and supported by this driver")                 \
    X(ACCEL_REASON_CRASHED, 5, "crashed", "the driver crashed while it was asked",                 \
      "update or remove the driver; accel leaves it out, and the others work")                     \
    X(ACCEL_REASON_HUNG, 6, "hung", "the driver did not answer in time and was stopped",           \
      "update or remove the driver, or raise ACCEL_PROBE_TIMEOUT_MS where it is merely slow")      \
    X(ACCEL_REASON_EXITED, 7, "exited", "the driver ended the process that asked it",              \
      "update or remove the driver; accel leaves it out, and the others work")                     \
    X(ACCEL_REASON_BAD_ANSWER, 8, "bad-answer", "the driver's answer makes no sense",              \
      "update or remove the driver; accel leaves it out, and the others work")                     \
    X(ACCEL_REASON_DRIVER_ERROR, 9, "driver-error", "the driver reported an error",                \
      "see the driver's own code and text; check its installation")                                \
    X(ACCEL_REASON_HELPER_MISSING, 10, "helper-missing", "the program accel-probe was not found",  \
      "install accel whole, or let ACCEL_PROBE name the program")                                  \
    X(ACCEL_REASON_HELPER_FAILED, 11, "helper-failed", "no helper process could be started",       \
      "let the process start others (limits, seccomp, noexec), or set ACCEL_BACKENDS=cpu")         \
    X(ACCEL_REASON_HIDDEN, 12, "hidden", "an environment variable hides the devices",              \
      "unset or change the variable")                                                              \
    X(ACCEL_REASON_PERMISSION, 13, "permission", "a right on a device file is missing",            \
      "add the user to the group that owns the device file, and log in again")                     \
    X(ACCEL_REASON_LEFT_OUT, 14, "left-out", "ACCEL_BACKENDS leaves the backend out",              \
      "add it to ACCEL_BACKENDS, or unset that")                                                   \
    X(ACCEL_REASON_BAD_SETTING, 15, "bad-setting", "an environment variable has no valid value",   \
      "correct the variable")

typedef enum accel_reason {
#define ACCEL_REASON_ENUM(name, number, text, cause, remedy) name = number,
    ACCEL_REASON_LIST(ACCEL_REASON_ENUM)
#undef ACCEL_REASON_ENUM
        ACCEL_REASON_MAX_ENUM = 0x7fffffff
} accel_reason;

/* Static strings; those of ACCEL_REASON_NONE for unknown numbers are "unknown". Any thread. */
ACCEL_API const char *accel_reason_name(accel_reason reason);
ACCEL_API const char *accel_reason_cause(accel_reason reason);
ACCEL_API const char *accel_reason_remedy(accel_reason reason);

/* What is known of one driver of a backend. */
typedef struct accel_driver_report {
    uint32_t struct_size; /* in */
    accel_reason reason;
    char name[64];        /* "pocl" */
    char library[512];    /* what was tried */
    char source[512];     /* the file that names it */
    char detail[256];     /* the loader's or the driver's own words, "signal 11", … */
    int32_t device_count; /* that it reported, before any hiding */
    uint32_t duration_ms; /* how long asking took */
} accel_driver_report;

/* What is known of a backend. */
typedef struct accel_backend_report {
    uint32_t struct_size; /* in */
    accel_reason reason;  /* NONE where there is a device, or none is to be expected */
    int32_t device_count; /* visible and certain */
    int32_t hidden_count; /* devices that a variable hides */
    bool cannot_tell;
    char source[64];   /* where the answer comes from: "files", "helper", "started" */
    char variable[64]; /* the variable that hides or disturbs; "" where none does */
    char detail[256];
    uint32_t driver_count; /* accel_backend_get_driver_report */
} accel_backend_report;

/* accel_backend_get_report (question): asks as accel_device_count does, and says why.
 * Errors: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_HOST_MEMORY; UNAVAILABLE and CANNOT_TELL for
 * ACCEL_BACKEND_CURRENT alone: that a backend cannot tell is no error here. */
ACCEL_API accel_status accel_backend_get_report(accel_backend backend,
                                                accel_backend_report *out_report);

/* accel_backend_get_driver_report (question): the driver of number `index`, from 0 to driver_count - 1.
 * Errors: those of accel_backend_get_report, OUT_OF_RANGE. */
ACCEL_API accel_status accel_backend_get_driver_report(accel_backend backend, uint32_t index,
                                                       accel_driver_report *out_report);

/* ---- whether this process may still fork ---- */

typedef enum accel_fork_verdict {
    ACCEL_FORK_VERDICT_CLEAN = 0, /* a forked child can use every backend */
    ACCEL_FORK_VERDICT_MAYBE = 1, /* a vendor's library is mapped, and nothing else shows */
    ACCEL_FORK_VERDICT_SPOILT = 2 /* a driver was started: a child cannot use it */
} accel_fork_verdict;

typedef struct accel_fork_report {
    uint32_t struct_size; /* in */
    accel_fork_verdict verdict;
    bool by_accel;      /* accel itself started it; else something else in the process did */
    char library[256];  /* whose library; "" where none is concerned */
    char evidence[256]; /* threads, device files, mappings */
} accel_fork_report;

/* accel_fork_state (question): reads /proc/self only. In a forked child of a process in which accel
 * started a driver the verdict is SPOILT; where something else did, open device files still tell, and
 * threads, which the child has not, do not (MAYBE). docs/doctor.md has the rules.
 * Errors: INVALID_ARGUMENT, SYSTEM (no /proc), OUT_OF_HOST_MEMORY. Any thread. */
ACCEL_API accel_status accel_fork_state(accel_fork_report *out_report);

ACCEL_END_DECLS

#endif /* ACCEL_DISCOVERY_H */
