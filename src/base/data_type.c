/* data_type.c: sizes and names of data types, from the public list. */
#include <accel/data_type.h>
#include <string.h>

typedef struct row {
    accel_data_type type;
    size_t size;
    const char *name;
} row;

static const row rows[] = {
#define MAKE_ROW(constant, number, bytes, text) {constant, bytes, text},
    ACCEL_DATA_TYPE_LIST(MAKE_ROW)
#undef MAKE_ROW
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

static const row *find(accel_data_type type)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

size_t accel_data_type_size(accel_data_type type)
{
    const row *found = find(type);
    return found != NULL ? found->size : 0;
}

const char *accel_data_type_name(accel_data_type type)
{
    const row *found = find(type);
    return found != NULL ? found->name : "none";
}

accel_data_type accel_data_type_parse(const char *name)
{
    for (size_t i = 0; name != NULL && i < ROW_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].type;
    return ACCEL_DATA_TYPE_NONE;
}
