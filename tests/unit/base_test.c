/* base_test.c: the base layer: text, array, environment, the error record, the log. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"

#include "base/allocate.h"
#include "base/array.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

static unsigned allowed;

static bool after_some(void)
{
    return allowed-- == 0;
}

/* Lets `count` allocations through and makes the next one fail. */
static void fail_after(unsigned count)
{
    allowed = count;
    accel__allocate_fault = after_some;
}

static void fail_no_more(void)
{
    accel__allocate_fault = NULL;
}

/* ---- allocate ---- */

static void test_memory_is_zeroed(void **state)
{
    (void)state;
    for (size_t size = 0; size < 3000; size += 97) {
        unsigned char *block = accel__allocate(size);
        unsigned char *aligned = accel__allocate_aligned(size, 4096);
        assert_non_null(block);
        assert_int_equal((uintptr_t)aligned % 4096, 0);
        for (size_t i = 0; i < size; i++)
            assert_true(block[i] == 0 && aligned[i] == 0);
        memset(block, 0xff, size);
        memset(aligned, 0xff, size);
        accel__deallocate(block);
        accel__deallocate(aligned);
    }
}

static void test_products_that_overflow(void **state)
{
    (void)state;
    assert_null(accel__allocate_array(SIZE_MAX, 2));
    assert_null(accel__allocate_array(SIZE_MAX / 8 + 1, 8));
    void *none = accel__allocate_array(0, 8);
    assert_non_null(none);
    accel__deallocate(none);
    none = accel__allocate_array(8, 0);
    assert_non_null(none);
    accel__deallocate(none);
}

static void test_deallocate_keeps_errno(void **state)
{
    (void)state;
    void *block = accel__allocate(1u << 20);
    errno = EDOM;
    accel__deallocate(block);
    accel__deallocate(NULL);
    assert_int_equal(errno, EDOM);
}

static void test_faults_reach_every_form(void **state)
{
    (void)state;
    char *block = accel__allocate(10);
    fail_after(0);
    assert_null(accel__allocate(1));
    fail_after(0);
    assert_null(accel__allocate_aligned(1, 64));
    fail_after(0);
    assert_null(accel__duplicate_string("x"));
    fail_after(0);
    assert_null(accel__reallocate(block, 20));
    fail_no_more();
    block[9] = 1; /* a failed reallocation leaves the block alone */
    accel__deallocate(block);
}

/* ---- text ---- */

static void test_text_grows(void **state)
{
    (void)state;
    accel__text text = {0};
    assert_string_equal(accel__text_string(&text), "");
    char expected[4000] = "";
    for (int i = 0; i < 500; i++) {
        accel__text_format(&text, "%d,", i);
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%d,", i);
    }
    accel__text_append_char(&text, '.');
    accel__text_append_string(&text, "end");
    accel__text_append(&text, "\0x", 2);
    strcat(expected, ".end");
    assert_string_equal(accel__text_string(&text), expected);
    assert_int_equal(text.size, strlen(expected) + 2);
    assert_false(text.failed);
    accel__text_clear(&text);
    assert_string_equal(accel__text_string(&text), "");
    accel__text_release(&text);
    assert_string_equal(accel__text_string(&text), "");
}

static void test_text_long_format(void **state)
{
    (void)state;
    accel__text text = {0};
    char *wide = malloc(100001);
    memset(wide, 'w', 100000);
    wide[100000] = '\0';
    accel__text_format(&text, "<%s>", wide);
    assert_int_equal(text.size, 100002);
    assert_int_equal(accel__text_string(&text)[100001], '>');
    accel__text_release(&text);
    free(wide);
}

static void test_text_remembers_that_memory_ran_out(void **state)
{
    (void)state;
    accel__text text = {0};
    accel__text_append_string(&text, "kept");
    fail_after(0);
    for (int i = 0; i < 1000; i++)
        accel__text_append_string(&text, "0123456789");
    fail_no_more();
    assert_true(text.failed);
    assert_int_equal(strncmp(accel__text_string(&text), "kept", 4), 0);
    accel__text_clear(&text);
    assert_false(text.failed);
    accel__text_append_string(&text, "again");
    assert_string_equal(accel__text_string(&text), "again");
    accel__text_release(&text);
}

/* ---- array ---- */

static void test_array_reserve(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (size_t count = 0; count < 5000; count++) {
        assert_true(accel__array_reserve((void **)&items, &capacity, count, 1, sizeof *items));
        assert_true(capacity > count);
        items[count] = (uint32_t)count;
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], i);
    const size_t before = capacity;
    assert_false(
        accel__array_reserve((void **)&items, &capacity, 5000, SIZE_MAX / 2, sizeof *items));
    assert_false(
        accel__array_reserve((void **)&items, &capacity, 5000, SIZE_MAX - 10, sizeof *items));
    fail_after(0);
    assert_false(accel__array_reserve((void **)&items, &capacity, 5000, before, sizeof *items));
    fail_no_more();
    assert_int_equal(capacity, before);
    assert_int_equal(items[4999], 4999);
    accel__deallocate(items);
}

/* ---- environment ---- */

static void test_environment_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool good;
        uint64_t number;
    } cases[] = {
        {NULL, true, 7},  {"", true, 7},     {"1", true, 1},    {"64", true, 64},
        {"0", false, 7},  {"65", false, 7},  {"-1", false, 7},  {"+1", false, 7},
        {" 1", false, 7}, {"1 ", false, 7},  {"1x", false, 7},  {"0x10", false, 7},
        {"x", false, 7},  {"1.0", false, 7}, {"1e1", false, 7}, {"18446744073709551617", false, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = 0;
        if (cases[i].value != NULL)
            setenv("ACCEL_TEST_NUMBER", cases[i].value, 1);
        else
            unsetenv("ACCEL_TEST_NUMBER");
        assert_int_equal(accel__environment_number("ACCEL_TEST_NUMBER", 1, 64, 7, &number),
                         cases[i].good);
        assert_int_equal(number, cases[i].number);
    }
    setenv("ACCEL_TEST_NUMBER", "18446744073709551615", 1);
    uint64_t number = 0;
    assert_true(accel__environment_number("ACCEL_TEST_NUMBER", 0, UINT64_MAX, 7, &number));
    assert_true(number == UINT64_MAX);
    unsetenv("ACCEL_TEST_NUMBER");
    assert_null(accel__environment_get("ACCEL_TEST_NUMBER"));
    setenv("ACCEL_TEST_NUMBER", "", 1);
    assert_null(accel__environment_get("ACCEL_TEST_NUMBER"));
    assert_null(accel__environment_path("ACCEL_TEST_NUMBER"));
}

/* ---- the error record ---- */

static accel_error record(void)
{
    accel_error error = {.struct_size = sizeof error};
    assert_int_equal(accel_last_error(&error), ACCEL_OK);
    return error;
}

static void test_record_holds_the_last_failure(void **state)
{
    (void)state;
    assert_int_equal(accel__fail_vendor(ACCEL_ERROR_IO, "cuda", "accel_copy", -719, "vendor said",
                                        "number %d", 5),
                     ACCEL_ERROR_IO);
    accel_error error = record();
    assert_int_equal(error.status, ACCEL_ERROR_IO);
    assert_int_equal(error.vendor_code, -719);
    assert_string_equal(error.backend, "cuda");
    assert_string_equal(error.function, "accel_copy");
    assert_string_equal(error.message, "number 5");
    assert_string_equal(error.vendor_message, "vendor said");
    assert_string_equal(accel_last_error_message(), "number 5");
    accel__fail(ACCEL_ERROR_FORKED, NULL, "f", "plain");
    error = record();
    assert_int_equal(error.vendor_code, 0);
    assert_string_equal(error.backend, "");
    assert_string_equal(error.vendor_message, "");
}

static void test_record_survives_success_and_bad_asking(void **state)
{
    (void)state;
    accel__fail(ACCEL_ERROR_IO, NULL, "f", "stays");
    int32_t count;
    assert_int_equal(accel_device_count(ACCEL_BACKEND_CURRENT, &count), ACCEL_OK);
    accel_stream_release(NULL);
    accel_event_release(NULL);
    accel_module_release(NULL);
    accel_error small = {.struct_size = 4};
    assert_int_equal(accel_last_error(NULL), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(accel_last_error(&small), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(accel_last_error_message(), "stays");
}

static void test_message_made_of_the_record(void **state)
{
    (void)state;
    accel__fail(ACCEL_ERROR_IO, NULL, "f", "inner");
    accel__fail(ACCEL_ERROR_IO, NULL, "f", "outer: %s", accel_last_error_message());
    assert_string_equal(accel_last_error_message(), "outer: inner");
}

static void test_a_muted_thread_records_nothing(void **state)
{
    (void)state;
    accel__fail(ACCEL_ERROR_IO, NULL, "f", "before");
    accel__error_mute();
    accel__error_mute();
    assert_int_equal(accel__fail(ACCEL_ERROR_FORKED, NULL, "g", "inside"), ACCEL_ERROR_FORKED);
    accel__error_unmute();
    accel__fail(ACCEL_ERROR_FORKED, NULL, "g", "still inside");
    assert_string_equal(accel_last_error_message(), "before");
    accel__error_unmute();
    accel__fail(ACCEL_ERROR_FORKED, NULL, "g", "after");
    assert_string_equal(accel_last_error_message(), "after");
}

static bool is_utf8(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        const int more = *c < 0x80 ? 0 : *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : -1;
        if (more < 0)
            return false;
        c++;
        for (int i = 0; i < more; i++, c++)
            if ((*c & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static void test_long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t which = 0; which < 4; which++) {
        for (size_t shift = 0; shift < 5; shift++) {
            char text[1200] = "";
            for (size_t i = 0; i < shift; i++)
                strcat(text, "-");
            while (strlen(text) < 1000)
                strcat(text, characters[which]);
            accel__fail_vendor(ACCEL_ERROR_IO, text, text, 0, text, "%s", text);
            const accel_error error = record();
            const size_t size = strlen(error.message);
            assert_true(size <= 511 && size > 511 - strlen(characters[which]));
            assert_true(is_utf8(error.message));
            assert_true(is_utf8(error.vendor_message));
            assert_true(is_utf8(error.backend));
            assert_true(is_utf8(error.function));
            assert_int_equal(strncmp(error.message, text, size), 0);
        }
    }
}

static void test_errno_gives_status_and_text(void **state)
{
    (void)state;
    static const struct {
        int code;
        accel_status status;
    } cases[] = {{ENOMEM, ACCEL_ERROR_OUT_OF_HOST_MEMORY},
                 {EACCES, ACCEL_ERROR_PERMISSION},
                 {EPERM, ACCEL_ERROR_PERMISSION},
                 {ENOENT, ACCEL_ERROR_NOT_FOUND},
                 {ENOSPC, ACCEL_ERROR_IO},
                 {EMFILE, ACCEL_ERROR_SYSTEM}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(accel__fail_errno(cases[i].code, "f", "opening %s", "x"), cases[i].status);
        const accel_error error = record();
        assert_int_equal(error.vendor_code, cases[i].code);
        assert_string_equal(error.vendor_message, strerror(cases[i].code));
        assert_string_equal(error.message, "opening x");
    }
}

static void *look_at_record(void *user)
{
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    *(bool *)user = error.status == ACCEL_OK && error.message[0] == '\0' &&
                    error.function[0] == '\0' && error.backend[0] == '\0';
    accel__fail(ACCEL_ERROR_INTERNAL, NULL, "other", "of the other thread");
    return NULL;
}

static void test_each_thread_has_its_own(void **state)
{
    (void)state;
    accel__fail(ACCEL_ERROR_IO, NULL, "f", "of this thread");
    bool empty = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look_at_record, &empty), 0);
    pthread_join(thread, NULL);
    assert_true(empty);
    assert_string_equal(accel_last_error_message(), "of this thread");
}

static void test_names_of_statuses(void **state)
{
    (void)state;
#define CHECK_STATUS(name, number, text)                                                           \
    assert_int_equal(name, number);                                                                \
    assert_string_equal(accel_status_name(name), #name);                                           \
    assert_string_equal(accel_status_text(name), text);
    ACCEL_STATUS_LIST(CHECK_STATUS)
#undef CHECK_STATUS
    const int unknown[] = {-1, 24, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_string_equal(accel_status_name((accel_status)unknown[i]), "ACCEL_ERROR_UNKNOWN");
        assert_non_null(accel_status_text((accel_status)unknown[i]));
    }
    assert_int_equal(accel_version(),
                     ACCEL_VERSION_MAJOR * 10000 + ACCEL_VERSION_MINOR * 100 + ACCEL_VERSION_PATCH);
}

static void test_data_types(void **state)
{
    (void)state;
#define CHECK_TYPE(name, number, size, text)                                                       \
    assert_int_equal(name, number);                                                                \
    assert_int_equal(accel_data_type_size(name), size);                                            \
    assert_string_equal(accel_data_type_name(name), text);                                         \
    assert_int_equal(accel_data_type_parse(text), name);
    ACCEL_DATA_TYPE_LIST(CHECK_TYPE)
#undef CHECK_TYPE
    const int unknown[] = {0, -1, 16, 1000, INT32_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_int_equal(accel_data_type_size((accel_data_type)unknown[i]), 0);
        assert_string_equal(accel_data_type_name((accel_data_type)unknown[i]), "none");
    }
    const char *const wrong[] = {"", "F32", "f32 ", " f32", "float", "f3", "none"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(accel_data_type_parse(wrong[i]), ACCEL_DATA_TYPE_NONE);
    assert_int_equal(accel_data_type_parse(NULL), ACCEL_DATA_TYPE_NONE);
}

/* ---- log ---- */

static struct {
    int calls;
    accel_log_level level;
    char backend[32];
    char text[2000];
    void *user;
    bool inside;
} heard;

static void hear(accel_log_level level, const char *backend, const char *text, void *user)
{
    heard.calls++;
    heard.level = level;
    heard.user = user;
    heard.inside = accel_shutdown() == ACCEL_ERROR_IN_CALLBACK;
    snprintf(heard.backend, sizeof heard.backend, "%s", backend);
    snprintf(heard.text, sizeof heard.text, "%s", text);
    accel__log(ACCEL_LOG_LEVEL_ERROR, NULL, "from inside"); /* must not come back here */
}

static void test_log_levels(void **state)
{
    (void)state;
    int user = 0;
    accel__log(ACCEL_LOG_LEVEL_ERROR, NULL, "nobody listens");
    for (int level = ACCEL_LOG_LEVEL_ERROR; level <= ACCEL_LOG_LEVEL_DEBUG; level++) {
        OK(accel_log_set_callback((accel_log_level)level, hear, &user));
        for (int said = ACCEL_LOG_LEVEL_ERROR; said <= ACCEL_LOG_LEVEL_DEBUG; said++) {
            heard.calls = 0;
            accel__log((accel_log_level)said, "cpu", "number %d", said);
            assert_int_equal(heard.calls, said <= level);
        }
    }
    assert_string_equal(heard.backend, "cpu");
    assert_string_equal(heard.text, "number 4");
    assert_ptr_equal(heard.user, &user);
    assert_true(heard.inside);
    OK(accel_shutdown()); /* allowed again */
    accel__log(ACCEL_LOG_LEVEL_ERROR, NULL, "x");
    assert_string_equal(heard.backend, "");
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, NULL, NULL));
    heard.calls = 0;
    accel__log(ACCEL_LOG_LEVEL_ERROR, NULL, "silenced");
    assert_int_equal(heard.calls, 0);
    FAILS(accel_log_set_callback((accel_log_level)0, hear, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_log_set_callback");
    FAILS(accel_log_set_callback((accel_log_level)5, hear, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_log_set_callback");
    fail_after(0);
    EXPECT(accel_log_set_callback(ACCEL_LOG_LEVEL_INFO, hear, NULL),
           ACCEL_ERROR_OUT_OF_HOST_MEMORY);
    fail_no_more();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed),
        cmocka_unit_test(test_products_that_overflow),
        cmocka_unit_test(test_deallocate_keeps_errno),
        cmocka_unit_test(test_faults_reach_every_form),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_text_long_format),
        cmocka_unit_test(test_text_remembers_that_memory_ran_out),
        cmocka_unit_test(test_array_reserve),
        cmocka_unit_test(test_environment_numbers),
        cmocka_unit_test(test_record_holds_the_last_failure),
        cmocka_unit_test(test_record_survives_success_and_bad_asking),
        cmocka_unit_test(test_message_made_of_the_record),
        cmocka_unit_test(test_a_muted_thread_records_nothing),
        cmocka_unit_test(test_long_messages_are_cut_between_characters),
        cmocka_unit_test(test_errno_gives_status_and_text),
        cmocka_unit_test(test_each_thread_has_its_own),
        cmocka_unit_test(test_names_of_statuses),
        cmocka_unit_test(test_data_types),
        cmocka_unit_test(test_log_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
