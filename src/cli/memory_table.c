/* memory_table.c: see memory_table.h. */
#include "cli/memory_table.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct accel__memory_table {
    struct libscols_table *lines;
    size_t column_count;
    size_t row_count;
    bool has_failed;
};

accel__memory_table *accel__memory_table_new(const accel__memory_column *columns, size_t count)
{
    static const int flags[] = {[ACCEL__COLUMN_LEFT] = 0,
                                [ACCEL__COLUMN_RIGHT] = SCOLS_FL_RIGHT,
                                [ACCEL__COLUMN_WRAP] = SCOLS_FL_WRAP};
    accel__memory_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->lines = scols_new_table();
    table->column_count = count;
    table->has_failed = table->lines == NULL;
    for (size_t i = 0; !table->has_failed && i < count; i++)
        table->has_failed = scols_table_new_column(table->lines, columns[i].title, 0,
                                                   flags[columns[i].kind]) == NULL;
    return table;
}

void accel__memory_table_add(accel__memory_table *table, const char *const *cells)
{
    if (table == NULL || table->has_failed)
        return;
    struct libscols_line *line = scols_table_new_line(table->lines, NULL);
    table->has_failed = line == NULL;
    for (size_t i = 0; !table->has_failed && i < table->column_count; i++)
        table->has_failed = scols_line_set_data(line, i, cells[i]) != 0;
    table->row_count++;
}

accel__exit accel__memory_table_print(accel__memory_table *table, const char *title,
                                      const char *empty)
{
    bool good = table != NULL && !table->has_failed;
    if (good) {
        printf("\n%s\n", title);
        if (table->row_count == 0)
            puts(empty);
        else
            good = scols_print_table(table->lines) == 0 || ferror(stdout) != 0;
    }
    if (table != NULL)
        scols_unref_table(table->lines);
    free(table);
    return good ? ACCEL__EXIT_OK : accel__cli_fail_memory();
}

/* ---- stacks ---- */

enum { FRAMES_SHOWN = 3, NAME_SHOWN = 60 };

static bool is_python(const accel__frame *frame)
{
    const size_t size = strlen(frame->file);
    return size > 3 && strcmp(frame->file + size - 3, ".py") == 0;
}

/* Frames of allocators and of who records them: the same in every stack. */
static bool is_machinery(const accel__frame *frame)
{
    static const char *const parts[] = {
        "torch::unwind",      "CapturedTraceback",  "gather_with_cpp",
        "CachingAllocator",   "at::detail::",       "c10::impl::",
        "at::TensorIterator", "accel_memory_alloc", "accel__"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(frame->name, parts[i]) != NULL)
            return true;
    return false;
}

/* How much of a name is shown: none of its parameters. */
static int name_size(const char *name)
{
    const char *end = strchr(name, '(');
    while (end != NULL && strncmp(end, "(anonymous", 10) == 0)
        end = strchr(end + 1, '(');
    const size_t size = end != NULL && end > name ? (size_t)(end - name) : strlen(name);
    return size < NAME_SHOWN ? (int)size : NAME_SHOWN;
}

/* Where a cell's text ends; it stays inside the cell. */
static size_t append_frame(const accel__frame *frame, char *text, size_t used)
{
    const char *slash = strrchr(frame->file, '/');
    const char *file = slash != NULL ? slash + 1 : frame->file;
    const bool is_named = frame->name[0] != '\0' && strcmp(frame->name, "??") != 0;
    const char *name = is_named ? frame->name : file[0] != '\0' ? file : "??";
    const size_t rest = ACCEL__STACK_TEXT_MAX - used;
    int more = snprintf(text + used, rest, "%s%.*s", used > 0 ? " < " : "", name_size(name), name);
    if (more > 0 && (size_t)more < rest && frame->line > 0)
        more += snprintf(text + used + more, rest - (size_t)more, " %.*s:%lld", NAME_SHOWN, file,
                         (long long)frame->line);
    return more > 0 && (size_t)more < rest ? used + (size_t)more : used;
}

void accel__memory_stack_text(const accel__stacks *stacks, uint32_t stack,
                              char text[ACCEL__STACK_TEXT_MAX])
{
    const size_t count = stack > 0 ? stacks->stacks[stack].count : 0;
    size_t used = 0;
    size_t shown = 0;
    bool has_python = false;
    snprintf(text, ACCEL__STACK_TEXT_MAX, "%s", count > 0 ? "unknown" : "not recorded");
    for (size_t i = 0; i < count && !has_python; i++)
        has_python = is_python(accel__stacks_at(stacks, stack, i));
    for (size_t i = 0; i < count && shown < FRAMES_SHOWN; i++) {
        const accel__frame *frame = accel__stacks_at(stacks, stack, i);
        if (has_python ? !is_python(frame) : is_machinery(frame))
            continue;
        used = append_frame(frame, text, used);
        shown++;
    }
}
