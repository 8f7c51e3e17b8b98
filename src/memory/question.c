/* question.c: see question.h. */
#include "memory/question.h"

#include "core/current.h"

accel_status accel__question_device(accel_device device, const char *function,
                                    accel__device **out_device)
{
    *out_device = NULL;
    if (device.backend == ACCEL_BACKEND_CURRENT) {
        accel__backend *backend = NULL;
        const accel_status status = accel__current_backend(function, &backend);
        if (status != ACCEL_OK || backend == NULL)
            return status;
    }
    return accel__device_resolve(device, function, out_device);
}
