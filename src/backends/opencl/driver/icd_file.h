/* icd_file.h: from a .icd file to the driver that it names, and where a library lies; by files only. */
#ifndef ACCEL_OPENCL_ICD_FILE_H
#define ACCEL_OPENCL_ICD_FILE_H

#include <accel/backend.h>

#define ACCEL__OPENCL_HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
uint64_t accel__opencl_hash(uint64_t seed, const void *bytes, size_t size);

/* A driver whose library was named directly, or by a file. Fills library, source, key and, where the
 * files say so already, reason and detail; the name stays empty. */
void accel__opencl_read_library(const char *library, accel_backend_driver *out_driver);

/* False: `path` is no file that could name a driver (gone, a directory, a pipe). */
bool accel__opencl_read_icd(const char *path, accel_backend_driver *out_driver);

/* The path that the loader would most likely take. False: it lies in none of the places looked at. */
bool accel__opencl_find_library(const char *library, char *path, size_t capacity);

/* Whether the library is a loader of drivers, and no driver itself. */
bool accel__opencl_is_loader(const char *path);

#endif
