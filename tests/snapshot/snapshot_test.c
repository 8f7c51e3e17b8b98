/* snapshot_test.c: snapshots as JSON: what is read, what may be missing, which place an error names, and
 * what the figures add up to. That a pickle means the same is for the tests of the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/memory_summary.h"

static void parse(const char *text, accel__snapshot *out_snapshot)
{
    accel__snapshot_problem problem = {""};
    if (!accel__snapshot_parse((const uint8_t *)text, strlen(text), out_snapshot, &problem))
        fail_msg("%s\n%s", text, problem.text);
}

static void refuses(const char *text, const char *expected)
{
    accel__snapshot snapshot;
    accel__snapshot_problem problem = {""};
    assert_false(accel__snapshot_parse((const uint8_t *)text, strlen(text), &snapshot, &problem));
    if (strstr(problem.text, expected) == NULL || strstr(problem.text, "; ") == NULL)
        fail_msg("%s\n\"%s\" lacks \"%s\"", text, problem.text, expected);
    accel__snapshot_release(&snapshot);
}

/* ---- what is read ---- */

#define FRAMES "[{'filename':'a.py','line':3,'name':'f'},{'filename':'b.py','line':4,'name':'g'}]"

/* JSON with ' for ". */
static char *quoted(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

static const char whole[] =
    "{'segments':[{'device':1,'address':4096,'total_size':4096,'stream':7,'segment_type':'large',"
    "'segment_pool_id':[3,4],'is_expandable':true,'frames':" FRAMES ",'blocks':["
    "{'address':4096,'size':1024,'requested_size':1000,'state':'active_allocated','frames':" FRAMES
    "},"
    "{'address':5120,'size':512,'requested_size':500,'state':'active_pending_free'},"
    "{'address':5632,'size':512,'state':'active_awaiting_free'},"
    "{'address':6144,'size':2048,'state':'inactive'}]}],"
    "'device_traces':[[],[{'action':'alloc','addr':4096,'size':1000,'stream':7,'time_us':5,"
    "'pool_id':[3,4],'frames':" FRAMES "},{'action':'oom','device_free':17,'size':1},"
    "{'action':'something_new','user_metadata':'x'},{'action':'snapshot','size':1}]],"
    "'allocator_settings':{'PYTORCH_CUDA_ALLOC_CONF':'a:b','max_split_size':-1,'x':true,'y':0.5,"
    "'z':{'1':0}},'accel':{'version':1,'devices':['cpu:0','cpu:7'],'events_lost':[0,9]},"
    "'unknown':[1,2]}";

static void test_whole(void **state)
{
    char name[ACCEL__SNAPSHOT_NAME_MAX];
    accel__snapshot snapshot;
    char *text = quoted(whole);
    (void)state;
    parse(text, &snapshot);
    assert_int_equal(snapshot.segment_count, 1);
    const accel__snapshot_segment *segment = &snapshot.segments[0];
    assert_int_equal(segment->device, 1);
    assert_int_equal(segment->size, 4096);
    assert_int_equal(segment->stream, 7);
    assert_int_equal(segment->kind, ACCEL__SEGMENT_LARGE);
    assert_int_equal(segment->pool[0], 3);
    assert_int_equal(segment->pool[1], 4);
    assert_true(segment->is_expandable);
    assert_int_equal(segment->block_count, 4);
    assert_int_equal(snapshot.blocks[1].state, ACCEL__BLOCK_PENDING);
    assert_int_equal(snapshot.blocks[2].state, ACCEL__BLOCK_PENDING);
    assert_int_equal(snapshot.blocks[2].requested, 512); /* not told: all of it */
    assert_int_equal(snapshot.trace_count, 2);
    assert_int_equal(snapshot.traces[1].count, 4);
    assert_int_equal(snapshot.traces[1].lost, 9);
    assert_string_equal(accel__snapshot_device(&snapshot, 1, name), "cpu:7");
    assert_string_equal(accel__snapshot_device(&snapshot, 2, name), "2");
    assert_int_equal(snapshot.events[0].time_us, 5);
    assert_int_equal(snapshot.events[1].action, ACCEL__EVENT_OOM);
    assert_int_equal(snapshot.events[1].address, 17);
    assert_int_equal(snapshot.events[2].action, ACCEL__EVENT_OTHER);
    /* one stack, three times, though JSON cannot share it */
    assert_int_equal(snapshot.stacks.stack_count, 2);
    assert_int_equal(snapshot.stacks.frame_count, 2);
    assert_int_equal(segment->stack, snapshot.events[0].stack);
    assert_string_equal(accel__stacks_at(&snapshot.stacks, segment->stack, 1)->file, "b.py");
    assert_int_equal(snapshot.setting_count, 4);
    assert_string_equal(snapshot.settings[0].value, "a:b");
    assert_string_equal(snapshot.settings[1].value, "-1");
    assert_string_equal(snapshot.settings[3].value, "0.5");
    accel__snapshot_release(&snapshot);
    free(text);
}

static void test_missing(void **state)
{
    accel__snapshot snapshot;
    char *old = quoted("[{'address':4096,'total_size':1024,'blocks':[{'size':512,"
                       "'state':'active_allocated','history':[{'addr':4096,'real_size':300,"
                       "'frames':" FRAMES "}]},{'size':512,'state':'inactive','history':[]}]}]");
    (void)state;
    parse(old, &snapshot); /* PyTorch before 2.1 */
    assert_int_equal(snapshot.blocks[0].requested, 300);
    assert_int_equal(snapshot.blocks[1].address, 4096 + 512);
    assert_int_equal(snapshot.blocks[0].stack, 1);
    accel__snapshot_release(&snapshot);
    free(old);
    parse("{\"segments\":[]}", &snapshot);
    accel__snapshot_release(&snapshot);
    parse(" \n{\"device_traces\":[[]],\"segments\":null}", &snapshot);
    assert_int_equal(snapshot.trace_count, 1);
    accel__snapshot_release(&snapshot);
}

/* ---- what is refused ---- */

#define SEGMENT(rest) "{\"segments\":[{\"address\":1,\"total_size\":2," rest "}]}"
#define BLOCK(rest) SEGMENT("\"blocks\":[{\"size\":1,\"state\":\"inactive\"},{" rest "}]")
#define EVENT(rest) "{\"device_traces\":[[],[{\"action\":\"alloc\"," rest "}]]}"

static void test_places(void **state)
{
    (void)state;
    refuses("", "empty");
    refuses("{", "line 1, column 1 is no JSON");
    refuses("{\"segments\":[]} x", "is no JSON");
    refuses("{\"segments\":[18446744073709551616]}", "too big integer");
    refuses("{}", "neither segments nor device_traces");
    refuses("{\"segments\":{}}", "segments is a dictionary, not a list");
    refuses("{\"segments\":[7]}", "segments[0] is an integer, not a dictionary");
    refuses("{\"segments\":[{}]}", "segments[0].address is missing");
    refuses("{\"segments\":[{\"address\":1}]}", "segments[0].total_size is missing");
    refuses("{\"segments\":[{\"address\":1,\"total_size\":-1}]}",
            "segments[0].total_size is negative");
    refuses("{\"segments\":[{\"address\":1.5}]}", "segments[0].address is a real number");
    refuses(SEGMENT("\"stream\":0"), "segments[0].blocks is missing");
    refuses(SEGMENT("\"segment_pool_id\":[1]"), "segments[0].segment_pool_id is not two integers");
    refuses(SEGMENT("\"segment_type\":1"), "segments[0].segment_type is an integer, not a text");
    refuses(BLOCK("\"size\":1"), "segments[0].blocks[1].state is missing");
    refuses(BLOCK("\"state\":\"inactive\""), "segments[0].blocks[1].size is missing");
    refuses(BLOCK("\"size\":1,\"state\":\"free\""), "segments[0].blocks[1].state is none of");
    refuses(BLOCK("\"size\":1,\"address\":9223372036854775807,\"state\":\"inactive\",\"frames\":7"),
            "segments[0].blocks[1].frames is an integer, not a list");
    refuses(BLOCK("\"size\":1,\"state\":\"inactive\",\"frames\":[{},5]"),
            "segments[0].blocks[1].frames[1] is an integer, not a dictionary");
    refuses(BLOCK("\"size\":1,\"state\":\"inactive\",\"frames\":[{\"line\":\"x\"}]"),
            "segments[0].blocks[1].frames[0].line is a text, not an integer");
    refuses("{\"device_traces\":[5]}", "device_traces[0] is an integer, not a list");
    refuses("{\"device_traces\":[[5]]}", "device_traces[0][0] is an integer, not a dictionary");
    refuses("{\"device_traces\":[[{}]]}", "device_traces[0][0].action is missing");
    refuses("{\"segments\":[],\"accel\":{\"devices\":[1]}}",
            "accel.devices[0] is an integer, not a text");
    refuses("{\"device_traces\":[[]],\"accel\":{\"events_lost\":[-1]}}",
            "accel.events_lost[0] is no number");
    refuses(EVENT("\"addr\":1"), "device_traces[1][0].size is missing");
    refuses(EVENT("\"size\":1"), "device_traces[1][0].addr is missing");
    refuses(EVENT("\"addr\":true"), "device_traces[1][0].addr is a boolean");
}

/* Small files that unfold to much: refused before they take long. */
static void test_unfolding(void **state)
{
    accel__snapshot snapshot;
    accel__snapshot_problem problem = {""};
    /* segments: n times the same segment of n times the same block */
    static const char block[] = "]q\1(}q\2(U\4sizeK\1U\5stateU\x8inactiveu";
    const size_t count = 20000;
    uint8_t *bytes = malloc(count * 8 + 256);
    size_t size = sizeof block - 1;
    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, block, size);
    for (size_t i = 0; i < count; i++, size += 2)
        memcpy(bytes + size, "h\2", 2);
    size += (size_t)sprintf((char *)bytes + size,
                            "e0](}q%c(U%caddressK%cU%ctotal_sizeK%cU%cblocksh%cu", 3, 7, 1, 10, 1,
                            6, 1);
    for (size_t i = 0; i < count; i++, size += 2)
        memcpy(bytes + size, "h\3", 2);
    memcpy(bytes + size, "e.", 2);
    assert_false(accel__snapshot_parse(bytes, size + 2, &snapshot, &problem));
    assert_non_null(strstr(problem.text, "over and over"));
    assert_true(snapshot.block_count < count * 64);
    accel__snapshot_release(&snapshot);
    free(bytes);
}

/* Twenty thousand frames share one text of 64 KiB: telling them apart would take seconds. */
static void test_long_names(void **state)
{
    enum { TEXT = 65536, COUNT = 20000 };
    static const char head[] = "q\1"
                               "0U\4nameq\2"
                               "0}(U\x8segments](}(U\7addressK\1U\xatotal_sizeK\1U\6blocks]("
                               "}(U\4sizeK\1U\5stateU\x8inactiveU\6frames](";
    accel__snapshot snapshot;
    accel__snapshot_problem problem = {""};
    uint8_t *bytes = calloc(1, TEXT + COUNT * 6 + 256);
    size_t size = 0;
    (void)state;
    assert_non_null(bytes);
    memcpy(bytes, "X\0\0\1\0", 5);
    memset(bytes + 5, 'x', TEXT);
    size = 5 + TEXT;
    memcpy(bytes + size, head, sizeof head - 1);
    size += sizeof head - 1;
    for (size_t i = 0; i < COUNT; i++, size += 6)
        memcpy(bytes + size, "}h\2h\1s", 6);
    memcpy(bytes + size, "eueueu.", 7);
    assert_false(accel__snapshot_parse(bytes, size + 7, &snapshot, &problem));
    assert_non_null(strstr(problem.text, "over and over"));
    accel__snapshot_release(&snapshot);
    free(bytes);
}

/* ---- figures ---- */

static void test_figures(void **state)
{
    accel__snapshot snapshot;
    accel__memory_summary summary;
    char *text = quoted(
        "{'segments':["
        "{'device':0,'address':4096,'total_size':4096,'segment_type':'small','blocks':["
        "{'size':1024,'requested_size':1000,'state':'active_allocated'},"
        "{'size':512,'requested_size':500,'state':'active_pending_free'},"
        "{'size':2560,'state':'inactive'}]},"
        "{'device':0,'address':65536,'total_size':8192,'segment_type':'large','blocks':["
        "{'size':8192,'state':'inactive'}]},"
        "{'device':1,'address':4096,'total_size':512,'segment_type':'small','blocks':["
        "{'size':256,'requested_size':256,'state':'active_allocated'}]},"
        "{'device':0,'address':32768,'total_size':1024,'segment_type':'small','blocks':["
        "{'size':1024,'requested_size':1024,'state':'active_allocated'}]}],"
        "'device_traces':[[{'action':'alloc','addr':1,'size':100,'frames':" FRAMES "},"
        "{'action':'alloc','addr':2,'size':5},{'action':'free_requested','addr':1,'size':100},"
        "{'action':'alloc','addr':1,'size':50,'frames':" FRAMES "}]]}");
    (void)state;
    parse(text, &snapshot);
    assert_true(accel__memory_summarise(&snapshot, &summary));
    assert_int_equal(summary.total.reserved, 4096 + 8192 + 512 + 1024);
    assert_int_equal(summary.total.allocated, 1024 + 256 + 1024);
    assert_int_equal(summary.total.active, 1024 + 512 + 256 + 1024);
    assert_int_equal(summary.total.requested, 1000 + 500 + 256 + 1024);
    assert_int_equal(summary.total.releasable, 8192);
    assert_int_equal(summary.total.split, 2560 + 256);
    assert_int_equal(summary.total.largest_hole, 8192);
    assert_int_equal(summary.wrong_segment_count, 1); /* 256 of 512 */
    assert_int_equal(summary.group_count, 3);
    assert_int_equal(summary.groups[0].figures.segment_count, 2);
    assert_int_equal(summary.groups[0].figures.reserved, 4096 + 1024);
    assert_int_equal(summary.groups[1].kind, ACCEL__SEGMENT_LARGE);
    assert_int_equal(summary.groups[2].device, 1);
    assert_int_equal(summary.hole_count, 2);
    assert_int_equal(summary.holes[1].block->size, 2560);
    assert_int_equal(summary.live_count, 1); /* all without a stack */
    assert_int_equal(summary.live[0].count, 3);
    assert_int_equal(summary.traffic_count, 2);
    assert_int_equal(summary.traffic[0].size, 150);
    assert_int_equal(summary.traffic[0].count, 2);
    accel__memory_summary_release(&summary);
    accel__snapshot_release(&snapshot);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),      cmocka_unit_test(test_missing),
        cmocka_unit_test(test_places),     cmocka_unit_test(test_unfolding),
        cmocka_unit_test(test_long_names), cmocka_unit_test(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
