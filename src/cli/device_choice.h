/* device_choice.h: the -d option. What `accel list` shows is what can be given here. */
#ifndef ACCEL_CLI_DEVICE_CHOICE_H
#define ACCEL_CLI_DEVICE_CHOICE_H

#include <accel/device.h>

#include "cli/report.h"

/* The device named `text`, with its index ("cpu": its current one, 0); NULL: the current device of
 * the current accelerator. It exists, as far as can be told without starting it. */
accel__exit accel__choose_device(const char *text, accel_device *out_device);

#endif
