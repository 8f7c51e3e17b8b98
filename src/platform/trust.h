/* trust.h: whether another user of the machine could have put there what is about to be run, loaded or
 * followed. Called before the compiler, the helper and drivers are run or loaded, and by what writes files.
 *
 * Trusted are this user, root, and the owner of the C library, who can do all in this process anyway (in a
 * user namespace root may have another number). What one of them lets a group write to is trusted, too,
 * where root did so or the group is the process's own (umask 002 with a group for each user). */
#ifndef ACCEL_PLATFORM_TRUST_H
#define ACCEL_PLATFORM_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether only trusted users can change what `path` names: each folder and symbolic link on the
 * way is looked at. What may be written to by all counts as safe above others' names where its sticky bit
 * is set (/tmp). False: `reason` says why, or what the system says of it. */
bool accel__trust_path(const char *path, char *reason, size_t capacity);

/* The same of the last name and its folder alone, where `also` is trusted, too. */
bool accel__trust_file(const char *path, uid_t also, char *reason, size_t capacity);

/* Whether no symbolic link on the way to `path`, which need not exist, was made by somebody else; nor the
 * pipe or socket that it may name. */
bool accel__trust_links(const char *path, char *reason, size_t capacity);

#endif
