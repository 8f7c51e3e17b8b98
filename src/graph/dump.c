/* dump.c: accel_graph_debug_dump, and what both forms of a dump share. */
#include <string.h>

#include "base/error.h"
#include "graph/dump.h"
#include "platform/new_file.h"

static const char *const kinds[] = {
    [ACCEL_GRAPH_NODE_KIND_EMPTY] = "empty",
    [ACCEL_GRAPH_NODE_KIND_KERNEL] = "kernel",
    [ACCEL_GRAPH_NODE_KIND_COPY] = "copy",
    [ACCEL_GRAPH_NODE_KIND_FILL] = "fill",
    [ACCEL_GRAPH_NODE_KIND_CALLBACK] = "callback",
    [ACCEL_GRAPH_NODE_KIND_EVENT_RECORD] = "event_record",
    [ACCEL_GRAPH_NODE_KIND_EVENT_WAIT] = "event_wait",
    [ACCEL_GRAPH_NODE_KIND_CHILD] = "child",
};

const char *accel__dump_kind(accel_graph_node_kind kind)
{
    return kinds[kind];
}

const char *accel__dump_direction(accel_copy_direction direction)
{
    switch (direction) {
    case ACCEL_COPY_DIRECTION_HOST_TO_DEVICE:
        return "host to device";
    case ACCEL_COPY_DIRECTION_DEVICE_TO_HOST:
        return "device to host";
    case ACCEL_COPY_DIRECTION_DEVICE_TO_DEVICE:
        return "device to device";
    case ACCEL_COPY_DIRECTION_HOST_TO_HOST:
        break;
    }
    return "host to host";
}

/* ---- strings ---- */

/* The bytes of the UTF-8 sequence that begins here; 0: there is none (overlong forms, surrogates and
 * what is beyond U+10FFFF are none either). */
static size_t sequence(const unsigned char *bytes)
{
    const unsigned lead = bytes[0];
    const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (size < 2)
        return size;
    for (size_t i = 1; i < size; i++)
        if ((bytes[i] & 0xc0) != 0x80) /* also the end of the string */
            return 0;
    const bool is_valid = !(lead == 0xe0 && bytes[1] < 0xa0) &&
                          !(lead == 0xed && bytes[1] > 0x9f) &&
                          !(lead == 0xf0 && bytes[1] < 0x90) &&
                          !(lead == 0xf4 && bytes[1] > 0x8f) && lead < 0xf5;
    return is_valid ? size : 0;
}

void accel__dump_escaped(accel__text *text, const char *string)
{
    const unsigned char *bytes = (const unsigned char *)string;
    while (*bytes != '\0') {
        const size_t size = sequence(bytes);
        if (size == 0)
            accel__text_append_string(text, "\xef\xbf\xbd");
        else if (*bytes == '"' || *bytes == '\\')
            accel__text_format(text, "\\%c", *bytes);
        else if (*bytes < 0x20 || *bytes == 0x7f)
            accel__text_append_char(text, ' ');
        else
            accel__text_append(text, (const char *)bytes, size);
        bytes += size != 0 ? size : 1;
    }
}

/* ---- the call ---- */

static bool ends_in_json(const char *path)
{
    const size_t size = strlen(path);
    return size >= 5 && strcmp(path + size - 5, ".json") == 0;
}

static accel_status check_dumpable(const accel_graph *graph, const char *function)
{
    const accel_status status = accel__graph_check_idle(graph, function);
    if (status != ACCEL_OK || graph->is_captured)
        return status;
    return accel__fail(
        ACCEL_ERROR_INVALID_STATE, graph->device->backend->table.name, function,
        "the graph is empty: there is nothing to dump before a capture has ended, or "
        "nodes were added");
}

static accel_status write(const char *path, const accel__text *text, const char *function)
{
    accel__new_file *file = NULL;
    const accel_status status = accel__new_file_create(path, function, &file);
    if (status != ACCEL_OK)
        return status;
    accel__new_file_write(file, text->data, text->size);
    return accel__new_file_commit(file);
}

accel_status accel_graph_debug_dump(accel_graph *graph, const char *path)
{
    accel__text text = {0};
    if (path == NULL)
        return accel__fail_null(__func__, "path");
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = check_dumpable(graph, __func__);
    if (status == ACCEL_OK && ends_in_json(path))
        accel__dump_json(graph, &text);
    else if (status == ACCEL_OK)
        accel__dump_dot(graph, &text);
    status = accel__graph_unlock(graph, status);
    if (status == ACCEL_OK && text.failed)
        status = accel__graph_no_memory(graph, __func__);
    if (status == ACCEL_OK)
        status = write(path, &text, __func__);
    accel__text_release(&text);
    return status;
}
