/* module.h: modules and kernels as the core keeps them. src/kernel makes modules from source on top. */
#ifndef ACCEL_CORE_MODULE_H
#define ACCEL_CORE_MODULE_H

#include <accel/cpu.h>
#include <accel/kernel.h>

#include "base/text.h"
#include "core/device.h"

struct accel_kernel {
    accel__handle handle;
    accel_module *module;
    accel__device *device;
    accel__backend *backend;
    accel_backend_function facts;
};

struct accel_module {
    accel__handle handle;
    _Atomic(uint32_t) references;
    accel__device *device;
    accel_native_module *native; /* NULL: a failed build, which has only its log */
    uint32_t kernel_count;
    struct accel_kernel *kernels;
    accel__text log;
};

/* A module without kernels on a device that is in use, one reference. NULL where memory ran out (the
 * failure is recorded). Its log may be filled until it is handed out. */
accel_module *accel__module_make(accel__device *device, const char *function);

/* Loads an object into it. On failure the module is as before. */
accel_status accel__module_load(accel_module *module, const void *object, size_t size,
                                const char *function);

/* Makes a native module of the device the module's own; it is unloaded where that fails. */
accel_status accel__module_adopt(accel_module *module, accel_native_module *native,
                                 const char *function);

#endif
