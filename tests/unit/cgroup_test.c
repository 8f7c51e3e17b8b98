/* cgroup_test.c: the limits of control groups, in folders that imitate /proc and /sys as systems of both
 * versions, mixed ones, and containers have them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "platform/cgroup.h"
#include "support/check.h"

static char root[] = "/tmp/accel-cgroup-XXXXXX";

/* Writes <root>/<path>, making the folders. */
static void write_text(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + sizeof root, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", root);
    assert_int_equal(system(command), 0); // NOLINT: a path of our own
}

static int set_up(void **state)
{
    (void)state;
    clear();
    return 0;
}

static void memory_is(uint64_t limit, uint64_t left)
{
    uint64_t got_limit = 0;
    uint64_t got_left = 0;
    accel__cgroup_memory(root, &got_limit, &got_left);
    if (got_limit != limit || got_left != left)
        fail_msg("limit %llu, left %llu; expected %llu and %llu", (unsigned long long)got_limit,
                 (unsigned long long)got_left, (unsigned long long)limit, (unsigned long long)left);
}

static void processors_are(unsigned count)
{
    assert_int_equal(accel__cgroup_processors(root), count);
}

static void nothing_there(void **state)
{
    (void)state;
    memory_is(UINT64_MAX, UINT64_MAX);
    processors_are(0);
    write_text("proc/self/cgroup", "");
    memory_is(UINT64_MAX, UINT64_MAX);
    write_text("proc/self/cgroup", "0::/gone\n");
    memory_is(UINT64_MAX, UINT64_MAX);
    processors_are(0);
}

/* ---- version 2 ---- */

static void version_2(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "0::/outer/inner\n");
    write_text("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    write_text("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    memory_is(UINT64_MAX, UINT64_MAX);
    processors_are(0);
    write_text("sys/fs/cgroup/outer/inner/memory.max", "1000000\n");
    write_text("sys/fs/cgroup/outer/inner/memory.current", "400000\n");
    memory_is(1000000, 600000);
    write_text("sys/fs/cgroup/outer/inner/memory.stat", "anon 1\ninactive_file 300000\nx 2\n");
    memory_is(1000000, 900000);
    write_text("sys/fs/cgroup/outer/inner/memory.current",
               "2000000\n"); /* it may be passed a while */
    memory_is(1000000, 0);
    write_text("sys/fs/cgroup/outer/inner/cpu.max", "250000 100000\n");
    processors_are(3);
}

/* What is around the group limits it, too. */
static void groups_around(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "0::/outer/inner/leaf\n");
    write_text("sys/fs/cgroup/outer/inner/memory.max", "5000\n");
    write_text("sys/fs/cgroup/outer/inner/memory.current", "1000\n");
    write_text("sys/fs/cgroup/outer/memory.max", "9000\n");
    write_text("sys/fs/cgroup/outer/memory.current", "8500\n"); /* by others */
    write_text("sys/fs/cgroup/outer/inner/leaf/cpu.max", "max 100000\n");
    write_text("sys/fs/cgroup/outer/cpu.max", "100000 100000\n");
    memory_is(5000, 500);
    processors_are(1);
}

/* The path is the host's, the mount our own group. */
static void a_container(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
    write_text("sys/fs/cgroup/memory.max", "7000\n");
    write_text("sys/fs/cgroup/memory.current", "0\n");
    write_text("sys/fs/cgroup/cpu.max", "150000 100000\n");
    memory_is(7000, 7000);
    processors_are(2);
}

/* ---- version 1 ---- */

static void version_1(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "11:cpuset:/\n5:cpuacct,cpu:/jobs/one\n4:memory:/jobs/two\n"
                                   "1:name=systemd:/cpu\n");
    write_text("sys/fs/cgroup/memory/jobs/two/memory.limit_in_bytes", "9223372036854771712\n");
    write_text("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "8000\n");
    write_text("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "5000\n");
    write_text("sys/fs/cgroup/memory/jobs/memory.stat",
               "inactive_file 1\ntotal_inactive_file 1000\n");
    memory_is(8000, 4000);
    write_text("sys/fs/cgroup/cpuacct,cpu/jobs/one/cpu.cfs_quota_us", "-1\n");
    write_text("sys/fs/cgroup/cpuacct,cpu/jobs/one/cpu.cfs_period_us", "100000\n");
    processors_are(0);
    write_text("sys/fs/cgroup/cpuacct,cpu/jobs/one/cpu.cfs_quota_us", "50000\n");
    processors_are(1);
    write_text("sys/fs/cgroup/cpuacct,cpu/jobs/one/cpu.cfs_quota_us", "400001\n");
    processors_are(5);
}

/* The folder bears the controller's name alone. */
static void version_1_by_its_own_name(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "5:cpu,cpuacct:/docker/host/path\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    processors_are(3);
}

/* Both at once: each limits. */
static void mixed(void **state)
{
    (void)state;
    write_text("proc/self/cgroup", "4:memory:/a\n1:cpu:/\n0::/b\n");
    write_text("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000\n");
    write_text("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000\n");
    write_text("sys/fs/cgroup/b/memory.max", "4000\n");
    write_text("sys/fs/cgroup/b/memory.current", "3900\n");
    write_text("sys/fs/cgroup/b/cpu.max", "200000 100000\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    memory_is(3000, 100);
    processors_are(2);
}

static void nonsense(void **state)
{
    (void)state;
    static const char *const groups[] = {
        ":",        "::",           "0",     "0::",      "0::relative", "\n\n:::\n",
        "4:memory", "4:memory:nil", ",:,:/", "0::/../.."};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        write_text("proc/self/cgroup", groups[i]);
        memory_is(UINT64_MAX, UINT64_MAX);
        processors_are(0);
    }
    char longest[8192];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "0::/", 4);
    longest[sizeof longest - 1] = '\0';
    write_text("proc/self/cgroup", longest);
    memory_is(UINT64_MAX, UINT64_MAX);
    write_text("proc/self/cgroup", "0::/\n");
    static const char *const values[] = {"", "\n", "abc", "-5", "0 0", "100 0", "0 100"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        write_text("sys/fs/cgroup/cpu.max", values[i]);
        processors_are(0);
    }
    write_text("sys/fs/cgroup/memory.max", "lots\n");
    memory_is(UINT64_MAX, UINT64_MAX);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(root) == NULL;
}

static int end(void **state)
{
    (void)state;
    clear();
    return remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_there, set_up),
        cmocka_unit_test_setup(version_2, set_up),
        cmocka_unit_test_setup(groups_around, set_up),
        cmocka_unit_test_setup(a_container, set_up),
        cmocka_unit_test_setup(version_1, set_up),
        cmocka_unit_test_setup(version_1_by_its_own_name, set_up),
        cmocka_unit_test_setup(mixed, set_up),
        cmocka_unit_test_setup(nonsense, set_up),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
