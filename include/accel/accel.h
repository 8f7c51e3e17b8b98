/* SPDX-License-Identifier: MIT
 * accel.h: one way to use whatever accelerator the machine has.
 *
 * Conventions, true of every function of every header here:
 *
 * Results    A function that can fail returns accel_status; values go to out_ parameters, which are
 *            cleared on entry: after a failure they are zero or NULL, unless its header says else.
 * Names      accel_<noun>_<verb>; what mirrors a function of torch.accelerator has its name behind the
 *            prefix (accel_set_stream; docs/torch-page.md has them all). Inputs come first, out_
 *            parameters last. A `size` is bytes, a `count` is things; limits end in _MAX.
 * Errors     After a failure accel_last_error() says what failed, why, and what to do. No call
 *            prints, aborts or exits. Bad arguments are found before anything is changed. Every
 *            function may give INVALID_ARGUMENT (NULL where something is needed, a number outside of
 *            its enum, a struct_size that was not set) and, where it needs memory of its own,
 *            OUT_OF_HOST_MEMORY. Three families of errors are named as one:
 *              those of the device    NOT_FOUND (no such backend), OUT_OF_RANGE (no such index),
 *                                     UNAVAILABLE (no device, or ACCEL_BACKEND names what cannot be
 *                                     used), CANNOT_TELL;
 *              those of a start       those of the device, START_FAILED, FORKED, IN_CALLBACK, what a
 *                                     deferred call returned, and what the driver says (DEVICE_FAILED,
 *                                     OUT_OF_MEMORY, SYSTEM, …);
 *              the stream's failure   what sticks to a stream: the status of the work that failed.
 * Classes    Each function is one of:
 *              question  starts no driver and no thread, opens no device file, and leaves a later
 *                        fork() harmless;
 *              deferred  is remembered, where the backend has not started, and applied in order when
 *                        it starts;
 *              use       starts the backend (once) and needs it: after that the process is
 *                        fork-sensitive, unless capability.survives_fork says otherwise.
 *            Creating, retaining and releasing plain objects is none of them where nothing is said.
 * Fork       In a child of a process that had used a backend, each use of it returns
 *            ACCEL_ERROR_FORKED; questions work, other backends work, releasing inherited objects is
 *            a quiet no-op. The cpu backend works in both: in the child inherited streams are empty,
 *            inherited memory is as it was at the fork, and an event that was pending at the fork
 *            reports ACCEL_ERROR_FORKED. fork() itself waits, up to a second, for calls of the loader (a
 *            kernel or a driver opened) that are under way in accel on other threads.
 * Threads    Devices and backends are values. Streams, events, modules, kernels, graphs, generators
 *            and pools are safe to use from any number of threads. Options and scopes belong to one
 *            thread. "Current" is per thread.
 * Ownership  create / retain / release are counted; get and current lend; alloc / free is memory;
 *            begin / end is a scope. Release of NULL is a no-op. Strings passed in are copied, and
 *            are UTF-8; strings handed out live as long as their object, unless a buffer was given.
 * Structs    Options and out structs begin with struct_size, set it to sizeof. Options: NULL and zero
 *            mean default, and a longer struct than this library knows is accepted where its unknown
 *            tail is zero. Out structs are written up to the caller's size.
 * Buffers    (buffer, capacity, out_needed): *out_needed (may be NULL) gets what the answer takes,
 *            after OUT_OF_RANGE too: it does not fit then, and nothing of it is written. With capacity
 *            0 only that is asked, which is OK; the buffer may be NULL.
 * Units      Sizes are size_t bytes. Times are integers whose names end in the unit (…_ns, …_ms); only
 *            accel_event_elapsed_time gives milliseconds as a double.
 * Device     ACCEL_DEVICE_CURRENT stands for the thread's current device, {backend,
 *            ACCEL_INDEX_NONE} for the current one of that backend. A negative index is an error,
 *            except for accel_set_device_index, where it does nothing.
 * Handles    Using a released handle is undefined in release builds; debug builds find it
 *            (ACCEL_ERROR_INVALID_ARGUMENT). Pools are found in all builds.
 *
 * This header has them all but <accel/cpu.h> (C functions as kernels), <accel/philox.h> (random numbers in
 * kernels) and <accel/backend.h> (for who writes a backend). docs/settings.md has the variables.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <accel/allocator.h>
#include <accel/allocator_config.h>
#include <accel/base.h>
#include <accel/copy.h>
#include <accel/data_type.h>
#include <accel/device.h>
#include <accel/discovery.h>
#include <accel/event.h>
#include <accel/graph.h>
#include <accel/host_memory.h>
#include <accel/kernel.h>
#include <accel/lifecycle.h>
#include <accel/log.h>
#include <accel/memory.h>
#include <accel/memory_history.h>
#include <accel/memory_pool.h>
#include <accel/memory_stats.h>
#include <accel/random.h>
#include <accel/status.h>
#include <accel/stream.h>

#endif /* ACCEL_ACCEL_H */
