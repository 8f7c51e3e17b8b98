/* graph_dump_test.c: dumps of graphs (graph.h), case B98: at every moment of a graph's life, to files that
 * cannot be written, with names that need quoting. What is written is read back: DOT by the strict
 * reader below (and by Graphviz, where `dot` is there), JSON by `accel graph` (tests/cli). */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/kernels.h"

static test_kernels kernels;
static accel_stream *stream;
static char folder[] = "/tmp/accel-dump-XXXXXX";
static char path[256];

/* ---- files ---- */

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static char *read_file(const char *name)
{
    static char text[1 << 16];
    FILE *file = fopen(in_folder(name), "r");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static size_t files_in_folder(void)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

/* ---- a reader of DOT: what its grammar allows of what dumps use ---- */

typedef struct reader {
    const char *at;
    unsigned nodes;
    unsigned edges;
    unsigned clusters;
} reader;

static void blank(reader *in)
{
    while (isspace((unsigned char)*in->at))
        in->at++;
}

static bool take(reader *in, const char *word)
{
    blank(in);
    const size_t size = strlen(word);
    if (strncmp(in->at, word, size) != 0)
        return false;
    in->at += size;
    return true;
}

/* An identifier, or a string in quotes: a backslash takes the next character with it. */
static bool take_id(reader *in)
{
    blank(in);
    if (*in->at == '"') {
        for (in->at++; *in->at != '"'; in->at++) {
            if (*in->at == '\0' || *in->at == '\n')
                return false;
            in->at += *in->at == '\\' && in->at[1] != '\0';
        }
        in->at++;
        return true;
    }
    const char *begin = in->at;
    while (isalnum((unsigned char)*in->at) || *in->at == '_')
        in->at++;
    return in->at != begin && !isdigit((unsigned char)*begin);
}

static bool take_attributes(reader *in)
{
    return !take(in, "[") || (take_id(in) && take(in, "=") && take_id(in) && take(in, "]"));
}

static bool take_statements(reader *in);

static bool take_statement(reader *in)
{
    if (take(in, "subgraph")) {
        in->clusters++;
        return take_id(in) && take(in, "{") && take_statements(in);
    }
    const bool is_default = strncmp(in->at, "node [", 6) == 0;
    if (!take_id(in))
        return false;
    if (take(in, "->")) {
        in->edges++;
        return take_id(in) && take(in, ";");
    }
    if (take(in, "="))
        return take_id(in) && take(in, ";");
    in->nodes += !is_default;
    return take_attributes(in) && take(in, ";");
}

/* Until the closing brace. */
static bool take_statements(reader *in)
{
    while (!take(in, "}")) {
        blank(in);
        if (!take_statement(in))
            return false;
    }
    return true;
}

static void check_dot(const char *text, unsigned nodes, unsigned edges, unsigned clusters)
{
    reader in = {.at = text};
    const bool is_valid = take(&in, "digraph") && take_id(&in) && take(&in, "{") &&
                          take_statements(&in);
    blank(&in);
    if (!is_valid || *in.at != '\0')
        fail_msg("no valid DOT at: %.60s", in.at);
    assert_int_equal(in.nodes, nodes);
    assert_int_equal(in.edges, edges);
    assert_int_equal(in.clusters, clusters);
}

/* Where Graphviz is there it has to agree. */
static void check_with_graphviz(const char *name)
{
    char command[512];
    snprintf(command, sizeof command,
             "if command -v dot >/dev/null; then dot -Tplain '%s' -o /dev/null; fi",
             in_folder(name));
    assert_int_equal(system(command), 0);
}

/* ---- tests ---- */

static accel_graph *make(void)
{
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    return graph;
}

static void test_over_a_life(void **state)
{
    (void)state;
    accel_graph *graph = make();
    FAILS(accel_graph_debug_dump(graph, in_folder("life.dot")), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_debug_dump");
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    FAILS(accel_graph_debug_dump(graph, in_folder("life.dot")), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_debug_dump");
    OK(test_launch_nothing(&kernels, stream));
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream));
    for (int i = 0; i < 2; i++) { /* twice, over the file that is there */
        OK(accel_graph_debug_dump(graph, in_folder("life.dot")));
        check_dot(read_file("life.dot"), 2, 1, 0);
        OK(accel_graph_replay(graph, stream));
        OK(accel_stream_synchronize(stream));
    }
    OK(accel_graph_reset(graph));
    FAILS(accel_graph_debug_dump(graph, in_folder("life.dot")), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_debug_dump");
    check_dot(read_file("life.dot"), 2, 1, 0); /* the old one is whole */
    accel_graph_release(graph);
    assert_int_equal(unlink(in_folder("life.dot")), 0);
}

static void test_an_empty_capture(void **state)
{
    (void)state;
    accel_graph *graph = make();
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_debug_dump(graph, in_folder("empty.dot")));
    check_dot(read_file("empty.dot"), 0, 0, 0);
    check_with_graphviz("empty.dot");
    OK(accel_graph_debug_dump(graph, in_folder("empty.json")));
    assert_non_null(strstr(read_file("empty.json"), "\"nodes\": []"));
    accel_graph_release(graph);
    unlink(in_folder("empty.dot"));
    unlink(in_folder("empty.json"));
}

static void says_path(void)
{
    if (strstr(accel_last_error_message(), path) == NULL)
        fail_msg("the path is not named: %s", accel_last_error_message());
}

static void test_files_that_cannot_be_written(void **state)
{
    (void)state;
    accel_graph *graph = make();
    OK(accel_graph_add_empty(graph, NULL, 0, NULL));
    FAILS(accel_graph_debug_dump(graph, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_debug_dump");
    FAILS(accel_graph_debug_dump(graph, in_folder("missing/graph.dot")), ACCEL_ERROR_NOT_FOUND,
          "accel_graph_debug_dump");
    says_path();
    assert_int_equal(mkdir(in_folder("locked"), 0500), 0);
    if (geteuid() != 0) {
        FAILS(accel_graph_debug_dump(graph, in_folder("locked/graph.dot")), ACCEL_ERROR_PERMISSION,
              "accel_graph_debug_dump");
        says_path();
    }
    FAILS(accel_graph_debug_dump(graph, in_folder("locked")), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_debug_dump");
    says_path();
    assert_int_equal(rmdir(in_folder("locked")), 0);
    OK(accel_graph_debug_dump(graph, in_folder("gr\xc3\xa4ph \xe2\x98\x83.dot")));
    check_dot(read_file("gr\xc3\xa4ph \xe2\x98\x83.dot"), 1, 0, 0);
    assert_int_equal(unlink(in_folder("gr\xc3\xa4ph \xe2\x98\x83.dot")), 0);
    assert_int_equal(files_in_folder(), 0); /* nothing half written is left */
    accel_graph_release(graph);
}

static const char *run_nothing(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return NULL;
}

/* Names that break careless writers; the bytes behind "not" are no UTF-8. */
static void test_names_that_need_quoting(void **state)
{
    (void)state;
    static const accel_cpu_kernel strange[] = {
        {.name = "with \"quotes\" and \\backslashes\\", .function = run_nothing},
        {.name = "new\nline and {braces} -> \xc3\xbcml\xc3\xa4ut", .function = run_nothing},
        {.name = "not \xff\xc0\xaf UTF-8 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x98",
         .function = run_nothing},
        {.name = "ends in a backslash\\", .function = run_nothing},
    };
    enum { COUNT = sizeof strange / sizeof strange[0] };
    static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};
    accel_module *module = NULL;
    accel_graph *graph = make();
    OK(accel_module_create_from_functions(test_cpu_device(0), strange, COUNT, &module));
    for (uint32_t i = 0; i < COUNT; i++) {
        accel_kernel *kernel = NULL;
        OK(accel_module_get_kernel_at(module, i, &kernel));
        OK(accel_graph_add_kernel(graph, NULL, 0, kernel, &one_item, NULL, 0, NULL));
    }
    OK(accel_graph_debug_dump(graph, in_folder("names.dot")));
    const char *text = read_file("names.dot");
    check_dot(text, COUNT, 0, 0);
    assert_non_null(strstr(text, "with \\\"quotes\\\" and \\\\backslashes\\\\"));
    assert_non_null(strstr(text, "\xc3\xbcml\xc3\xa4ut"));
    assert_null(strchr(text, '\xff'));
    check_with_graphviz("names.dot");
    OK(accel_graph_debug_dump(graph, in_folder("names.json")));
    text = read_file("names.json");
    assert_non_null(strstr(text, "\"name\": \"ends in a backslash\\\\\""));
    assert_null(strchr(text, '\xff'));
    accel_graph_release(graph);
    accel_module_release(module);
    unlink(in_folder("names.dot"));
    unlink(in_folder("names.json"));
}

static void ignore(accel_stream *on, accel_status status, void *user)
{
    (void)on, (void)status, (void)user;
}

/* Every kind of node; the debug mode adds addresses and values. */
static void test_every_kind(void **state)
{
    (void)state;
    uint32_t *data = NULL;
    uint32_t out = 0;
    const uint32_t value = 0x01020304;
    accel_event *event = NULL;
    accel_graph_node node = 0;
    accel_graph *child = make();
    accel_graph *graph = make();
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&data));
    const accel_launch_shape shape = {{2, 1, 1}, {8, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value)};
    OK(accel_graph_add_kernel(child, NULL, 0, kernels.add, &shape, args, 2, &node));
    OK(accel_graph_add_empty(child, &node, 1, NULL));
    OK(accel_graph_add_fill(graph, NULL, 0, data, &value, 4, 64, &node));
    OK(accel_graph_add_child(graph, &node, 1, child, &node));
    OK(accel_graph_add_copy(graph, &node, 1, &out, data, 4, &node));
    OK(accel_graph_add_callback(graph, &node, 1, ignore, NULL, &node));
    OK(accel_graph_add_event_record(graph, &node, 1, event, &node));
    OK(accel_graph_add_event_wait(graph, &node, 1, event, &node));
    OK(accel_graph_debug_dump(graph, in_folder("kinds.dot")));
    check_dot(read_file("kinds.dot"), 8, 7, 1);
    check_with_graphviz("kinds.dot");
    OK(accel_graph_debug_dump(graph, in_folder("kinds.json")));
    const char *text = read_file("kinds.json");
    assert_non_null(strstr(text, "\"direction\": \"device to host\""));
    assert_non_null(strstr(text, "\"pattern\": \"04030201\""));
    assert_non_null(strstr(text, "\"grid\": [2, 1, 1], \"block\": [8, 1, 1]"));
    assert_null(strstr(text, "\"0x"));
    OK(accel_graph_enable_debug_mode(graph));
    OK(accel_graph_debug_dump(graph, in_folder("kinds.json")));
    assert_non_null(strstr(read_file("kinds.json"), "\"bytes\": \"04030201\""));
    OK(accel_graph_debug_dump(graph, in_folder("kinds.dot")));
    text = read_file("kinds.dot");
    check_dot(text, 8, 7, 1);
    assert_non_null(strstr(text, "0x01020304"));
    accel_graph_release(graph);
    accel_graph_release(child);
    accel_event_release(event);
    OK(accel_memory_free(data));
    unlink(in_folder("kinds.dot"));
    unlink(in_folder("kinds.json"));
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    assert_non_null(mkdtemp(folder));
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    accel_stream_release(stream);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_over_a_life),
        cmocka_unit_test(test_an_empty_capture),
        cmocka_unit_test(test_files_that_cannot_be_written),
        cmocka_unit_test(test_names_that_need_quoting),
        cmocka_unit_test(test_every_kind),
    };
    return cmocka_run_group_tests_name("graph_dump", tests, set_up, tear_down);
}
