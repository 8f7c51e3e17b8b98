/* functions.c: which failures the header of each function speaks of: the fuzzer takes every other one for a
 * fault, of the library or of its header. A function that the library exports and that is missing here ends
 * the fuzzer. */
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

#define BIT(status) (UINT64_C(1) << ACCEL_ERROR_##status)
#define NO_STATUS (UINT64_C(1) << 63) /* the function returns no status */

#define INVALID BIT(INVALID_ARGUMENT)
#define RANGE BIT(OUT_OF_RANGE)
#define HOST BIT(OUT_OF_HOST_MEMORY)
#define FORK BIT(FORKED)
#define INSIDE BIT(IN_CALLBACK)
#define STATE BIT(INVALID_STATE)
#define OTHER BIT(MISMATCH)
/* What finding a device may meet. */
#define DEVICE (INVALID | BIT(NOT_FOUND) | RANGE | BIT(CANNOT_TELL) | BIT(UNAVAILABLE))
#define START (BIT(START_FAILED) | BIT(UNAVAILABLE) | BIT(CANNOT_TELL) | HOST | FORK)
/* What sticks to a stream; and a stream that captures refuses most. */
#define FAILURE BIT(DEVICE_FAILED)
#define QUEUE (START | DEVICE | INSIDE | FAILURE | BIT(CAPTURE))
#define NAMED (BIT(NOT_FOUND) | BIT(PERMISSION) | BIT(IO) | BIT(SYSTEM) | HOST)
#define BUILD (QUEUE | BIT(BUILD_FAILED) | BIT(NO_COMPILER) | BIT(IO))
#define NODE (INVALID | STATE | RANGE | OTHER | INSIDE | HOST)
#define SEED (INVALID | BIT(SYSTEM) | BIT(CAPTURE))
#define SEEDS (DEVICE | SEED | HOST)
#define RANDOM                                                                                     \
    (QUEUE | OTHER | BIT(UNSUPPORTED) | BIT(NO_COMPILER) | BIT(BUILD_FAILED) | BIT(SYSTEM) |       \
     BIT(OUT_OF_MEMORY))

#define EXPORTED(function) [FUZZ_##function] = #function,
static const char *const names[] = {
#include "exported.h"
};
#undef EXPORTED

#define SAYS(function, bits) [FUZZ_##function] = (bits)

static const uint64_t documented[FUZZ_FUNCTION_COUNT] = {
    SAYS(accel_allocator_add_memory_pressure_hook, INVALID | RANGE),
    SAYS(accel_allocator_add_out_of_memory_observer, INVALID | RANGE),
    SAYS(accel_allocator_check_config, INVALID),
    SAYS(accel_allocator_get_config, RANGE | INVALID),
    SAYS(accel_allocator_get_memory_limit, DEVICE | START),
    SAYS(accel_allocator_get_out_of_memory_report, INVALID),
    SAYS(accel_allocator_remove_memory_pressure_hook, INVALID | BIT(NOT_FOUND)),
    SAYS(accel_allocator_remove_out_of_memory_observer, INVALID | BIT(NOT_FOUND)),
    SAYS(accel_allocator_set_config, INVALID | HOST),
    SAYS(accel_allocator_set_memory_fraction, DEVICE | HOST),
    SAYS(accel_allocator_set_memory_limit, DEVICE | HOST),
    SAYS(accel_backend_count, NO_STATUS),
    SAYS(accel_backend_find, INVALID | BIT(NOT_FOUND)),
    SAYS(accel_backend_get_driver_report, INVALID | BIT(NOT_FOUND) | RANGE),
    SAYS(accel_backend_get_report, INVALID | BIT(NOT_FOUND) | HOST),
    SAYS(accel_backend_name, NO_STATUS),
    SAYS(accel_copy, QUEUE | OTHER),
    SAYS(accel_copy_2d, QUEUE | OTHER),
    SAYS(accel_current_accelerator, INVALID | BIT(CANNOT_TELL) | BIT(UNAVAILABLE)),
    SAYS(accel_current_device_idx, INVALID | BIT(NOT_FOUND) | BIT(UNAVAILABLE)),
    SAYS(accel_current_device_index, INVALID | BIT(NOT_FOUND) | BIT(UNAVAILABLE)),
    SAYS(accel_current_stream, DEVICE),
    SAYS(accel_data_type_name, NO_STATUS),
    SAYS(accel_data_type_parse, NO_STATUS),
    SAYS(accel_data_type_size, NO_STATUS),
    SAYS(accel_device_count, INVALID | BIT(NOT_FOUND) | BIT(CANNOT_TELL) | BIT(UNAVAILABLE)),
    SAYS(accel_device_describe, DEVICE),
    SAYS(accel_device_format, INVALID | BIT(NOT_FOUND) | RANGE | BIT(UNAVAILABLE)),
    SAYS(accel_device_index_begin, DEVICE),
    SAYS(accel_device_index_end, NO_STATUS),
    SAYS(accel_device_parse, INVALID | BIT(NOT_FOUND) | RANGE),
    SAYS(accel_empty_cache, INSIDE),
    SAYS(accel_empty_host_cache, INSIDE),
    SAYS(accel_event_create, DEVICE | HOST | BIT(UNSUPPORTED)),
    SAYS(accel_event_elapsed_time,
         INVALID | OTHER | STATE | BIT(NOT_READY) | BIT(CAPTURE) | FAILURE),
    SAYS(accel_event_get_device, INVALID),
    SAYS(accel_event_get_native_handle, INVALID | BIT(UNSUPPORTED) | STATE),
    SAYS(accel_event_query, INVALID | FORK | FAILURE | BIT(CAPTURE)),
    SAYS(accel_event_record, QUEUE | OTHER | BIT(UNSUPPORTED)),
    SAYS(accel_event_release, NO_STATUS),
    SAYS(accel_event_retain, NO_STATUS),
    SAYS(accel_event_synchronize, INVALID | INSIDE | FORK | FAILURE | BIT(CAPTURE)),
    SAYS(accel_exchange_device, DEVICE),
    SAYS(accel_fill, QUEUE | OTHER),
    SAYS(accel_fork_state, INVALID | BIT(SYSTEM) | HOST),
    SAYS(accel_generator_clone, SEED | HOST),
    SAYS(accel_generator_create, DEVICE | HOST),
    SAYS(accel_generator_default, DEVICE | HOST | BIT(SYSTEM)),
    SAYS(accel_generator_get_device, INVALID),
    SAYS(accel_generator_get_offset, SEED),
    SAYS(accel_generator_get_state, SEED | RANGE),
    SAYS(accel_generator_initial_seed, SEED),
    SAYS(accel_generator_manual_seed, SEED),
    SAYS(accel_generator_release, NO_STATUS),
    SAYS(accel_generator_retain, NO_STATUS),
    SAYS(accel_generator_seed, SEED),
    SAYS(accel_generator_set_offset, SEED),
    SAYS(accel_generator_set_state, SEED),
    SAYS(accel_get_device_capability, DEVICE),
    SAYS(accel_get_memory_info, DEVICE | START),
    SAYS(accel_get_rng_state, SEEDS),
    SAYS(accel_get_rng_state_all, SEEDS),
    SAYS(accel_graph_add_callback, NODE),
    SAYS(accel_graph_add_child, NODE),
    SAYS(accel_graph_add_copy, NODE),
    SAYS(accel_graph_add_copy_2d, NODE),
    SAYS(accel_graph_add_empty, NODE),
    SAYS(accel_graph_add_event_record, NODE),
    SAYS(accel_graph_add_event_wait, NODE),
    SAYS(accel_graph_add_fill, NODE),
    SAYS(accel_graph_add_kernel, NODE),
    SAYS(accel_graph_capture_begin,
         INVALID | STATE | OTHER | INSIDE | HOST | FORK | FAILURE | START),
    SAYS(accel_graph_capture_end,
         INVALID | STATE | OTHER | INSIDE | HOST | FORK | BIT(CAPTURE) | START),
    SAYS(accel_graph_create, DEVICE | OTHER | HOST),
    SAYS(accel_graph_debug_dump, INVALID | STATE | NAMED | INSIDE),
    SAYS(accel_graph_enable_debug_mode, INVALID | INSIDE),
    SAYS(accel_graph_get_dependencies, INVALID | INSIDE | RANGE | STATE),
    SAYS(accel_graph_get_device, INVALID | INSIDE),
    SAYS(accel_graph_get_node_count, INVALID | INSIDE),
    SAYS(accel_graph_get_node_info, INVALID | INSIDE | RANGE | STATE),
    SAYS(accel_graph_get_state, INVALID | INSIDE),
    SAYS(accel_graph_instantiate, INVALID | STATE | INSIDE | START),
    SAYS(accel_graph_pool, INVALID | INSIDE | STATE),
    SAYS(accel_graph_release, NO_STATUS),
    SAYS(accel_graph_replay,
         INVALID | STATE | OTHER | INSIDE | RANGE | BIT(SYSTEM) | BIT(CAPTURE) | START | FAILURE),
    SAYS(accel_graph_reset, INVALID | INSIDE),
    SAYS(accel_graph_retain, NO_STATUS),
    SAYS(accel_graph_scope_begin,
         INVALID | STATE | OTHER | INSIDE | HOST | FORK | FAILURE | START | BIT(CANNOT_TELL)),
    SAYS(accel_graph_scope_end,
         INVALID | STATE | OTHER | INSIDE | HOST | FORK | BIT(CAPTURE) | START),
    SAYS(accel_graph_update_callback, NODE),
    SAYS(accel_graph_update_child, NODE),
    SAYS(accel_graph_update_copy, NODE),
    SAYS(accel_graph_update_copy_2d, NODE),
    SAYS(accel_graph_update_fill, NODE),
    SAYS(accel_graph_update_kernel, NODE),
    SAYS(accel_host_memory_stats, DEVICE),
    SAYS(accel_host_memory_stats_visit, DEVICE),
    SAYS(accel_initial_seed, SEEDS),
    SAYS(accel_initialize, BIT(NOT_FOUND) | START),
    SAYS(accel_is_available, INVALID | BIT(NOT_FOUND) | BIT(CANNOT_TELL) | BIT(UNAVAILABLE)),
    SAYS(accel_is_initialized, INVALID | BIT(NOT_FOUND)),
    SAYS(accel_kernel_get_param, INVALID | RANGE),
    SAYS(accel_kernel_has_signature, NO_STATUS),
    SAYS(accel_kernel_launch, QUEUE | OTHER),
    SAYS(accel_kernel_name, NO_STATUS),
    SAYS(accel_kernel_param_count, NO_STATUS),
    SAYS(accel_last_error, INVALID),
    SAYS(accel_last_error_message, NO_STATUS),
    SAYS(accel_lazy_call, INVALID | BIT(NOT_FOUND) | HOST),
    SAYS(accel_log_set_callback, INVALID),
    SAYS(accel_manual_seed, SEEDS),
    SAYS(accel_manual_seed_all, SEEDS),
    SAYS(accel_max_memory_allocated, DEVICE),
    SAYS(accel_max_memory_reserved, DEVICE),
    SAYS(accel_maybe_exchange_device,
         INVALID | BIT(NOT_FOUND) | BIT(UNAVAILABLE) | BIT(CANNOT_TELL)),
    SAYS(accel_memory_alloc,
         INVALID | OTHER | BIT(OUT_OF_MEMORY) | STATE | INSIDE | START | DEVICE | FAILURE),
    SAYS(accel_memory_allocated, DEVICE),
    SAYS(accel_memory_clear_history, NO_STATUS),
    /* And CORRUPTED, but the fuzzer writes beside no memory. */
    SAYS(accel_memory_free, INVALID),
    SAYS(accel_memory_leaks_log, NO_STATUS),
    SAYS(accel_memory_leaks_visit, INVALID | HOST),
    SAYS(accel_memory_pool_scope_begin, INVALID),
    SAYS(accel_memory_pool_create, DEVICE | HOST),
    SAYS(accel_memory_pool_scope_end, NO_STATUS),
    SAYS(accel_memory_pool_get_device, INVALID),
    SAYS(accel_memory_pool_get_id, INVALID),
    SAYS(accel_memory_pool_get_use_count, INVALID),
    SAYS(accel_memory_pool_release, INVALID),
    SAYS(accel_memory_pool_retain, INVALID),
    SAYS(accel_memory_pool_trim, INVALID | INSIDE | FORK),
    SAYS(accel_memory_record_history, INVALID | HOST),
    SAYS(accel_memory_reserved, DEVICE),
    SAYS(accel_memory_snapshot_create, INVALID | BIT(NOT_FOUND) | HOST),
    SAYS(accel_memory_snapshot_release, NO_STATUS),
    SAYS(accel_memory_snapshot_write, INVALID | NAMED),
    SAYS(accel_memory_stats, DEVICE),
    SAYS(accel_memory_stats_get, DEVICE),
    SAYS(accel_memory_stats_visit, DEVICE),
    SAYS(accel_memory_wrap, DEVICE | OTHER | HOST),
    SAYS(accel_module_build_log, NO_STATUS),
    SAYS(accel_module_build_native, BUILD | BIT(UNSUPPORTED)),
    SAYS(accel_module_create_from_functions, DEVICE | START | BIT(UNSUPPORTED)),
    SAYS(accel_module_create_from_native, BUILD),
    SAYS(accel_module_create_from_source, BUILD),
    SAYS(accel_module_free_native, NO_STATUS),
    SAYS(accel_module_get_kernel, INVALID | BIT(NOT_FOUND)),
    SAYS(accel_module_get_kernel_at, INVALID | RANGE),
    SAYS(accel_module_kernel_count, NO_STATUS),
    SAYS(accel_module_release, NO_STATUS),
    SAYS(accel_module_retain, NO_STATUS),
    SAYS(accel_pointer_info, INVALID),
    SAYS(accel_random_bernoulli, RANDOM),
    SAYS(accel_random_exponential, RANDOM),
    SAYS(accel_random_integers, RANDOM),
    SAYS(accel_random_normal, RANDOM),
    SAYS(accel_random_raw, RANDOM),
    SAYS(accel_random_reserve, RANDOM),
    SAYS(accel_random_uniform, RANDOM),
    SAYS(accel_reason_cause, NO_STATUS),
    SAYS(accel_reason_name, NO_STATUS),
    SAYS(accel_reason_remedy, NO_STATUS),
    SAYS(accel_record_stream, DEVICE | HOST),
    SAYS(accel_reset_accumulated_host_memory_stats, DEVICE),
    SAYS(accel_reset_accumulated_memory_stats, DEVICE),
    SAYS(accel_reset_peak_host_memory_stats, DEVICE),
    SAYS(accel_reset_peak_memory_stats, DEVICE),
    SAYS(accel_seed, SEEDS),
    SAYS(accel_seed_all, SEEDS),
    SAYS(accel_set_current_accelerator, BIT(NOT_FOUND)),
    SAYS(accel_set_device_idx, DEVICE),
    SAYS(accel_set_device_index, DEVICE),
    SAYS(accel_set_rng_state, SEEDS),
    SAYS(accel_set_rng_state_all, SEEDS),
    SAYS(accel_set_stream, INVALID | HOST),
    /* The fuzzer's streams that capture forbid it; graph.h says so. */
    SAYS(accel_shutdown, INSIDE | FAILURE | BIT(CAPTURE)),
    SAYS(accel_status_name, NO_STATUS),
    SAYS(accel_status_text, NO_STATUS),
    SAYS(accel_stream_add_callback, QUEUE),
    SAYS(accel_stream_create, DEVICE | START),
    SAYS(accel_stream_default, DEVICE | HOST),
    SAYS(accel_stream_get_device, INVALID),
    SAYS(accel_stream_get_id, INVALID),
    SAYS(accel_stream_get_native_handle, QUEUE | BIT(UNSUPPORTED)),
    SAYS(accel_stream_get_priority, INVALID),
    SAYS(accel_stream_is_capturing, DEVICE),
    SAYS(accel_stream_query, INVALID | FORK | FAILURE | BIT(CAPTURE) | DEVICE),
    SAYS(accel_stream_release, NO_STATUS),
    SAYS(accel_stream_retain, NO_STATUS),
    SAYS(accel_stream_scope_begin, INVALID | HOST | BIT(UNAVAILABLE) | BIT(CANNOT_TELL)),
    SAYS(accel_stream_scope_end, NO_STATUS),
    SAYS(accel_stream_synchronize, INVALID | INSIDE | FORK | FAILURE | BIT(CAPTURE) | DEVICE),
    SAYS(accel_stream_wait_event, QUEUE | OTHER),
    SAYS(accel_stream_wait_stream, QUEUE | OTHER),
    SAYS(accel_synchronize, DEVICE | INSIDE | FORK | FAILURE | BIT(CAPTURE)),
    SAYS(accel_version, NO_STATUS),
};

const char *fuzz_function_name(fuzz_function function)
{
    return names[function];
}

uint64_t fuzz_documented(fuzz_function function)
{
    return documented[function];
}

void fuzz_check_descriptions(void)
{
    for (int i = 0; i < FUZZ_FUNCTION_COUNT; i++) {
        if (documented[i] == 0) {
            fprintf(stderr, "api_fuzz: tests/fuzz/api/functions.c lacks %s\n", names[i]);
            exit(2);
        }
    }
}
