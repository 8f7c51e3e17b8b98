/* devices.c: steps over backends, devices, what is current, names and texts. */
#include <string.h>

#include "world.h"

/* ---- questions ---- */

static void ask_backends(fuzz_thread *thread)
{
    static const char *const names[] = {"cpu", "opencl", "", "CPU", "cpu:0", "nosuch", NULL};
    accel_backend backend = 77;
    const accel_backend asked = fuzz_backend(thread);
    const uint32_t count = ASK_NONE(thread, accel_backend_count);
    REQUIRE(thread, count > 0, "there is no backend");
    const char *name = ASK(thread, accel_backend_name, asked);
    REQUIRE(thread, name != NULL || asked == 0 || asked > count, "backend %u has no name", asked);
    const char *wanted = names[draw_below(&thread->draw, sizeof names / sizeof names[0])];
    if (CALL(thread, accel_backend_find, wanted, &backend) == ACCEL_OK)
        REQUIRE(thread, strcmp(wanted, ASK(thread, accel_backend_name, backend)) == 0,
                "a found backend has another name");
    else
        REQUIRE(thread, backend == ACCEL_BACKEND_NONE, "backend %u is left after a failure",
                backend);
    CALL(thread, accel_backend_find, wanted, NULL);
}

static void ask_counts(fuzz_thread *thread)
{
    int32_t count = -7;
    bool flag = true;
    const accel_backend backend = fuzz_backend(thread);
    const accel_status status = CALL(thread, accel_device_count, backend, &count);
    REQUIRE(thread, count >= 0, "a count is %d", count);
    REQUIRE(thread, status == ACCEL_OK || status == ACCEL_ERROR_CANNOT_TELL || count == 0,
            "a count of %d is left after a failure", count);
    CALL(thread, accel_device_count, backend, NULL);
    if (CALL(thread, accel_is_available, backend, &flag) == ACCEL_OK && status == ACCEL_OK)
        REQUIRE(thread, flag == (count > 0), "available does not go with the count");
    CALL(thread, accel_is_available, backend, NULL);
    flag = true;
    if (CALL(thread, accel_is_initialized, backend, &flag) != ACCEL_OK)
        REQUIRE(thread, !flag, "a flag is left after a failure");
    if (draw_chance(&thread->draw, 20))
        CALL(thread, accel_is_initialized, backend, NULL);
    if (draw_chance(&thread->draw, 20))
        CALL(thread, accel_initialize, fuzz_backend(thread));
}

static void describe(fuzz_thread *thread)
{
    const accel_device device = fuzz_device(thread);
    OUT_STRUCT(accel_device_info, info);
    OUT_STRUCT(accel_device_capability, capability);
    size_t free_bytes = 1;
    size_t total = 1;
    if (CALL(thread, accel_device_describe, device, &info.as) == ACCEL_OK &&
        info.as.struct_size == sizeof info.as)
        REQUIRE(thread, memchr(info.as.name, '\0', sizeof info.as.name) != NULL,
                "a name has no end");
    CALL(thread, accel_get_device_capability, device, &capability.as);
    if (CALL(thread, accel_get_memory_info, device, &free_bytes, &total) == ACCEL_OK)
        REQUIRE(thread, free_bytes <= total, "%zu bytes of %zu are free", free_bytes, total);
    else
        REQUIRE(thread, free_bytes == 0 && total == 0, "figures are left after a failure");
    if (draw_chance(&thread->draw, 10)) {
        CALL(thread, accel_device_describe, device, NULL);
        CALL(thread, accel_get_device_capability, device, NULL);
        CALL(thread, accel_get_memory_info, device, NULL, NULL);
    }
}

static void ask_reports(fuzz_thread *thread)
{
    const accel_backend backend = fuzz_backend(thread);
    OUT_STRUCT(accel_backend_report, report);
    OUT_STRUCT(accel_driver_report, driver);
    const uint32_t index = draw_below(&thread->draw, 3);
    CALL(thread, accel_backend_get_report, backend,
         draw_chance(&thread->draw, 5) ? NULL : &report.as);
    CALL(thread, accel_backend_get_driver_report, backend,
         draw_chance(&thread->draw, 10) ? UINT32_MAX : index,
         draw_chance(&thread->draw, 5) ? NULL : &driver.as);
}

static void ask_texts(fuzz_thread *thread)
{
    static const char *const types[] = {"f32", "c128", "none", "", "F32", NULL};
    const uint32_t number = draw_chance(&thread->draw, 10) ? (uint32_t)draw_bits(&thread->draw) >> 1
                                                           : draw_below(&thread->draw, 30);
    REQUIRE(thread, ASK(thread, accel_status_name, (accel_status)number)[0] != '\0', "no name");
    REQUIRE(thread, ASK(thread, accel_status_text, (accel_status)number)[0] != '\0', "no text");
    REQUIRE(thread, ASK(thread, accel_reason_name, (accel_reason)number)[0] != '\0', "no name");
    REQUIRE(thread, ASK(thread, accel_reason_cause, (accel_reason)number)[0] != '\0', "no cause");
    REQUIRE(thread, ASK(thread, accel_reason_remedy, (accel_reason)number)[0] != '\0', "no remedy");
    const accel_data_type type = ASK(thread, accel_data_type_parse,
                                     types[draw_below(&thread->draw, 6)]);
    const bool is_known = ASK(thread, accel_data_type_size, (accel_data_type)number) != 0;
    const char *name = ASK(thread, accel_data_type_name, (accel_data_type)number);
    REQUIRE(thread, is_known == (strcmp(name, "none") != 0), "type %u is '%s'", number, name);
    REQUIRE(thread, type == ACCEL_DATA_TYPE_NONE || ASK(thread, accel_data_type_size, type) != 0,
            "a type has no size");
    REQUIRE(thread, ASK_NONE(thread, accel_version) != 0, "no version");
    REQUIRE(thread, ASK_NONE(thread, accel_last_error_message) != NULL, "no message");
    /* It leaves the record alone, so what it returns is not in there. */
    accel_error error = {.struct_size = draw_chance(&thread->draw, 50) ? 3 : sizeof error};
    if (ASK(thread, accel_last_error, draw_chance(&thread->draw, 10) ? NULL : &error) != ACCEL_OK)
        atomic_fetch_add(&fuzz_shared_page->errors[FUZZ_accel_last_error], 1);
}

static void name_devices(fuzz_thread *thread)
{
    static const char *const texts[] = {
        "cpu",    "cpu:0",  "opencl:0", "cpu:",   "cpu:00", "cpu:-1", "cpu:2147483648",
        "cpu: 0", "CPU:0",  ":",        "",       "nosuch", "cpu:1 ", "cpu:2147483647",
        "cpu:x",  "\xff:0", "cpu:0:0",  "opencl", NULL};
    accel_device parsed = {77, 77};
    accel_device again;
    char text[ACCEL_DEVICE_NAME_MAX];
    size_t needed = 0;
    const size_t capacity = draw_chance(&thread->draw, 70) ? sizeof text
                                                           : draw_below(&thread->draw, 8);
    if (CALL(thread, accel_device_parse, texts[draw_below(&thread->draw, 19)], &parsed) != ACCEL_OK)
        REQUIRE(thread, parsed.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    CALL(thread, accel_device_parse, texts[draw_below(&thread->draw, 19)], NULL);
    const accel_device device = fuzz_device(thread);
    char *buffer = draw_chance(&thread->draw, 5) ? NULL : text;
    if (CALL(thread, accel_device_format, device, buffer, capacity,
             draw_chance(&thread->draw, 80) ? &needed : NULL) == ACCEL_OK) {
        REQUIRE(thread,
                buffer == NULL || capacity == 0 ||
                    CALL(thread, accel_device_parse, text, &again) == ACCEL_OK,
                "'%s' was written and cannot be read", text);
        REQUIRE(thread,
                buffer == NULL || capacity == 0 || needed == 0 || needed == strlen(text) + 1,
                "'%s' is not of %zu bytes", text, needed);
    }
}

/* ---- what is current ---- */

static void set_current(fuzz_thread *thread)
{
    accel_device device = {77, 77};
    int32_t index = -7;
    switch (draw_below(&thread->draw, 6)) {
    case 0:
        CALL(thread, accel_set_current_accelerator, fuzz_backend(thread));
        break;
    case 1:
        CALL(thread, accel_set_device_index, fuzz_device(thread));
        break;
    case 2:
        CALL(thread, accel_set_device_idx, fuzz_device(thread));
        break;
    case 3:
        if (CALL(thread, accel_exchange_device, fuzz_device(thread), &device) == ACCEL_OK)
            CALL(thread, accel_maybe_exchange_device, device, &device);
        CALL(thread, accel_exchange_device, fuzz_device(thread), NULL);
        break;
    case 4:
        CALL(thread, accel_maybe_exchange_device, fuzz_device(thread),
             draw_chance(&thread->draw, 90) ? &device : NULL);
        break;
    default:
        CALL(thread, accel_current_accelerator, draw_chance(&thread->draw, 50),
             draw_chance(&thread->draw, 90) ? &device : NULL);
        CALL(thread, accel_current_device_idx, fuzz_backend(thread), &index);
        if (CALL(thread, accel_current_device_index, fuzz_backend(thread), &index) == ACCEL_OK)
            REQUIRE(thread, index >= 0, "the current index is %d", index);
        CALL(thread, accel_current_device_index, fuzz_backend(thread), NULL);
        break;
    }
}

static void set_stream(fuzz_thread *thread)
{
    accel_stream *stream = fuzz_take_stream(thread);
    accel_stream *now = NULL;
    accel_device device;
    if (CALL(thread, accel_set_stream, stream) == ACCEL_OK) {
        CALL(thread, accel_stream_get_device, stream, &device);
        REQUIRE(thread,
                CALL(thread, accel_current_stream, device, &now) == ACCEL_OK && now == stream,
                "a stream was set and is not current");
    }
    CALL(thread, accel_current_stream, fuzz_device(thread), &now);
    CALL(thread, accel_current_stream, fuzz_device(thread), NULL);
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

/* ---- scopes that stay open for some steps ---- */

static void begin_scope(fuzz_thread *thread)
{
    if (thread->scope_count == FUZZ_SCOPES_MAX)
        return;
    fuzz_scope *scope = &thread->scopes[thread->scope_count];
    const uint32_t sort = draw_below(&thread->draw, 3);
    accel_status status;
    if (sort == 0) {
        scope->kind = FUZZ_SCOPE_DEVICE;
        status = CALL(thread, accel_device_index_begin, fuzz_device(thread), &scope->as.device);
    } else if (sort == 1) {
        accel_stream *stream = fuzz_take(thread, FUZZ_STREAM);
        scope->kind = FUZZ_SCOPE_STREAM;
        status = CALL(thread, accel_stream_scope_begin, stream, &scope->as.stream);
        fuzz_drop(thread, FUZZ_STREAM, stream);
    } else {
        accel_memory_pool *pool = fuzz_take(thread, FUZZ_POOL);
        scope->kind = FUZZ_SCOPE_POOL;
        status = CALL(thread, accel_memory_pool_scope_begin, pool, &scope->as.pool);
        fuzz_drop(thread, FUZZ_POOL, pool);
    }
    thread->scope_count += status == ACCEL_OK;
}

static void end_scope(fuzz_thread *thread)
{
    if (thread->scope_count == 0) {
        ASK(thread, accel_device_index_end, NULL);
        ASK(thread, accel_stream_scope_end, NULL);
        ASK(thread, accel_memory_pool_scope_end, NULL);
        return;
    }
    fuzz_scope *scope = &thread->scopes[--thread->scope_count];
    for (uint32_t times = 1 + draw_below(&thread->draw, 2); times > 0;
         times--) { /* twice: nothing */
        if (scope->kind == FUZZ_SCOPE_DEVICE)
            ASK(thread, accel_device_index_end, &scope->as.device);
        else if (scope->kind == FUZZ_SCOPE_STREAM)
            ASK(thread, accel_stream_scope_end, &scope->as.stream);
        else
            ASK(thread, accel_memory_pool_scope_end, &scope->as.pool);
    }
}

void fuzz_end_scopes(fuzz_thread *thread)
{
    while (thread->scope_count > 0)
        end_scope(thread);
}

const fuzz_step fuzz_steps_devices[] = {
    {"ask backends", 2, ask_backends},
    {"ask counts", 3, ask_counts},
    {"describe", 3, describe},
    {"ask reports", 2, ask_reports},
    {"ask texts", 2, ask_texts},
    {"name devices", 2, name_devices},
    {"set current", 6, set_current},
    {"set stream", 4, set_stream},
    {"begin scope", 4, begin_scope},
    {"end scope", 4, end_scope},
    {NULL, 0, NULL},
};
