/* process.c: see process.h. */
#include "support/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t test_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t test_cpu_time_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void test_nap_ms(unsigned milliseconds)
{
    const struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

/* AddressSanitizer's allocator has locks of its own, which a child inherits as they are at the fork. A thread
 * that is just starting holds one for a while (the sanitizer asks where its stack lies, and allocates for it), and a
 * child forked then waits for ever at the start of its own first thread. */
static void let_threads_start(void)
{
#ifdef __SANITIZE_ADDRESS__
    test_nap_ms(30);
#endif
}

pid_t test_child_start(int (*body)(void *user), void *user)
{
    fflush(NULL);
    let_threads_start();
    const pid_t child = fork();
    if (child == 0)
        _exit(body(user) & 0xff);
    return child;
}

int test_child_wait(pid_t child, unsigned seconds)
{
    const uint64_t limit = test_now_ns() + (uint64_t)seconds * 1000000000u;
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            break;
        if (ended < 0 || test_now_ns() > limit) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return TEST_CHILD_HUNG;
        }
        test_nap_ms(1);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : TEST_CHILD_SIGNAL - WTERMSIG(status);
}

int test_in_child(int (*body)(void *user), void *user, unsigned seconds)
{
    const pid_t child = test_child_start(body, user);
    return child < 0 ? TEST_CHILD_HUNG : test_child_wait(child, seconds);
}

unsigned test_thread_count(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* The next mapped file's path, of those that /proc lists; NULL: that was the last. */
static char *next_mapped(FILE *maps, char *line, size_t capacity)
{
    while (maps != NULL && fgets(line, (int)capacity, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strchr(line, '/') != NULL)
            return strchr(line, '/');
    }
    return NULL;
}

uint64_t test_mapped_files_digest(void)
{
    char line[4352];
    char last[4352] = "";
    uint64_t digest = 1469598103934665603u;
    FILE *maps = fopen("/proc/self/maps", "r");
    for (char *path; (path = next_mapped(maps, line, sizeof line)) != NULL;) {
        if (strcmp(path, last) != 0) /* its several parts follow each other */
            digest += hash_text(1469598103934665603u, path);
        snprintf(last, sizeof last, "%s", path);
    }
    if (maps != NULL)
        fclose(maps);
    return digest;
}

uint64_t test_descriptor_digest(void)
{
    uint64_t digest = 1469598103934665603u;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
            continue;
        char path[300];
        char target[512] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof target - 1) < 0)
            continue;
        /* The order of the entries must not matter: the sum of the hashes of each. */
        digest += hash_text(hash_text(1469598103934665603u, path), target);
    }
    closedir(folder);
    return digest;
}
