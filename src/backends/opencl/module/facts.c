/* facts.c: the comment at the head of a text that tells its kernels, one line for each and for each of
 * their parameters:
 *
 *     kernel NAME BLOCK-X BLOCK-Y BLOCK-Z PARAMETERS NOTES
 *     param NAME KIND TYPE LANES READ-ONLY SIZE
 *
 * with the numbers of <accel/kernel.h>. It is written by the kernel translator, and kept in objects. */
#include <stdio.h>
#include <string.h>

#include "backends/opencl/module/module.h"
#include "base/allocate.h"
#include "base/error.h"

static const char begin[] = "/* accel kernels 1\n";
static const char end[] = "*/\n";

size_t accel__opencl_facts_size(const char *text, size_t size)
{
    if (size < sizeof begin || memcmp(text, begin, sizeof begin - 1) != 0)
        return 0;
    const char *found = memmem(text, size, end, sizeof end - 1);
    return found != NULL ? (size_t)(found - text) + sizeof end - 1 : 0;
}

static accel_status fail(accel_status status, const char *text)
{
    return accel__fail(status, "opencl", "accel_module_create_from_native", "%s", text);
}

/* Cuts the name that begins at `line` off what follows it, which is returned. */
static char *cut_name(char *line)
{
    char *rest = strchr(line, ' ');
    if (rest != NULL)
        *rest++ = '\0';
    return rest;
}

static bool read_kernel(char *line, accel__opencl_function *made)
{
    accel_backend_function *facts = &made->facts;
    uint32_t *block = facts->required_block;
    const char *rest = cut_name(line);
    facts->name = line;
    facts->has_signature = true;
    return rest != NULL &&
           sscanf(rest, "%u %u %u %u", &block[0], &block[1], &block[2], &facts->param_count) == 4;
}

static bool read_param(char *line, accel_param *param)
{
    int kind = 0;
    int type = 0;
    const char *rest = cut_name(line);
    if (rest == NULL || sscanf(rest, "%d %d %u %u %zu", &kind, &type, &param->lanes,
                               &param->read_only, &param->size) != 5)
        return false;
    param->name = strcmp(line, "-") != 0 ? line : "";
    param->kind = (accel_param_kind)kind;
    param->type = (accel_data_type)type;
    return kind == ACCEL_PARAM_KIND_VALUE || kind == ACCEL_PARAM_KIND_POINTER ||
           kind == ACCEL_PARAM_KIND_LOCAL;
}

/* How many lines begin with the letter. */
static size_t count_lines(const char *facts, size_t size, char letter)
{
    size_t count = 0;
    for (size_t i = 1; i < size; i++)
        count += facts[i - 1] == '\n' && facts[i] == letter;
    return count;
}

/* Fills the module from its copy of the facts. The counts of lines are those it was made for. */
static bool read_lines(accel__opencl_module *module, size_t param_count)
{
    size_t param = 0;
    char *rest = NULL;
    strtok_r(module->facts, "\n", &rest);
    for (char *line = strtok_r(NULL, "\n", &rest); line != NULL && line[0] != '*';
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "kernel ", 7) == 0) {
            accel__opencl_function *made = &module->functions[module->function_count++];
            accel_backend_function *facts = &made->facts;
            if (!read_kernel(line + 7, made) || facts->param_count > param_count - param)
                return false;
            facts->params = &module->params[param];
            for (uint32_t i = 0; i < facts->param_count; i++) {
                line = strtok_r(NULL, "\n", &rest);
                if (line == NULL || strncmp(line, "param ", 6) != 0 ||
                    !read_param(line + 6, &module->params[param++]))
                    return false;
            }
        } else {
            return false;
        }
    }
    return true;
}

static accel__opencl_module *make(size_t size, size_t kernel_count, size_t param_count)
{
    accel__opencl_module *module = accel__allocate(sizeof *module +
                                                   kernel_count * sizeof module->functions[0]);
    if (module == NULL)
        return NULL;
    module->facts = accel__allocate(size + 1);
    module->params = accel__allocate_array(param_count + 1, sizeof *module->params);
    if (module->facts != NULL && module->params != NULL)
        return module;
    accel__opencl_facts_release(module);
    return NULL;
}

accel_status accel__opencl_facts_read(const char *facts, size_t size,
                                      accel__opencl_module **out_module)
{
    const size_t param_count = count_lines(facts, size, 'p');
    *out_module = NULL;
    if (accel__opencl_facts_size(facts, size) != size || memchr(facts, '\0', size) != NULL)
        return fail(ACCEL_ERROR_INVALID_ARGUMENT, "the object does not tell its kernels");
    accel__opencl_module *module = make(size, count_lines(facts, size, 'k'), param_count);
    if (module == NULL)
        return fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "no memory for a module");
    memcpy(module->facts, facts, size);
    if (!read_lines(module, param_count)) {
        accel__opencl_facts_release(module);
        return fail(ACCEL_ERROR_INVALID_ARGUMENT, "what the object tells of its kernels is wrong");
    }
    *out_module = module;
    return ACCEL_OK;
}

void accel__opencl_facts_release(accel__opencl_module *module)
{
    accel__deallocate(module->params);
    accel__deallocate(module->facts);
    accel__deallocate(module);
}
