/* completion.c: from the table that a backend exports to one without holes. A table that lacks
 * something mandatory, or has half of an optional group, is refused by naming what is missing.
 * The stand-ins live in standins.h; registry.c is the only caller. */
#include <stddef.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"
#include "core/registry.h"
#include "core/standins.h"

typedef struct member {
    const char *name;
    size_t offset;
} member;

#define MEMBER(path)                                                                               \
    {                                                                                              \
#path, offsetof(accel_backend_table, path)                                                 \
    }

static const member mandatory[] = {
    MEMBER(discovery.start),    MEMBER(discovery.stop),      MEMBER(device.open),
    MEMBER(device.memory_info), MEMBER(memory.alloc),        MEMBER(memory.free),
    MEMBER(memory.copy),        MEMBER(memory.fill),         MEMBER(stream.create),
    MEMBER(stream.destroy),     MEMBER(stream.query),        MEMBER(stream.synchronize),
    MEMBER(event.create),       MEMBER(event.destroy),       MEMBER(event.record),
    MEMBER(event.query),        MEMBER(event.synchronize),   MEMBER(event.wait),
    MEMBER(kernel.dialect),     MEMBER(kernel.compiler_key), MEMBER(kernel.compile),
    MEMBER(kernel.load),        MEMBER(kernel.unload),       MEMBER(kernel.function_count),
    MEMBER(kernel.function),    MEMBER(kernel.launch),
};

typedef struct group {
    const char *name;
    size_t offset; /* of the group's struct, which holds nothing but function pointers */
    size_t size;
} group;

#define NAMED_GROUP(name, field)                                                                   \
    {                                                                                              \
        name, offsetof(accel_backend_table, field), sizeof(((accel_backend_table *)0)->field)      \
    }
#define GROUP(field) NAMED_GROUP(#field, field)

/* In the order of accel__group. */
static const group groups[ACCEL__GROUP_COUNT] = {
    GROUP(timing),     GROUP(callbacks), GROUP(pinned),
    GROUP(priorities), GROUP(peer),      GROUP(functions),
    GROUP(handles),    GROUP(random),    NAMED_GROUP("virtual", virtual_memory),
    GROUP(schedules),
};

typedef void (*any_function)(void);

static bool present(const accel_backend_table *table, size_t offset)
{
    any_function function;
    memcpy(&function, (const char *)table + offset, sizeof function);
    return function != NULL;
}

static accel_status refuse(const char *name, const char *what, const char *detail)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, name, "backend table", "%s%s", what, detail);
}

static bool name_is_valid(const char *name)
{
    if (name == NULL || name[0] < 'a' || name[0] > 'z' || strlen(name) > 31)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static accel_status check_header(const accel_backend_table *table)
{
    if (table == NULL)
        return refuse(NULL, "there is no table", "");
    if (table->struct_size != sizeof *table)
        return refuse(NULL, "struct_size is not that of accel_backend_table", "");
    if (table->abi != ACCEL_BACKEND_ABI)
        return refuse(NULL, "the ABI number is not ACCEL_BACKEND_ABI", "");
    if (!name_is_valid(table->name))
        return refuse(NULL, "the name is not 1 to 31 of a-z, 0-9 and _, first a letter", "");
    return ACCEL_OK;
}

static accel_status check_mandatory(const accel_backend_table *table)
{
    for (size_t i = 0; i < sizeof mandatory / sizeof mandatory[0]; i++)
        if (!present(table, mandatory[i].offset))
            return refuse(table->name, "a mandatory function is missing: ", mandatory[i].name);
    return ACCEL_OK;
}

/* How many of the group's functions are there; *out_all is how many it has. */
static size_t count_present(const accel_backend_table *table, const group *which, size_t *out_all)
{
    size_t found = 0;
    *out_all = which->size / sizeof(any_function);
    for (size_t i = 0; i < *out_all; i++)
        found += present(table, which->offset + i * sizeof(any_function));
    return found;
}

/* Exactly one of the two ways of finding devices, whole. */
static accel_status check_discovery(const accel_backend_table *table)
{
    static const group local = GROUP(local);
    static const group drivers = GROUP(drivers);
    size_t local_all = 0;
    size_t drivers_all = 0;
    const size_t local_found = count_present(table, &local, &local_all);
    const size_t drivers_found = count_present(table, &drivers, &drivers_all);
    if (local_found != 0 && local_found != local_all)
        return refuse(table->name, "only a part of a group is there: ", "local");
    if (drivers_found != 0 && drivers_found != drivers_all)
        return refuse(table->name, "only a part of a group is there: ", "drivers");
    if ((local_found != 0) == (drivers_found != 0))
        return refuse(table->name, "it needs exactly one of the groups ", "local and drivers");
    return ACCEL_OK;
}

accel_status accel__table_complete(const accel_backend_table *table, uint32_t masked,
                                   accel_backend_table *out_table, uint32_t *out_own_groups)
{
    accel_status status = check_header(table);
    if (status == ACCEL_OK)
        status = check_mandatory(table);
    if (status == ACCEL_OK)
        status = check_discovery(table);
    if (status != ACCEL_OK)
        return status;
    *out_table = *table;
    *out_own_groups = 0;
    for (unsigned i = 0; i < ACCEL__GROUP_COUNT; i++) {
        size_t all = 0;
        const size_t found = count_present(table, &groups[i], &all);
        if (found != 0 && found != all)
            return refuse(table->name,
                          "only a part of an optional group is there: ", groups[i].name);
        if (found != 0 && (masked >> i & 1u) == 0)
            *out_own_groups |= 1u << i;
        else
            memcpy((char *)out_table + groups[i].offset,
                   (const char *)&accel__standins + groups[i].offset, groups[i].size);
    }
    return ACCEL_OK;
}

/* The bits of one word of ACCEL_MASK, of which the backend's name and the colon were taken off. */
static uint32_t mask_of_word(const char *word, size_t size)
{
    if (size == 3 && memcmp(word, "all", 3) == 0)
        return (1u << ACCEL__GROUP_COUNT) - 1u;
    for (unsigned i = 0; i < ACCEL__GROUP_COUNT; i++)
        if (strlen(groups[i].name) == size && memcmp(groups[i].name, word, size) == 0)
            return 1u << i;
    accel__log(ACCEL_LOG_LEVEL_WARNING, NULL, "ACCEL_MASK: there is no group '%.*s'", (int)size,
               word);
    return 0;
}

uint32_t accel__mask_of(const char *backend)
{
    const char *rest = accel__environment_get("ACCEL_MASK");
    const size_t name_size = strlen(backend);
    uint32_t mask = 0;
    while (rest != NULL && *rest != '\0') {
        const size_t size = strcspn(rest, ",");
        if (size > name_size && memcmp(rest, backend, name_size) == 0 && rest[name_size] == ':')
            mask |= mask_of_word(rest + name_size + 1, size - name_size - 1);
        rest += size + (rest[size] == ',');
    }
    return mask;
}
