/* draw.c: see draw.h. */
#include "cli/draw.h"

#include <stdlib.h>
#include <string.h>

#include "cli/number.h"

static const char *const names[] = {
    [ACCEL__DRAW_RAW] = "raw",           [ACCEL__DRAW_UNIFORM] = "uniform",
    [ACCEL__DRAW_NORMAL] = "normal",     [ACCEL__DRAW_EXPONENTIAL] = "exponential",
    [ACCEL__DRAW_INTEGERS] = "integers", [ACCEL__DRAW_BERNOULLI] = "bernoulli",
};

static accel__exit refuse(const char *text, const char *why)
{
    return accel__cli_misuse("\"%.80s\" %s; see accel random --help", text, why);
}

const char *accel__draw_name(const accel__draw *draw)
{
    return names[draw->kind];
}

/* A whole number from -2^63 to 2^64 - 1. `rest` is what follows it. */
static bool parse_whole(const char *text, uint64_t *out_value, const char **out_rest)
{
    const bool is_negative = text[0] == '-';
    if (!accel__parse_digits(text + is_negative, out_value, out_rest) ||
        (is_negative && *out_value > UINT64_C(1) << 63))
        return false;
    if (is_negative)
        *out_value = 0 - *out_value;
    return true;
}

accel__exit accel__draw_parse_seed(const char *text, uint64_t *out_seed)
{
    const char *rest = "";
    if (parse_whole(text, out_seed, &rest) && *rest == '\0')
        return ACCEL__EXIT_OK;
    return accel__cli_misuse(
        "--seed \"%.60s\" is no whole number from -2^63 to 2^64 - 1; correct it", text);
}

accel__exit accel__draw_parse_offset(const char *text, uint64_t *out_offset)
{
    const char *rest = "";
    if (accel__parse_digits(text, out_offset, &rest) && *rest == '\0' && *out_offset % 4 == 0)
        return ACCEL__EXIT_OK;
    return accel__cli_misuse("--offset \"%.60s\" is no multiple of 4 below 2^64; correct it", text);
}

/* "(LEAST,MOST)" */
static bool parse_bounds(const char *text, accel__draw *draw)
{
    const char *at = text + 1;
    return text[0] == '(' && parse_whole(at, &draw->least, &at) && *at == ',' &&
           parse_whole(at + 1, &draw->most, &at) && strcmp(at, ")") == 0;
}

/* "(P)" */
static bool parse_probability(const char *text, accel__draw *draw)
{
    char number[64] = "";
    const size_t size = strlen(text);
    if (size < 3 || size - 2 >= sizeof number || text[0] != '(' || text[size - 1] != ')')
        return false;
    memcpy(number, text + 1, size - 2);
    return accel__parse_scalar(number, ACCEL_DATA_TYPE_F64, &draw->probability);
}

/* What stands before the colon, as a text of its own. */
static accel__exit parse_distribution(const char *whole, const char *text, accel__draw *draw)
{
    const size_t size = strcspn(text, "(");
    const char *rest = text + size;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i]) != size || memcmp(names[i], text, size) != 0)
            continue;
        draw->kind = (accel__draw_kind)i;
        if (draw->kind == ACCEL__DRAW_INTEGERS)
            return parse_bounds(rest, draw)
                       ? ACCEL__EXIT_OK
                       : refuse(whole, "wants bounds, as in integers(0,9):i32[100]");
        if (draw->kind == ACCEL__DRAW_BERNOULLI)
            return parse_probability(rest, draw)
                       ? ACCEL__EXIT_OK
                       : refuse(whole, "wants a probability, as in bernoulli(0.5):bool[100]");
        return *rest == '\0' ? ACCEL__EXIT_OK
                             : refuse(whole, "has parameters where there are none");
    }
    return refuse(whole,
                  "has an unknown distribution, known are raw, uniform, normal, exponential, "
                  "integers and bernoulli");
}

/* "[1024,3]" */
static bool parse_shape(const char *text, accel__npy_layout *layout)
{
    const char *at = text;
    if (*at != '[')
        return false;
    do {
        if (layout->dimension_count == ACCEL__NPY_DIMENSION_MAX)
            return false;
        uint64_t *dimension = &layout->shape[layout->dimension_count];
        if (!accel__parse_digits(at + 1, dimension, &at) || *dimension > INT64_MAX)
            return false;
        layout->dimension_count++;
    } while (*at == ',');
    return strcmp(at, "]") == 0;
}

static accel__exit parse_array(const char *whole, const char *text, accel__npy_layout *layout)
{
    char type[8] = "";
    accel__npy_problem problem;
    const size_t size = strcspn(text, "[");
    if (size < sizeof type)
        memcpy(type, text, size);
    layout->type = accel_data_type_parse(type);
    if (layout->type == ACCEL_DATA_TYPE_NONE)
        return refuse(whole, "has an unknown type");
    if (!parse_shape(text + size, layout))
        return refuse(whole, "has a shape that is not like [1024,3]");
    if (!accel__npy_measure(layout, &problem))
        return refuse(whole, "has a shape whose product overflows");
    return ACCEL__EXIT_OK;
}

accel__exit accel__draw_parse(const char *text, accel__draw *out_draw)
{
    memset(out_draw, 0, sizeof *out_draw);
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return refuse(text, "tells no type and shape, as in normal:f32[1024,3]");
    char *distribution = strndup(text, (size_t)(colon - text));
    if (distribution == NULL)
        return accel__cli_fail_memory();
    accel__exit result = parse_distribution(text, distribution, out_draw);
    free(distribution);
    return result == ACCEL__EXIT_OK ? parse_array(text, colon + 1, &out_draw->layout) : result;
}

accel_status accel__draw_fill(const accel__draw *draw, void *data, accel_generator *generator,
                              accel_stream *stream)
{
    const accel_data_type type = draw->layout.type;
    const size_t count = draw->layout.element_count;
    switch (draw->kind) {
    case ACCEL__DRAW_RAW:
        return accel_random_raw(data, type, count, generator, stream);
    case ACCEL__DRAW_UNIFORM:
        return accel_random_uniform(data, type, count, generator, stream);
    case ACCEL__DRAW_NORMAL:
        return accel_random_normal(data, type, count, generator, stream);
    case ACCEL__DRAW_EXPONENTIAL:
        return accel_random_exponential(data, type, count, generator, stream);
    case ACCEL__DRAW_INTEGERS:
        return accel_random_integers(data, type, count, draw->least, draw->most, generator, stream);
    case ACCEL__DRAW_BERNOULLI:
        break;
    }
    return accel_random_bernoulli(data, type, count, draw->probability, generator, stream);
}
