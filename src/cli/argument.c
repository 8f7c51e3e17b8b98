/* argument.c: see argument.h. Called by run.
 *
 * Invariant: after accel__argument_check an argument has the kind and the size that the parameter
 * wants, so that a wrong type in a file is never reinterpreted. */
#include "cli/argument.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/number.h"

/* ---- parsing ---- */

static accel__exit refuse(const accel__argument *argument, const char *why)
{
    return accel__cli_misuse("argument \"%.80s\" %s; see accel run --help", argument->text, why);
}

static const char *after(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

static accel__exit parse_in(accel__argument *argument, const char *rest)
{
    argument->kind = ACCEL__ARGUMENT_IN;
    if (rest[0] == '\0')
        return refuse(argument, "names no file");
    argument->input = strdup(rest);
    return argument->input != NULL ? ACCEL__EXIT_OK : accel__cli_fail_memory();
}

static accel__exit parse_inout(accel__argument *argument, const char *rest)
{
    static const char split[] = ".npy:";
    argument->kind = ACCEL__ARGUMENT_INOUT;
    const char *found = strstr(rest, split);
    size_t size = found != NULL ? (size_t)(found - rest) + sizeof split - 2 : strlen(rest);
    const char *output = found != NULL ? rest + size + 1 : rest;
    if (rest[0] == '\0' || output[0] == '\0')
        return refuse(argument, "names no file");
    argument->input = strndup(rest, size);
    argument->output = strdup(output);
    return argument->input != NULL && argument->output != NULL ? ACCEL__EXIT_OK
                                                               : accel__cli_fail_memory();
}

/* "[1024,3]"; nothing and "[]" are one element. */
static bool parse_dimensions(const char *text, accel__npy_layout *layout)
{
    const char *at = text;
    if (strcmp(text, "") == 0 || strcmp(text, "[]") == 0)
        return true;
    if (*at++ != '[')
        return false;
    while (layout->dimension_count < ACCEL__NPY_DIMENSION_MAX) {
        uint64_t *dimension = &layout->shape[layout->dimension_count];
        if (!accel__parse_digits(at, dimension, &at) || *dimension > INT64_MAX)
            return false;
        layout->dimension_count++;
        if (*at != ',')
            break;
        at++;
    }
    return strcmp(at, "]") == 0;
}

static accel__exit parse_out(accel__argument *argument, const char *rest)
{
    char type[8] = "";
    accel__npy_problem problem;
    accel__npy_layout *layout = &argument->array.layout;
    argument->kind = ACCEL__ARGUMENT_OUT;
    const char *colon = strrchr(rest, ':');
    if (colon == NULL)
        return refuse(argument, "tells no type and shape, as in out:FILE.npy:f32[1024,3]");
    if (colon == rest)
        return refuse(argument, "names no file");
    size_t size = strcspn(colon + 1, "[");
    if (size < sizeof type)
        memcpy(type, colon + 1, size);
    layout->type = argument->type = accel_data_type_parse(type);
    if (layout->type == ACCEL_DATA_TYPE_NONE)
        return refuse(argument, "has an unknown type, known are u8 to u64, i8 to i64, f16, f32, "
                                "f64, bool, c64 and c128");
    if (accel__npy_descr(layout->type) == NULL)
        return refuse(argument, "has a type that .npy files do not have");
    if (!parse_dimensions(colon + 1 + size, layout))
        return refuse(argument, "has a shape that is not like [1024,3]");
    if (!accel__npy_measure(layout, &problem))
        return refuse(argument, "has a shape whose product overflows");
    argument->output = strndup(rest, (size_t)(colon - rest));
    return argument->output != NULL ? ACCEL__EXIT_OK : accel__cli_fail_memory();
}

static accel__exit parse_local(accel__argument *argument, const char *rest)
{
    uint64_t size = 0;
    argument->kind = ACCEL__ARGUMENT_LOCAL;
    if (!accel__parse_count(rest, 1, SIZE_MAX, &size))
        return refuse(argument, "is not local: with a number of bytes above 0");
    argument->size = (size_t)size;
    return ACCEL__EXIT_OK;
}

static accel__exit parse_values(accel__argument *argument, const char *numbers)
{
    size_t item = accel_data_type_size(argument->type);
    char *copy = strdup(numbers);
    char *rest = copy;
    bool good = true;
    if (copy == NULL)
        return accel__cli_fail_memory();
    for (char *one = strsep(&rest, ","); good && one != NULL; one = strsep(&rest, ",")) {
        good = argument->lanes < 16 &&
               accel__parse_scalar(one, argument->type, argument->value + argument->lanes * item);
        argument->lanes += good ? 1 : 0;
    }
    free(copy);
    return good ? ACCEL__EXIT_OK : refuse(argument, "is not a number of that type");
}

static accel__exit parse_value(accel__argument *argument, const char *text)
{
    char type[8] = "";
    size_t size = strcspn(text, ":");
    argument->kind = ACCEL__ARGUMENT_VALUE;
    if (size < sizeof type)
        memcpy(type, text, size);
    argument->type = accel_data_type_parse(type);
    if (argument->type == ACCEL_DATA_TYPE_NONE || text[size] != ':')
        return refuse(argument, "is none of in:, inout:, out:, local: and TYPE:NUMBER");
    if (!accel__scalar_is_known(argument->type))
        return refuse(argument, "has a type that cannot be passed by value");
    return parse_values(argument, text + size + 1);
}

accel__exit accel__argument_parse(const char *text, accel__argument *out_argument)
{
    static const struct {
        const char *prefix;
        accel__exit (*parse)(accel__argument *argument, const char *rest);
    } forms[] = {
        {"in:", parse_in}, {"inout:", parse_inout}, {"out:", parse_out}, {"local:", parse_local}};
    memset(out_argument, 0, sizeof *out_argument);
    out_argument->text = text;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const char *rest = after(text, forms[i].prefix);
        if (rest != NULL)
            return forms[i].parse(out_argument, rest);
    }
    return parse_value(out_argument, text);
}

/* ---- files ---- */

accel__exit accel__argument_load(accel__argument *argument)
{
    accel__npy_problem problem;
    if (argument->input != NULL && !accel__npy_read(argument->input, &argument->array, &problem))
        return accel__cli_fail("%s: %s", argument->input, problem.text);
    if (argument->kind == ACCEL__ARGUMENT_OUT) {
        accel__npy_layout layout = argument->array.layout;
        if (!accel__npy_create(&layout, &argument->array, &problem))
            return accel__cli_fail("%s: %s", argument->output, problem.text);
    }
    return ACCEL__EXIT_OK;
}

void accel__argument_release(accel__argument *argument)
{
    free(argument->input);
    free(argument->output);
    accel__npy_release(&argument->array);
    memset(argument, 0, sizeof *argument);
}

/* ---- against the signature ---- */

/* How kernels see an array's elements: portable source has no bool in memory, no half arithmetic and
 * no complex numbers, so these travel as bytes, 16-bit patterns and pairs. */
static bool element_fits(accel_data_type type, const accel_param *param)
{
    if (param->type == ACCEL_DATA_TYPE_NONE || param->type == type)
        return true;
    switch (type) {
    case ACCEL_DATA_TYPE_BOOL:
        return param->type == ACCEL_DATA_TYPE_U8 || param->type == ACCEL_DATA_TYPE_I8;
    case ACCEL_DATA_TYPE_F16:
        return param->type == ACCEL_DATA_TYPE_U16;
    case ACCEL_DATA_TYPE_C64:
        return param->type == ACCEL_DATA_TYPE_F32 && param->lanes % 2 == 0;
    case ACCEL_DATA_TYPE_C128:
        return param->type == ACCEL_DATA_TYPE_F64 && param->lanes % 2 == 0;
    default:
        return false;
    }
}

/* "float4 pointer" in our words: "pointer to f32x4". */
static void describe(const accel_param *param, char *text, size_t capacity)
{
    static const char *const kinds[] = {
        [ACCEL_PARAM_KIND_VALUE] = "a value of type ",
        [ACCEL_PARAM_KIND_POINTER] = "a pointer to ",
        [ACCEL_PARAM_KIND_LOCAL] = "local memory of ",
    };
    char lanes[16] = "";
    if (param->lanes > 1)
        snprintf(lanes, sizeof lanes, "x%u", param->lanes);
    snprintf(text, capacity, "%s%s%s%s", kinds[param->kind],
             param->read_only != 0 && param->kind == ACCEL_PARAM_KIND_POINTER ? "const " : "",
             accel_data_type_name(param->type), lanes);
}

static accel__exit mismatch(const accel__argument *argument, uint32_t index,
                            const accel_param *param, const char *advice)
{
    char wanted[64];
    describe(param, wanted, sizeof wanted);
    return accel__cli_fail("argument %u \"%.80s\" does not fit parameter \"%s\", %s; %s", index + 1,
                           argument->text, param->name, wanted, advice);
}

static accel__exit check_array(const accel__argument *argument, uint32_t index,
                               const accel_param *param)
{
    char advice[96];
    const accel__npy_layout *layout = &argument->array.layout;
    if (param->kind == ACCEL_PARAM_KIND_VALUE)
        return mismatch(argument, index, param, "give TYPE:NUMBER");
    if (param->kind == ACCEL_PARAM_KIND_LOCAL)
        return mismatch(argument, index, param, "give local:BYTES");
    if (!element_fits(layout->type, param)) {
        snprintf(advice, sizeof advice, "the array is of %s: convert it, or change the kernel",
                 accel_data_type_name(layout->type));
        return mismatch(argument, index, param, advice);
    }
    if (param->size > 1 && layout->data_size % param->size != 0) {
        snprintf(advice, sizeof advice,
                 "the array's %zu bytes are no multiple of the element's %zu", layout->data_size,
                 param->size);
        return mismatch(argument, index, param, advice);
    }
    if (param->read_only != 0 && argument->kind != ACCEL__ARGUMENT_IN)
        return mismatch(argument, index, param, "the kernel cannot write it: give in:FILE.npy");
    return ACCEL__EXIT_OK;
}

static accel__exit check_value(const accel__argument *argument, uint32_t index,
                               const accel_param *param)
{
    char advice[96];
    if (param->kind == ACCEL_PARAM_KIND_POINTER)
        return mismatch(argument, index, param, "give in:, inout: or out: with a file");
    if (param->kind == ACCEL_PARAM_KIND_LOCAL)
        return mismatch(argument, index, param, "give local:BYTES");
    bool typed = param->type != ACCEL_DATA_TYPE_NONE;
    if (typed && (param->type != argument->type || param->lanes != argument->lanes)) {
        snprintf(advice, sizeof advice, "give %s: with %u number%s",
                 accel_data_type_name(param->type), param->lanes, param->lanes > 1 ? "s" : "");
        return mismatch(argument, index, param, advice);
    }
    if (!typed && param->size != argument->lanes * accel_data_type_size(argument->type)) {
        snprintf(advice, sizeof advice, "give a value of %zu bytes", param->size);
        return mismatch(argument, index, param, advice);
    }
    return ACCEL__EXIT_OK;
}

static accel__exit check_local(const accel__argument *argument, uint32_t index,
                               const accel_param *param)
{
    char advice[96];
    if (param->kind == ACCEL_PARAM_KIND_VALUE)
        return mismatch(argument, index, param, "give TYPE:NUMBER");
    if (param->kind == ACCEL_PARAM_KIND_POINTER)
        return mismatch(argument, index, param, "give in:, inout: or out: with a file");
    if (param->size > 1 && argument->size % param->size != 0) {
        snprintf(advice, sizeof advice, "give a multiple of %zu bytes", param->size);
        return mismatch(argument, index, param, advice);
    }
    return ACCEL__EXIT_OK;
}

accel__exit accel__argument_check(const accel__argument *argument, uint32_t index,
                                  const accel_param *param)
{
    if (argument->kind == ACCEL__ARGUMENT_VALUE)
        return check_value(argument, index, param);
    if (argument->kind == ACCEL__ARGUMENT_LOCAL)
        return check_local(argument, index, param);
    return check_array(argument, index, param);
}
