/* default_backend.c: see default_backend.h. */
#include "core/default_backend.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"
#include "core/backend.h"

/* The process default once it is fixed; 0 before. */
static _Atomic(accel_backend) frozen_default;
static _Atomic(accel_backend) last_default; /* what was found last; 0: nobody has asked */
static _Atomic(bool) in_use;                /* some backend has started */

/* The backend's place among the others: one whose drivers have nothing but CPUs comes behind cpu. */
static int32_t rank_of(accel__backend *backend)
{
    return accel__backend_has_drivers(backend) && accel__inventory_is_cpus(backend)
               ? ACCEL_BACKEND_RANK_CPU + 1
               : backend->table.rank;
}

/* The first available backend by rank; one that cannot tell is passed over, and logged. Where nothing is
 * left but those that cannot tell, that is the answer: not "none". */
static accel_status find_default(const char *function, accel__backend **out_best)
{
    int32_t best_rank = INT32_MAX;
    accel__backend *silent = NULL;
    accel_backend_probe silent_answer;
    const uint32_t known = accel__registry_count();
    for (accel_backend number = 1; number <= known; number++) {
        accel__backend *backend = accel__registry_get(number);
        accel_backend_probe answer;
        if (backend->table.rank >= best_rank)
            continue;
        accel__backend_ask(backend, &answer);
        if (answer.device_count > 0 && rank_of(backend) < best_rank) {
            *out_best = backend;
            best_rank = rank_of(backend);
        } else if (answer.device_count <= 0 && answer.cannot_tell) {
            silent = backend;
            silent_answer = answer;
            accel__log(ACCEL_LOG_LEVEL_WARNING, backend->table.name,
                       "passed over as the default accelerator: %s", answer.reason);
        }
    }
    return *out_best == NULL && silent != NULL
               ? accel__fail_cannot_tell(silent, &silent_answer, function)
               : ACCEL_OK;
}

/* ACCEL_BACKEND: what it names, or an error, never the next one. */
static accel_status find_named(const char *name, const char *function, accel__backend **out_backend)
{
    accel__backend *backend = accel__registry_find(name);
    if (backend == NULL) {
        char names[256];
        accel__registry_names(names, sizeof names);
        return accel__fail(ACCEL_ERROR_UNAVAILABLE, NULL, function,
                           "ACCEL_BACKEND names '%.64s', which is no backend; there are: %s", name,
                           names);
    }
    accel_backend_probe answer;
    accel__backend_ask(backend, &answer);
    if (answer.device_count == 0)
        return answer.cannot_tell ? accel__fail_cannot_tell(backend, &answer, function)
                                  : accel__fail_no_device(backend, function);
    *out_backend = backend;
    return ACCEL_OK;
}

static accel_status find_process_default(const char *function, accel__backend **out_backend)
{
    const char *name = accel__environment_get("ACCEL_BACKEND");
    return name != NULL ? find_named(name, function, out_backend)
                        : find_default(function, out_backend);
}

/* Before the first use of a device the default is found anew each time; what was last found is then
 * fixed. Where nobody has asked by then, the first answer after is fixed: a program that names its
 * devices shall not wait for drivers of others. */
accel_status accel__default_backend(const char *function, accel__backend **out_backend)
{
    accel_backend none = ACCEL_BACKEND_NONE;
    *out_backend = accel__registry_get(frozen_default);
    if (*out_backend != NULL)
        return ACCEL_OK;
    const accel_status status = find_process_default(function, out_backend);
    if (status != ACCEL_OK || *out_backend == NULL)
        return status;
    atomic_store(&last_default, (*out_backend)->number);
    if (atomic_load(&in_use))
        atomic_compare_exchange_strong(&frozen_default, &none, (*out_backend)->number);
    return ACCEL_OK;
}

void accel__default_backend_freeze(void)
{
    accel_backend none = ACCEL_BACKEND_NONE;
    atomic_store(&in_use, true);
    if (last_default != ACCEL_BACKEND_NONE)
        atomic_compare_exchange_strong(&frozen_default, &none, last_default);
}
