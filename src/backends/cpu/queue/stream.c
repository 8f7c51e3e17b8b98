/* stream.c: see stream.h. */
#include "backends/cpu/queue/stream.h"

#include "base/allocate.h"
#include "base/error.h"

static accel_status no_memory(const char *function)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", function,
                       "no memory for a stream's queue");
}

accel_status accel__cpu_stream_create(accel_native_device *device, int32_t priority,
                                      accel_native_stream **out_stream)
{
    accel_native_stream *stream = accel__allocate(sizeof *stream);
    accel__cpu_queue *queue = NULL;
    *out_stream = NULL;
    if (stream != NULL)
        queue = accel__cpu_queue_create(device, priority);
    if (queue == NULL) {
        accel__deallocate(stream);
        return no_memory("accel_stream_create");
    }
    stream->device = device;
    stream->priority = priority;
    atomic_store(&stream->queue, queue);
    *out_stream = stream;
    return ACCEL_OK;
}

/* The queue lives on until its attendants have emptied it. */
void accel__cpu_stream_destroy(accel_native_stream *stream)
{
    accel__cpu_queue_unreference(atomic_load(&stream->queue));
    accel__deallocate(stream);
}

/* In a child: a new, empty queue. What failed stays failed. The old one stays as it is, for events that
 * were recorded on it; it loses the stream's reference. */
accel_status accel__cpu_stream_queue(accel_native_stream *stream, const char *function,
                                     accel__cpu_queue **out_queue)
{
    accel__cpu_queue *old = atomic_load_explicit(&stream->queue, memory_order_acquire);
    *out_queue = old;
    if (accel__cpu_queue_is_own(old))
        return ACCEL_OK;
    accel__cpu_queue *queue = accel__cpu_queue_create(stream->device, stream->priority);
    if (queue == NULL)
        return no_memory(function);
    if (accel__cpu_queue_status(old) != ACCEL_OK)
        accel__cpu_queue_fail(queue, 0, accel__cpu_queue_status(old), old->error_text);
    const bool is_first = atomic_compare_exchange_strong(&stream->queue, &old, queue);
    *out_queue = is_first ? queue : old;
    accel__cpu_queue_unreference(is_first ? old : queue);
    return ACCEL_OK;
}

accel_status accel__cpu_stream_reserve_slow(accel_native_stream *stream, const char *function,
                                            accel__cpu_queue **out_queue, uint64_t *out_ticket)
{
    const accel_status status = accel__cpu_stream_queue(stream, function, out_queue);
    return status == ACCEL_OK ? accel__cpu_queue_reserve(*out_queue, function, out_ticket) : status;
}

accel_status accel__cpu_stream_query(accel_native_stream *stream, bool *out_done)
{
    accel__cpu_queue *queue = atomic_load_explicit(&stream->queue, memory_order_acquire);
    *out_done = !accel__cpu_queue_is_own(queue) || /* a child's streams are empty */
                accel__cpu_queue_passed(queue, accel__cpu_queue_tail(queue));
    if (!*out_done)
        accel__cpu_queue_hurry(queue);
    return accel__cpu_queue_failure(queue, "accel_stream_query");
}

accel_status accel__cpu_stream_synchronize(accel_native_stream *stream)
{
    static const char function[] = "accel_stream_synchronize";
    accel__cpu_queue *queue = atomic_load_explicit(&stream->queue, memory_order_acquire);
    if (accel__cpu_queue_is_own(queue) &&
        !accel__cpu_queue_wait(queue, accel__cpu_queue_tail(queue), true))
        return accel__fail(ACCEL_ERROR_FORKED, "cpu", function,
                           "the process was forked in a callback of the stream");
    return accel__cpu_queue_failure(queue, function);
}

accel_status accel__cpu_stream_add_callback(accel_native_stream *stream,
                                            void (*call)(accel_status status, void *user),
                                            void *user)
{
    static const char function[] = "accel_stream_add_callback";
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    const accel_status status = accel__cpu_stream_reserve(stream, function, &queue, &ticket);
    if (status != ACCEL_OK)
        return status;
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    slot->op = ACCEL__CPU_OP_CALL;
    slot->call.call = call;
    slot->call.user = user;
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

accel_status accel__cpu_stream_handle(accel_native_stream *stream, void **out_handle)
{
    *out_handle = stream;
    return ACCEL_OK;
}
