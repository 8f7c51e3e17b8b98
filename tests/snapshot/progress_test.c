/* progress_test.c: the bar of `accel memory replay`: nothing without a terminal or before it is time, and
 * wiped at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/memory_progress.h"

static char written[1024];

/* What `progress` writes to standard error for 200 steps and its end. */
static const char *capture(accel__progress *progress)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const int kept = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    for (size_t i = 0; i < 200; i++)
        accel__progress_step(progress, i);
    accel__progress_end(progress);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    const ssize_t got = read(ends[0], written, sizeof written - 1);
    close(ends[0]);
    assert_true(got >= 0);
    written[got] = '\0';
    return written;
}

static void test_progress(void **state)
{
    accel__progress progress;
    (void)state;
    accel__progress_begin(&progress, "working", 200);
    progress.is_wanted = true;
    assert_string_equal(capture(&progress), ""); /* a second has not passed */
    progress.next_ns = 0;
    const char *text = capture(&progress);
    assert_non_null(strstr(text, "\rworking ["));
    assert_non_null(strstr(text, "0 %"));
    assert_null(strchr(text, '\n'));
    assert_int_equal(text[strlen(text) - 1], '\r');
    accel__progress_begin(&progress, "working", 0);
    progress.is_wanted = false;
    progress.next_ns = 0;
    assert_string_equal(capture(&progress), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_progress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
