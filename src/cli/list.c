/* list.c: `accel list`: the devices that can be used, as a table or as JSON. */
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/backend_object.h"
#include "cli/command.h"
#include "cli/inventory.h"
#include "cli/json.h"
#include "cli/size_text.h"

static const char help[] =
    "Usage: accel list [--json]\n"
    "List the devices that can be used. The names in the first column are what -d takes.\n\n"
    "Options:\n"
    "  --json   print one JSON document with all that is known; unknown is null;\n"
    "           after a failure it is {\"error\": MESSAGE}\n"
    "  --help   print this text\n\n"
    "Nothing is started by asking. A backend whose devices cannot be told is named, with the\n"
    "reason, on standard error.\n"
    "Environment: ACCEL_BACKENDS leaves backends out; ACCEL_CPU_DEVICES makes several of the "
    "CPUs.\n";

/* ---- JSON ---- */

static void set_flags(json_t *object, const accel_device_capability *capability)
{
    const struct {
        const char *key;
        bool value;
    } rows[] = {
        {"kernels_from_source", capability->kernels_from_source},
        {"fp16", capability->fp16},
        {"fp64", capability->fp64},
        {"atomics_32", capability->atomics_32},
        {"atomics_64", capability->atomics_64},
        {"timing", capability->timing},
        {"pinned_memory", capability->pinned_memory},
        {"peer_copies", capability->peer_copies},
        {"concurrent_streams", capability->concurrent_streams},
        {"ordered_callbacks", capability->ordered_callbacks},
        {"native_handles", capability->native_handles},
        {"pointers_in_memory", capability->pointers_in_memory},
        {"host_access", capability->host_access},
        {"survives_fork", capability->survives_fork},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        accel__json_set(object, rows[i].key, json_boolean(rows[i].value));
}

static json_t *type_names(uint64_t types)
{
    json_t *names = json_array();
    for (int type = 1; type < 64; type++) {
        bool has = (types & ACCEL_DATA_TYPE_BIT(type)) != 0;
        if (has && accel_data_type_size((accel_data_type)type) != 0)
            json_array_append_new(names, json_string(accel_data_type_name((accel_data_type)type)));
    }
    return names;
}

static json_t *three_sizes(uint64_t x, uint64_t y, uint64_t z)
{
    json_t *sizes = json_array();
    json_array_append_new(sizes, accel__json_size(x));
    json_array_append_new(sizes, accel__json_size(y));
    json_array_append_new(sizes, accel__json_size(z));
    return sizes;
}

static json_t *capability_object(const accel_device_capability *c)
{
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "compute_units", accel__json_size(c->compute_units));
    accel__json_set(object, "data_types", type_names(c->data_types));
    accel__json_set(object, "total_memory", accel__json_size(c->total_memory));
    accel__json_set(object, "max_allocation", accel__json_size(c->max_allocation));
    accel__json_set(object, "alignment", accel__json_size(c->alignment));
    accel__json_set(object, "max_grid",
                    three_sizes(c->max_grid[0], c->max_grid[1], c->max_grid[2]));
    accel__json_set(object, "max_grid_blocks", accel__json_size(c->max_grid_blocks));
    accel__json_set(object, "max_block",
                    three_sizes(c->max_block[0], c->max_block[1], c->max_block[2]));
    accel__json_set(object, "max_block_items", accel__json_size(c->max_block_items));
    accel__json_set(object, "local_memory_size", accel__json_size(c->local_memory_size));
    accel__json_set(object, "priority_lowest", json_integer(c->priority_lowest));
    accel__json_set(object, "priority_highest", json_integer(c->priority_highest));
    set_flags(object, c);
    return object;
}

static json_t *device_object(const accel__inventory_device *device)
{
    const accel_device_info *info = &device->info;
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "device", accel__json_text(device->id));
    accel__json_set(object, "name", accel__json_text(info->name));
    accel__json_set(object, "kind", accel__json_text(accel__device_kind_name(info->kind)));
    accel__json_set(object, "vendor", accel__json_text(info->vendor));
    accel__json_set(object, "driver", accel__json_text(info->driver));
    accel__json_set(object, "uuid", accel__json_text(info->uuid));
    accel__json_set(object, "bus_address", accel__json_text(info->bus_address));
    accel__json_set(object, "total_memory",
                    info->total_memory > 0 ? accel__json_size(info->total_memory) : NULL);
    accel__json_set(object, "capability",
                    device->has_capability ? capability_object(&device->capability) : NULL);
    return object;
}

static json_t *problem_object(const accel__inventory_problem *problem)
{
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "device", accel__json_text(problem->id));
    accel__json_set(object, "status", json_string(accel_status_name(problem->status)));
    accel__json_set(object, "reason", accel__json_text(problem->reason));
    return object;
}

static accel__exit print_json(const accel__inventory *inventory)
{
    json_t *devices = json_array();
    json_t *backends = json_array();
    json_t *problems = json_array();
    const uint32_t count = accel_backend_count();
    for (size_t i = 0; i < inventory->device_count; i++)
        json_array_append_new(devices, device_object(&inventory->devices[i]));
    for (accel_backend backend = 1; backend <= count; backend++)
        json_array_append_new(backends, accel__backend_object(backend));
    for (size_t i = 0; i < inventory->problem_count; i++)
        json_array_append_new(problems, problem_object(&inventory->problems[i]));
    return accel__json_print(json_pack("{s:o, s:o, s:o}", "devices", devices, "backends", backends,
                                       "problems", problems));
}

/* ---- table ---- */

enum {
    COLUMN_DEVICE,
    COLUMN_NAME,
    COLUMN_KIND,
    COLUMN_MEMORY,
    COLUMN_UNITS,
    COLUMN_DRIVER,
    COLUMN_COUNT
};

static const struct {
    const char *title;
    double width; /* a share of the line, below 1, or columns */
    int flags;
} columns[COLUMN_COUNT] = {
    [COLUMN_DEVICE] = {"DEVICE", 5, 0},
    [COLUMN_NAME] = {"NAME", 0.4, SCOLS_FL_WRAP},
    [COLUMN_KIND] = {"KIND", 3, 0},
    [COLUMN_MEMORY] = {"MEMORY", 6, SCOLS_FL_RIGHT},
    [COLUMN_UNITS] = {"UNITS", 3, SCOLS_FL_RIGHT},
    [COLUMN_DRIVER] = {"DRIVER", 0.2, SCOLS_FL_WRAP},
};

static bool add_row(struct libscols_table *table, const accel__inventory_device *device)
{
    char memory[ACCEL__SIZE_TEXT_MAX] = "";
    char units[16] = "";
    const char *kind = accel__device_kind_name(device->info.kind);
    if (device->info.total_memory > 0) /* else unknown */
        accel__size_text(device->info.total_memory, memory);
    if (device->has_capability)
        snprintf(units, sizeof units, "%u", device->capability.compute_units);
    struct libscols_line *line = scols_table_new_line(table, NULL);
    return line != NULL && scols_line_set_data(line, COLUMN_DEVICE, device->id) == 0 &&
           scols_line_set_data(line, COLUMN_NAME, device->info.name) == 0 &&
           scols_line_set_data(line, COLUMN_KIND, kind != NULL ? kind : "") == 0 &&
           scols_line_set_data(line, COLUMN_MEMORY, memory) == 0 &&
           scols_line_set_data(line, COLUMN_UNITS, units) == 0 &&
           scols_line_set_data(line, COLUMN_DRIVER, device->info.driver) == 0;
}

static accel__exit print_table(const accel__inventory *inventory)
{
    struct libscols_table *table = scols_new_table();
    bool built = table != NULL;
    for (int i = 0; built && i < COLUMN_COUNT; i++)
        built = scols_table_new_column(table, columns[i].title, columns[i].width,
                                       columns[i].flags) != NULL;
    for (size_t i = 0; built && i < inventory->device_count; i++)
        built = add_row(table, &inventory->devices[i]);
    /* An empty table prints nothing; its head says that the question was understood. */
    if (built && inventory->device_count == 0)
        puts("DEVICE NAME KIND MEMORY UNITS DRIVER");
    else if (built)
        built = scols_print_table(table) == 0 || ferror(stdout) != 0;
    scols_unref_table(table);
    return built ? accel__cli_finish_output() : accel__cli_fail_memory();
}

static void print_problems(const accel__inventory *inventory)
{
    for (size_t i = 0; i < inventory->problem_count; i++) {
        const accel__inventory_problem *problem = &inventory->problems[i];
        const char *what = problem->status == ACCEL_ERROR_CANNOT_TELL ? "cannot tell" : "failed";
        accel__cli_note("%s: %s: %s", problem->id, what, problem->reason);
    }
    /* An empty list wants to be explained; beside others an absent backend is nothing to tell, unless a
     * mistyped variable made it so. */
    const bool is_empty = inventory->device_count == 0 && inventory->problem_count == 0;
    for (size_t i = 0; i < inventory->backend_count; i++)
        if (inventory->backends[i].reason != NULL &&
            (is_empty || inventory->backends[i].has_bad_setting))
            accel__cli_note("%s: none: %s", inventory->backends[i].name,
                            inventory->backends[i].reason);
}

accel__exit accel__command_list(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, ACCEL__OPTION_JSON},
                                            {"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":h", options, help, accel__take_json};
    bool json = false;
    accel__exit result;
    if (!accel__take_options(argc, argv, &taken, &json, &result))
        return result;
    if (optind < argc)
        return accel__cli_misuse("\"%s\" is not expected; see accel list --help", argv[optind]);
    accel__inventory inventory;
    result = accel__inventory_take(&inventory);
    if (result == ACCEL__EXIT_OK) {
        result = json ? print_json(&inventory) : print_table(&inventory);
        print_problems(&inventory);
    }
    accel__inventory_release(&inventory);
    return result;
}
