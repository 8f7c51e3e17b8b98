/* process.h: children of a test, with a time limit, and what /proc says of the calling process. */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEST_CHILD_HUNG = -1, TEST_CHILD_SIGNAL = -1000 };

/* Runs body(user) in a forked child, which leaves by _exit with what it returned. Returns that, or
 * TEST_CHILD_HUNG after `seconds`, or TEST_CHILD_SIGNAL - number. */
int test_in_child(int (*body)(void *user), void *user, unsigned seconds);

/* The two halves of the above, for many children at once. */
pid_t test_child_start(int (*body)(void *user), void *user);
int test_child_wait(pid_t child, unsigned seconds);

unsigned test_thread_count(void); /* threads of this process */
/* A number that changes when a descriptor is opened, closed or replaced. */
uint64_t test_descriptor_digest(void);
/* A number that changes when a file is mapped that was not, or the other way round. */
uint64_t test_mapped_files_digest(void);
uint64_t test_cpu_time_ns(void); /* of the process */
uint64_t test_now_ns(void);
void test_nap_ms(unsigned milliseconds);

#endif
