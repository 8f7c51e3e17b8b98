/* Snapshots: what they show of memory, and what writing them must bear. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "written.h"

enum { BLOCKS = 300 };

static size_t size_of(int i)
{
    return i % 10 == 0 ? ((size_t)i + 1) << 14 : (size_t)i * 37 + 1;
}

static void test_every_block_is_where_it_was_allocated(void **state)
{
    void *memory[BLOCKS] = {0};
    json_int_t requested = 0, sum = 0;
    size_t i = 0;
    const json_t *segment = NULL;
    (void)state;
    for (int k = 0; k < BLOCKS; k++)
        OK(accel_memory_alloc(NULL, size_of(k), NULL, &memory[k]));
    for (int k = 0; k < BLOCKS; k += 3) {
        OK(accel_memory_free(memory[k]));
        memory[k] = NULL;
    }
    json_t *snapshot = written_now(NULL);
    for (int k = 0; k < BLOCKS; k++) {
        if (memory[k] == NULL)
            continue;
        const json_t *block = written_block(snapshot, 0, memory[k]);
        assert_non_null(block);
        assert_string_equal(written_string(block, "state"), "active_allocated");
        assert_int_equal(written_integer(block, "requested_size"), size_of(k));
        requested += (json_int_t)size_of(k);
    }
    json_array_foreach(written_get(snapshot, "segments"), i, segment)
        sum += written_integer(segment, "requested_size");
    assert_int_equal(sum, requested);
    json_decref(snapshot);
    for (int k = 0; k < BLOCKS; k++)
        OK(accel_memory_free(memory[k]));
}

static void test_both_formats_can_be_asked_for(void **state)
{
    char path[] = "/tmp/accel-snapshot-XXXXXX";
    const int descriptor = mkstemp(path);
    accel_memory_snapshot *snapshot = NULL;
    unsigned char bytes[2] = {0};
    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    OK(accel_memory_snapshot_create(NULL, &snapshot));
    OK(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME));
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(bytes, 1, 2, file), 2);
    fclose(file);
    assert_int_equal(bytes[0], 0x80);
    assert_int_equal(bytes[1], 4);
    OK(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON));
    json_t *read = json_load_file(path, 0, NULL);
    assert_non_null(read);
    written_check(read);
    json_decref(read);
    unlink(path);
    accel_memory_snapshot_release(snapshot);
}

static void test_wrong_calls_are_named(void **state)
{
    static const char create[] = "accel_memory_snapshot_create";
    static const char write_to[] = "accel_memory_snapshot_write";
    const accel_memory_snapshot_options nobody = {.struct_size = sizeof nobody, .backend = 99};
    accel_memory_snapshot *snapshot = NULL;
    (void)state;
    FAILS(accel_memory_snapshot_create(NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT, create);
    FAILS(accel_memory_snapshot_create(&nobody, &snapshot), ACCEL_ERROR_NOT_FOUND, create);
    assert_null(snapshot);
    OK(accel_memory_snapshot_create(NULL, &snapshot));
    FAILS(accel_memory_snapshot_write(NULL, "/tmp/x", ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON),
          ACCEL_ERROR_INVALID_ARGUMENT, write_to);
    FAILS(accel_memory_snapshot_write(snapshot, NULL, ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON),
          ACCEL_ERROR_INVALID_ARGUMENT, write_to);
    FAILS(accel_memory_snapshot_write(snapshot, "/tmp/x", (accel_memory_snapshot_format)3),
          ACCEL_ERROR_INVALID_ARGUMENT, write_to);
    FAILS(accel_memory_snapshot_write(snapshot, "/nonexistent/x.json",
                                      ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME),
          ACCEL_ERROR_NOT_FOUND, write_to);
    assert_non_null(strstr(accel_last_error_message(), "/nonexistent/x.json"));
    FAILS(accel_memory_snapshot_write(snapshot, "/tmp", ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON),
          ACCEL_ERROR_INVALID_ARGUMENT, write_to);
    if (access("/dev/full", W_OK) == 0)
        FAILS(accel_memory_snapshot_write(snapshot, "/dev/full", ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON),
              ACCEL_ERROR_IO, write_to);
    accel_memory_snapshot_release(snapshot);
    accel_memory_snapshot_release(NULL);
}

/* ---- leaks ---- */

typedef struct seen {
    size_t groups;
    size_t first_size; /* in the two functions below */
    size_t second_size;
    size_t first_count;
    size_t last_size; /* of the group before */
    bool stops;
} seen;

static volatile int sink;
static volatile int times = 3;

__attribute__((noinline)) static void *leak_first(size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(NULL, size, NULL, &memory));
    sink++;
    return memory;
}

__attribute__((noinline)) static void *leak_second(size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(NULL, size, NULL, &memory));
    sink += 2; /* two functions that are the same become one */
    return memory;
}

static bool see(const accel_memory_leak *leak, void *user)
{
    seen *all = user;
    all->groups++;
    assert_true(leak->struct_size >= sizeof *leak);
    assert_int_equal(leak->device.index, 0);
    assert_true(leak->size <= all->last_size);
    all->last_size = leak->size;
    for (size_t i = 0; i < leak->frame_count; i++) {
        if (written_is_named(leak->frames[i].function, "leak_first")) {
            all->first_size += leak->size;
            all->first_count += leak->count;
        }
        if (written_is_named(leak->frames[i].function, "leak_second"))
            all->second_size += leak->size;
        assert_non_null(strstr(leak->frames[i].file, "+0x"));
    }
    return !all->stops;
}

static char logged[4096];

static void log_text(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)user;
    if (level != ACCEL_LOG_LEVEL_WARNING || strcmp(backend, "cpu") != 0)
        return;
    strncat(logged, text, sizeof logged - strlen(logged) - 1);
    strncat(logged, "\n", sizeof logged - strlen(logged) - 1);
}

static void test_leaks_are_grouped_by_place(void **state)
{
    void *memory[5];
    seen all = {.last_size = SIZE_MAX};
    (void)state;
    FAILS(accel_memory_leaks_visit(NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_leaks_visit");
    OK(accel_memory_leaks_visit(see, &all));
    assert_int_equal(all.groups, 0);
    OK(accel_memory_record_history(NULL));
    for (int i = 0; i < times; i++) /* one place in the code */
        memory[i] = leak_first(1000);
    memory[3] = leak_second(100000);
    memory[4] = leak_second(7);
    OK(accel_memory_free(memory[4]));
    OK(accel_memory_leaks_visit(see, &all));
    assert_int_equal(all.groups, 2);
    assert_int_equal(all.first_count, 3);
    assert_int_equal(all.first_size, 3000);
    assert_int_equal(all.second_size, 100000);
    all = (seen){.last_size = SIZE_MAX, .stops = true};
    OK(accel_memory_leaks_visit(see, &all));
    assert_int_equal(all.groups, 1);

    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, log_text, NULL));
    accel_memory_leaks_log();
    assert_non_null(strstr(logged, "100000 bytes in 1 allocations of cpu:0"));
    assert_non_null(strstr(logged, "3000 bytes in 3 allocations of cpu:0"));
    assert_non_null(strstr(logged, "leak_first"));
    logged[0] = '\0';
    for (int i = 0; i < 4; i++)
        OK(accel_memory_free(memory[i]));
    accel_memory_leaks_log();
    assert_string_equal(logged, "");
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_block_is_where_it_was_allocated),
        cmocka_unit_test(test_both_formats_can_be_asked_for),
        cmocka_unit_test(test_wrong_calls_are_named),
        cmocka_unit_test(test_leaks_are_grouped_by_place),
    };
    test_environment(2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
