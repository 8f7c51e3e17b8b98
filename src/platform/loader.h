/* loader.h: around each call of the C library's loader that takes its locks (dlopen, dlclose,
 * dl_iterate_phdr). A child that is forked meanwhile would inherit a lock of the loader as held, for ever, or
 * its lists half changed. So a fork waits for such calls of ours, up to a second, and calls that come wait
 * for the fork. Calls of the program's own are its own business. May be nested; a fork from inside (a
 * library's initialisation) does not wait for its own thread. */
#ifndef ACCEL_PLATFORM_LOADER_H
#define ACCEL_PLATFORM_LOADER_H

void accel__loader_enter(void);
void accel__loader_leave(void); /* keeps errno */

#endif
