/* trace_test.c: histories become steps: what was there before, frees in two parts, and events that are
 * missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/memory_trace.h"

typedef struct history {
    accel__snapshot snapshot;
    accel__snapshot_event events[32];
    accel__snapshot_segment segments[2];
    accel__snapshot_block blocks[8];
    accel__snapshot_trace traces[2];
} history;

/* "a1:100 r1 c1 f1 S" on device 0: alloc of 100 bytes at 1, free requested, completed, both; S is an event
 * that is no step. "a1:100@5" is on stream 5. */
static void write_history(history *h, const char *text)
{
    char copy[256];
    memset(h, 0, sizeof *h);
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    for (char *one = strsep(&rest, " "); one != NULL && one[0] != '\0'; one = strsep(&rest, " ")) {
        unsigned address = 0;
        unsigned size = 100;
        int stream = 0;
        sscanf(one + 1, "%u:%u@%d", &address, &size, &stream);
        accel__snapshot_event event = {.address = address, .size = size, .stream = stream};
        event.action = one[0] == 'a'   ? ACCEL__EVENT_ALLOC
                       : one[0] == 'c' ? ACCEL__EVENT_FREE_COMPLETED
                       : one[0] == 'S' ? ACCEL__EVENT_SEGMENT_ALLOC
                       : one[0] == 's' ? ACCEL__EVENT_SEGMENT_FREE
                                       : ACCEL__EVENT_FREE_REQUESTED;
        h->events[h->snapshot.event_count++] = event;
        if (one[0] == 'f') {
            event.action = ACCEL__EVENT_FREE_COMPLETED;
            h->events[h->snapshot.event_count++] = event;
        }
    }
    h->snapshot.events = h->events;
    h->snapshot.blocks = h->blocks;
    h->snapshot.segments = h->segments;
    h->snapshot.traces = h->traces;
    h->snapshot.trace_count = 1;
    h->traces[0].count = h->snapshot.event_count;
}

static void add_block(history *h, uint64_t address, uint64_t requested, accel__block_state state)
{
    h->snapshot.segment_count = 1;
    h->segments[0].size = 1000;
    h->segments[0].stream = 9;
    h->segments[0].block_count = h->snapshot.block_count + 1;
    h->blocks[h->snapshot.block_count++] = (accel__snapshot_block){
        .address = address, .size = 512, .requested = requested, .state = state};
}

/* "0 1 | a2 f0 r1 c1": what is placed first, then the steps, with numbers of blocks. */
static void expect_steps(const history *h, const char *expected, uint64_t start, uint64_t peak,
                         size_t repaired)
{
    static const char letters[] = "afrc";
    char text[512] = "";
    size_t used = 0;
    accel__trace trace;
    assert_true(accel__trace_prepare(&h->snapshot, 0, &trace));
    for (size_t i = 0; i < trace.placed_count; i++)
        used += (size_t)sprintf(text + used, "%s%u ",
                                trace.blocks[trace.placed[i]].was_pending ? "-" : "",
                                trace.placed[i]);
    text[used++] = '|';
    for (size_t i = 0; i < trace.step_count; i++)
        used += (size_t)sprintf(text + used, " %c%u", letters[trace.steps[i].kind],
                                trace.steps[i].block);
    assert_string_equal(text, expected);
    assert_int_equal(trace.live_at_start, start);
    assert_int_equal(trace.peak_live, peak);
    assert_int_equal(trace.repaired_count, repaired);
    accel__trace_release(&trace);
}

static void expect_history(const char *text, const char *expected, uint64_t start, uint64_t peak,
                           size_t repaired)
{
    history h;
    write_history(&h, text);
    expect_steps(&h, expected, start, peak, repaired);
}

static void test_pairs(void **state)
{
    (void)state;
    expect_history("", "|", 0, 0, 0);
    expect_history("a1:10 a2:20 f1 a1:5 f2 f1", "| a0 a1 f0 a2 f1 f2", 0, 30, 0);
    expect_history("a1:10 r1 a2:20 c1 f2", "| a0 r0 a1 c0 f1", 0, 20, 0);
    expect_history("a1:10 a2:20 r1 r2 c1 c2", "| a0 a1 r0 r1 c0 c1", 0, 30, 0);
    expect_history("a1:10 r1 a2 S", "| a0 f0 a1", 0, 100, 0); /* nothing is ever completed */
    expect_history("S a1:10 S f1 S", "| a0 f0", 0, 10, 0);
}

static void test_before(void **state)
{
    history h;
    (void)state;
    expect_history("f7:10 a1:5 f3:20", "2 0 | f0 a1 f2", 30, 30, 0);
    expect_history("c7:10 f3:20", "1 -0 | c0 f1", 20, 20, 0);
    write_history(&h, "a1:10 f2:30 a3 f3");
    add_block(&h, 1, 10, ACCEL__BLOCK_ALLOCATED); /* of the history */
    add_block(&h, 2, 70, ACCEL__BLOCK_INACTIVE);  /* was freed */
    add_block(&h, 3, 80, ACCEL__BLOCK_ALLOCATED); /* after the history */
    add_block(&h, 4, 40, ACCEL__BLOCK_ALLOCATED); /* before */
    add_block(&h, 5, 50, ACCEL__BLOCK_PENDING);   /* before, and freed */
    add_block(&h, 6, 0, ACCEL__BLOCK_ALLOCATED);  /* what was asked for is not known: all */
    expect_steps(&h, "1 3 -4 5 | a0 f1 a2 f2", 30 + 40 + 512, 30 + 40 + 512 + 10 + 70, 0);
}

static void test_repairs(void **state)
{
    (void)state;
    expect_history("a1:10 a1:20 f1", "| a0 f0 a1 f1", 0, 20, 1);
    expect_history("a1:10 r1 a1:20 f1", "| a0 f0 a1 f1", 0, 20,
                   1); /* a free that was never completed */
    expect_history("a1:10 f1 f1", "| a0 f0", 0, 10, 2);
    expect_history("a1:10 c1", "| a0 f0", 0, 10, 0); /* requests were left out */
    expect_history("a1:10 r1 r1 c1", "| a0 f0", 0, 10, 1);
}

static void test_figures(void **state)
{
    history h;
    accel__trace trace;
    (void)state;
    write_history(&h, "a1:100@5 a2:100@6 S0:400 s0:700 f1:100@5 a3:1@5");
    add_block(&h, 2, 100, ACCEL__BLOCK_ALLOCATED);
    assert_true(accel__trace_prepare(&h.snapshot, 0, &trace));
    assert_int_equal(trace.event_count, 7);
    assert_int_equal(trace.stream_count, 2);
    assert_int_equal(trace.streams[trace.blocks[1].stream], 6);
    assert_int_equal(trace.blocks[2].stream, trace.blocks[0].stream);
    assert_int_equal(trace.recorded_reserved, 1700); /* 1000 at the end, 700 given back before */
    accel__trace_release(&trace);
    assert_true(accel__trace_prepare(&h.snapshot, 1, &trace)); /* no such device: nothing */
    assert_int_equal(trace.event_count, 0);
    accel__trace_release(&trace);
}

static void test_many_streams(void **state)
{
    enum { COUNT = ACCEL__TRACE_STREAM_MAX + 2 };
    accel__snapshot_event *events = calloc(COUNT, sizeof *events);
    accel__snapshot_trace one = {.count = COUNT};
    accel__snapshot snapshot = {
        .traces = &one, .trace_count = 1, .events = events, .event_count = COUNT};
    accel__trace trace;
    (void)state;
    assert_non_null(events);
    for (int i = 0; i < COUNT; i++)
        events[i] = (accel__snapshot_event){.address = (uint64_t)i + 1, .size = 1, .stream = i};
    assert_true(accel__trace_prepare(&snapshot, 0, &trace));
    assert_true(trace.has_more_streams);
    assert_int_equal(trace.stream_count, ACCEL__TRACE_STREAM_MAX);
    accel__trace_release(&trace);
    free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),        cmocka_unit_test(test_before),
        cmocka_unit_test(test_repairs),      cmocka_unit_test(test_figures),
        cmocka_unit_test(test_many_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
