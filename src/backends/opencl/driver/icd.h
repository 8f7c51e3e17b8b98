/* icd.h: the drivers group of this backend: which drivers the files name (icd.c), and what one of them
 * reports (probe.c, in the helper only). */
#ifndef ACCEL_OPENCL_ICD_H
#define ACCEL_OPENCL_ICD_H

#include <accel/backend.h>

uint64_t accel__opencl_stamp(void);
uint32_t accel__opencl_list(accel_backend_driver *out_drivers, uint32_t capacity,
                            accel_backend_probe *out_probe);
accel_status accel__opencl_probe(const accel_backend_driver *driver,
                                 void (*report)(const accel_backend_found *found, void *user),
                                 void *user);

#endif
