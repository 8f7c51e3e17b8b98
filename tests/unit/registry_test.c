/* registry_test.c: the check of a backend's table, and the masking of its optional groups. Tables are
 * those of the mock with something taken away. */
#include <stdlib.h>

#include "doubles/mock_backend.h"
#include "support/check.h"

#include "core/registry.h"

static void refuse(const accel_backend_table *table, const char *names)
{
    const uint32_t before = accel_backend_count();
    accel_backend number = 77;
    EXPECT(accel__registry_add(table, &number), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(accel_last_error_message(), names));
    assert_int_equal(accel_backend_count(), before);
}

static void test_wrong_headers(void **state)
{
    (void)state;
    accel_backend_table table = mock_table();
    refuse(NULL, "table");
    table.struct_size = 8;
    refuse(&table, "struct_size");
    table.struct_size = sizeof table + 8;
    refuse(&table, "struct_size");
    table = mock_table();
    table.abi = ACCEL_BACKEND_ABI + 1;
    refuse(&table, "ABI");
    const char *const names[] = {
        NULL,    "",      "Mock",  "1mock",     "_mock",
        "mo-ck", "mo ck", "mock:", "m\xc3\xa4", "abcdefghijklmnopqrstuvwxyz012345"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        table = mock_table();
        table.name = names[i];
        refuse(&table, "name");
    }
}

/* Every mandatory function, by the place in the table and the name that the refusal must give. */
static void test_each_mandatory_function(void **state)
{
    (void)state;
#define WITHOUT(path)                                                                              \
    do {                                                                                           \
        accel_backend_table table = mock_table();                                                  \
        table.path = NULL;                                                                         \
        refuse(&table, #path);                                                                     \
    } while (0)
    WITHOUT(discovery.start);
    WITHOUT(discovery.stop);
    WITHOUT(device.open);
    WITHOUT(device.memory_info);
    WITHOUT(memory.alloc);
    WITHOUT(memory.free);
    WITHOUT(memory.copy);
    WITHOUT(memory.fill);
    WITHOUT(stream.create);
    WITHOUT(stream.destroy);
    WITHOUT(stream.query);
    WITHOUT(stream.synchronize);
    WITHOUT(event.create);
    WITHOUT(event.destroy);
    WITHOUT(event.record);
    WITHOUT(event.query);
    WITHOUT(event.synchronize);
    WITHOUT(event.wait);
    WITHOUT(kernel.dialect);
    WITHOUT(kernel.compiler_key);
    WITHOUT(kernel.compile);
    WITHOUT(kernel.load);
    WITHOUT(kernel.unload);
    WITHOUT(kernel.function_count);
    WITHOUT(kernel.function);
    WITHOUT(kernel.launch);
#undef WITHOUT
}

static accel_status stream_handle(accel_native_stream *stream, void **out_handle)
{
    *out_handle = stream;
    return ACCEL_OK;
}

static accel_status event_handle(accel_native_event *event, void **out_handle)
{
    *out_handle = event;
    return ACCEL_OK;
}

static void *plain;

static accel_status pinned_alloc(accel_native_device *device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    (void)device;
    (void)size;
    (void)alignment;
    *out_pointer = plain;
    return ACCEL_OK;
}

static void pinned_free(accel_native_device *device, void *pointer)
{
    (void)device;
    (void)pointer;
}

static bool reachable(accel_native_device *destination, accel_native_device *source)
{
    return destination != source;
}

static uint64_t driver_stamp(void)
{
    return 0;
}

static uint32_t driver_list(accel_backend_driver *out_drivers, uint32_t capacity,
                            accel_backend_probe *out_probe)
{
    (void)out_drivers, (void)capacity, (void)out_probe;
    return 0;
}

static accel_status driver_probe(const accel_backend_driver *driver,
                                 void (*report)(const accel_backend_found *found, void *user),
                                 void *user)
{
    (void)driver, (void)report, (void)user;
    return ACCEL_OK;
}

/* Devices are found in exactly one of two ways. */
static void test_ways_of_discovery(void **state)
{
    (void)state;
    accel_backend_table table = mock_table();
    table.local.describe = NULL;
    refuse(&table, "local");
    table = mock_table();
    memset(&table.local, 0, sizeof table.local);
    refuse(&table, "exactly one");
    table.drivers.stamp = driver_stamp;
    refuse(&table, "drivers");
    table = mock_table();
    table.drivers = (accel_backend_drivers){driver_stamp, driver_list, driver_probe};
    refuse(&table, "exactly one");
}

static void test_half_a_group(void **state)
{
    (void)state;
    accel_backend_table table = mock_table();
    table.handles.stream = stream_handle;
    refuse(&table, "handles");
    table = mock_table();
    table.handles.event = event_handle;
    refuse(&table, "handles");
    table = mock_table();
    table.pinned.alloc = pinned_alloc;
    refuse(&table, "pinned");
    table = mock_table();
    table.pinned.free = pinned_free;
    refuse(&table, "pinned");
    table = mock_table();
    table.peer.reachable = reachable;
    refuse(&table, "peer");
}

static bool has_holes(const accel_backend_table *table)
{
    void (*const *functions)(void) = (void (*const *)(void))(const void *)&table->timing;
    const size_t count = (sizeof *table - offsetof(accel_backend_table, timing)) /
                         sizeof functions[0];
    for (size_t i = 0; i < count; i++)
        if (functions[i] == NULL)
            return true;
    return false;
}

static void test_holes_are_filled(void **state)
{
    (void)state;
    accel_backend_table given = mock_table();
    accel_backend_table whole;
    uint32_t own = 77;
    given.handles = (accel_backend_handles){stream_handle, event_handle};
    OK(accel__table_complete(&given, 0, &whole, &own));
    assert_int_equal(own, 1u << ACCEL__GROUP_HANDLES);
    assert_false(has_holes(&whole));
    assert_ptr_equal(whole.handles.stream, stream_handle);
    assert_ptr_equal(whole.memory.alloc, given.memory.alloc);
    OK(accel__table_complete(&given, 1u << ACCEL__GROUP_HANDLES, &whole, &own));
    assert_int_equal(own, 0);
    assert_false(has_holes(&whole));
    assert_ptr_not_equal(whole.handles.stream, stream_handle);
}

static void test_mask_words(void **state)
{
    (void)state;
    static const struct {
        const char *mask;
        uint32_t bits;
    } cases[] = {
        {"", 0},
        {"mock:timing", 1u << ACCEL__GROUP_TIMING},
        {"mock:timing,mock:peer", 1u << ACCEL__GROUP_TIMING | 1u << ACCEL__GROUP_PEER},
        {"cpu:timing,mock:handles", 1u << ACCEL__GROUP_HANDLES},
        {"cpu:all", 0},
        {"mock:all", (1u << ACCEL__GROUP_COUNT) - 1},
        {"mock:functions,mock:callbacks,mock:pinned,mock:priorities",
         1u << ACCEL__GROUP_FUNCTIONS | 1u << ACCEL__GROUP_CALLBACKS | 1u << ACCEL__GROUP_PINNED |
             1u << ACCEL__GROUP_PRIORITIES},
        {"mock:", 0},
        {"mock", 0},
        {"mockery:timing", 0},
        {"mock:timin,mock:timings,mock:peer", 1u << ACCEL__GROUP_PEER},
        {",,mock:peer,", 1u << ACCEL__GROUP_PEER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("ACCEL_MASK", cases[i].mask, 1);
        assert_int_equal(accel__mask_of("mock"), cases[i].bits);
    }
    unsetenv("ACCEL_MASK");
    assert_int_equal(accel__mask_of("mock"), 0);
}

static void test_registering(void **state)
{
    (void)state;
    const uint32_t before = accel_backend_count();
    accel_backend_table table = mock_table();
    accel_backend number = 0;
    table.name = "first_mock";
    OK(accel__registry_add(&table, &number));
    assert_int_equal(number, before + 1);
    assert_int_equal(accel_backend_count(), before + 1);
    assert_string_equal(accel_backend_name(number), "first_mock");
    refuse(&table, "first_mock"); /* the name is taken */
    static char names[ACCEL__BACKEND_MAX][16];
    for (unsigned added = 1; added < ACCEL__BACKEND_MAX - before; added++) {
        snprintf(names[added], sizeof names[added], "mock_%u", added);
        table.name = names[added];
        OK(accel__registry_add(&table, NULL));
    }
    table.name = "one_too_many";
    EXPECT(accel__registry_add(&table, &number), ACCEL_ERROR_OUT_OF_RANGE);
    assert_int_equal(accel_backend_count(), ACCEL__BACKEND_MAX);
    /* All of them at once fit into a message. */
    accel_backend found;
    FAILS(accel_backend_find("nosuch", &found), ACCEL_ERROR_NOT_FOUND, "accel_backend_find");
    assert_non_null(strstr(accel_last_error_message(), "mock_1"));
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_headers),     cmocka_unit_test(test_each_mandatory_function),
        cmocka_unit_test(test_ways_of_discovery), cmocka_unit_test(test_half_a_group),
        cmocka_unit_test(test_holes_are_filled),  cmocka_unit_test(test_mask_words),
        cmocka_unit_test(test_registering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
