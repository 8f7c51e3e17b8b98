/* question.h: which device a question about memory is for. */
#ifndef ACCEL_MEMORY_QUESTION_H
#define ACCEL_MEMORY_QUESTION_H

#include "core/device.h"

/* The device; NULL with OK: it is the current one, and there is no accelerator at all. The answer is then that
 * of a device on which nothing was ever allocated. */
accel_status accel__question_device(accel_device device, const char *function,
                                    accel__device **out_device);

#endif
