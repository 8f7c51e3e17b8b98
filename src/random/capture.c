/* capture.c: see capture.h. */
#include "random/capture.h"

#include <accel/copy.h>
#include <accel/memory.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"

/* Guards the step from "there is no part" to "here it is". Taken before the graph layer's locks; neither
 * `prologue` nor `release` takes it. */
static accel__mutex attach_mutex;

accel__capture *accel__random_capture_of(const accel_generator *generator)
{
    return accel__capture_of(accel__current_stream(generator->device));
}

/* ---- replays ---- */

/* What the replay uses is taken from the generator. */
static accel_status take_for_replay(accel__capture_part *base, accel__part_taken *out_taken)
{
    static const char function[] = "accel_graph_replay";
    const accel__random_part *part = (accel__random_part *)base;
    accel_generator *generator = part->generator;
    accel__rng_state state;
    uint64_t end;
    accel__mutex_lock(&generator->mutex);
    accel_status status = accel__generator_read(generator, &state, function);
    accel__rng_state next = state;
    const bool fits = !__builtin_add_overflow(state.offset, part->most, &end);
    next.offset += part->drawn;
    *out_taken = (accel__part_taken){state.seed, state.offset, state.drawn_in};
    if (status == ACCEL_OK && fits)
        accel__generator_write(generator, &next);
    accel__mutex_unlock(&generator->mutex);
    if (status == ACCEL_OK && !fits)
        status = accel__fail(ACCEL_ERROR_OUT_OF_RANGE, generator->device->backend->table.name,
                             function,
                             "the generator's offset %llu would not stay below 2^64 with the %llu "
                             "words of the graph: set another seed",
                             (unsigned long long)state.offset, (unsigned long long)part->most);
    return status;
}

static void give_back(accel__capture_part *base, const accel__part_taken *taken)
{
    const accel__random_part *part = (accel__random_part *)base;
    const accel__rng_state before = {taken->seed, taken->offset, taken->drawn_in};
    accel__generator_give_back(part->generator, &before, part->drawn);
}

static accel_status prologue(accel__capture_part *base, const accel__part_taken *taken,
                             accel_stream *stream, accel_native_stream *native)
{
    const accel_backend_memory *memory = &stream->backend->table.memory;
    accel__random_part *part = (accel__random_part *)base;
    accel_status status = ACCEL_OK;
    if (!part->is_ordered && stream != part->home) { /* whoever had that memory before has passed */
        status = accel__stream_queue_behind(stream, native, part->home);
        part->is_ordered = status == ACCEL_OK;
    }
    if (status == ACCEL_OK)
        status = memory->fill(native, &part->cells[0], &taken->seed, 8, 8);
    if (status == ACCEL_OK)
        status = memory->fill(native, &part->cells[1], &taken->offset, 8, 8);
    return status;
}

static void release(accel__capture_part *base)
{
    accel__random_part *part = (accel__random_part *)base;
    accel__error_mute();
    accel_memory_free(part->cells);
    accel__error_unmute();
    accel_generator_release(part->generator);
    accel__deallocate(part);
}

/* ---- captures ---- */

/* NULL: *out_status says why. */
static accel__random_part *make_part(accel_generator *generator, const char *function,
                                     accel_status *out_status)
{
    accel__device *device = generator->device;
    void *cells = NULL;
    accel__random_part *part = accel__allocate(sizeof *part);
    if (part == NULL) {
        *out_status = accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name,
                                  function, "no memory for a generator's part of a graph");
        return NULL;
    }
    part->home = &device->default_stream; /* so it never comes from the graph's own pool */
    *out_status = accel_memory_alloc(part->home, 2 * sizeof *part->cells, NULL, &cells);
    if (*out_status != ACCEL_OK) {
        accel__deallocate(part);
        return NULL;
    }
    part->cells = cells;
    part->base = (accel__capture_part){.key = generator,
                                       .take = take_for_replay,
                                       .give_back = give_back,
                                       .prologue = prologue,
                                       .release = release};
    part->generator = generator;
    accel_generator_retain(generator);
    return part;
}

accel_status accel__random_part_get(accel__capture *capture, accel_generator *generator,
                                    accel__random_part **out_part, const char *function)
{
    accel_status status = ACCEL_OK;
    *out_part = (accel__random_part *)accel__capture_find_part(capture, generator);
    if (*out_part != NULL)
        return ACCEL_OK;
    accel__random_part *made = make_part(generator, function, &status);
    if (made == NULL)
        return accel__error_met_by(status, function);
    accel__mutex_lock(&attach_mutex);
    *out_part = (accel__random_part *)accel__capture_find_part(capture, generator);
    const bool is_needed = *out_part == NULL;
    if (is_needed)
        status = accel__capture_attach(capture, &made->base);
    accel__mutex_unlock(&attach_mutex);
    if (is_needed && status == ACCEL_OK)
        *out_part = made;
    else
        release(&made->base);
    return accel__error_met_by(status, function);
}

accel_status accel__random_part_take(accel__random_part *part, uint64_t words, uint64_t *out_offset,
                                     const char *function)
{
    accel_generator *generator = part->generator;
    uint64_t end;
    accel__mutex_lock(&generator->mutex);
    *out_offset = part->drawn;
    const bool fits = !__builtin_add_overflow(part->drawn, words, &end);
    if (fits) {
        part->drawn = end;
        part->most = end > part->most ? end : part->most;
    }
    accel__mutex_unlock(&generator->mutex);
    return fits ? ACCEL_OK
                : accel__fail(ACCEL_ERROR_OUT_OF_RANGE, generator->device->backend->table.name,
                              function, "one graph cannot draw 2^64 words");
}

void accel__random_part_give_back(accel__random_part *part, uint64_t offset, uint64_t words)
{
    accel__mutex_lock(&part->generator->mutex);
    if (part->drawn == offset + words)
        part->drawn = offset;
    accel__mutex_unlock(&part->generator->mutex);
}
