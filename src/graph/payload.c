/* payload.c: what nodes do: making, counting and giving back payloads. See plan.h. */
#include <string.h>

#include "base/allocate.h"
#include "graph/plan.h"

static accel__payload *make(accel_graph_node_kind kind, size_t extra)
{
    accel__payload *payload = accel__allocate(sizeof *payload + extra);
    if (payload != NULL) {
        payload->references = 1;
        payload->kind = kind;
    }
    return payload;
}

accel__payload *accel__payload_make(accel_graph_node_kind kind)
{
    return make(kind, 0);
}

/* ---- kernels ---- */

static bool is_value(const accel_kernel_arg *arg)
{
    return arg->kind == ACCEL_KERNEL_ARG_KIND_VALUE;
}

/* Values begin at multiples of 16, so that any type may be read where it lies. */
static size_t padded(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

static size_t size_of_values(const accel_kernel_arg *args, uint32_t arg_count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < arg_count; i++)
        if (is_value(&args[i]))
            size += padded(args[i].size);
    return size;
}

static void copy_args(accel_kernel_arg *copies, const accel_kernel_arg *args, uint32_t arg_count,
                      unsigned char *values)
{
    for (uint32_t i = 0; i < arg_count; i++) {
        copies[i] = args[i];
        if (!is_value(&args[i]))
            continue;
        memcpy(values, args[i].data, args[i].size);
        copies[i].data = values;
        values += padded(args[i].size);
    }
}

accel__payload *accel__payload_of_launch(accel_kernel *kernel, const accel_launch_shape *shape,
                                         const accel_kernel_arg *args, uint32_t arg_count)
{
    const size_t head = padded(sizeof(accel__payload));
    const size_t table = padded(arg_count * sizeof *args);
    accel__payload *payload = make(ACCEL_GRAPH_NODE_KIND_KERNEL,
                                   head - sizeof *payload + table +
                                       size_of_values(args, arg_count));
    if (payload == NULL)
        return NULL;
    unsigned char *behind = (unsigned char *)payload + head;
    payload->launch.kernel = kernel;
    payload->launch.shape = *shape;
    payload->launch.arg_count = arg_count;
    payload->launch.args = (accel_kernel_arg *)(void *)behind;
    copy_args(payload->launch.args, args, arg_count, behind + table);
    accel_module_retain(kernel->module);
    return payload;
}

/* ---- the others ---- */

accel__payload *accel__payload_of_copy(const accel__captured_copy *copy)
{
    accel__payload *payload = make(ACCEL_GRAPH_NODE_KIND_COPY, 0);
    if (payload != NULL)
        payload->copy = *copy;
    return payload;
}

accel__payload *accel__payload_of_fill(void *destination, const void *pattern, size_t pattern_size,
                                       size_t size)
{
    accel__payload *payload = make(ACCEL_GRAPH_NODE_KIND_FILL, 0);
    if (payload == NULL)
        return NULL;
    payload->fill.destination = destination;
    payload->fill.size = size;
    payload->fill.pattern_size = pattern_size;
    memcpy(payload->fill.pattern, pattern, pattern_size);
    return payload;
}

accel__payload *accel__payload_of_callback(accel_stream_callback call, void *user)
{
    accel__payload *payload = make(ACCEL_GRAPH_NODE_KIND_CALLBACK, 0);
    if (payload == NULL)
        return NULL;
    payload->callback.call = call;
    payload->callback.user = user;
    return payload;
}

accel__payload *accel__payload_of_event(accel_graph_node_kind kind, accel_event *event)
{
    accel__payload *payload = make(kind, 0);
    if (payload == NULL)
        return NULL;
    accel_event_retain(event);
    payload->event = event;
    return payload;
}

accel__payload *accel__payload_retain(accel__payload *payload)
{
    atomic_fetch_add_explicit(&payload->references, 1, memory_order_relaxed);
    return payload;
}

static void close_child(accel__plan *child)
{
    if (child == NULL)
        return;
    accel__plan_clear(child);
    accel__deallocate(child);
}

void accel__payload_release(accel__payload *payload)
{
    if (payload == NULL || atomic_fetch_sub(&payload->references, 1) != 1)
        return;
    switch (payload->kind) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        accel_module_release(payload->launch.kernel->module);
        break;
    case ACCEL_GRAPH_NODE_KIND_EVENT_RECORD:
    case ACCEL_GRAPH_NODE_KIND_EVENT_WAIT:
        accel_event_release(payload->event);
        break;
    case ACCEL_GRAPH_NODE_KIND_CHILD:
        close_child(payload->child);
        break;
    case ACCEL_GRAPH_NODE_KIND_EMPTY:
    case ACCEL_GRAPH_NODE_KIND_COPY:
    case ACCEL_GRAPH_NODE_KIND_FILL:
    case ACCEL_GRAPH_NODE_KIND_CALLBACK:
        break;
    }
    accel__deallocate(payload);
}
