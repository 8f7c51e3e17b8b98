/* doctor_block.c: blocks and items of the doctor's document. See doctor.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"

json_t *accel__doctor_block(const char *name)
{
    return json_pack("{s:s, s:s, s:[]}", "name", name, "state", "ok", "items");
}

void accel__doctor_set_state(json_t *block, const char *state)
{
    accel__json_set(block, "state", json_string(state));
}

void accel__doctor_add(json_t *block, const char *state, const char *what, const char *remedy,
                       const char *format, ...)
{
    char *says = NULL;
    va_list list;
    va_start(list, format);
    const int size = vasprintf(&says, format, list);
    va_end(list);
    json_t *item = json_object();
    if (size >= 0 && item != NULL) {
        accel__json_set(item, "state", json_string(state));
        accel__json_set(item, "what", accel__json_text(what));
        accel__json_set(item, "says", accel__json_text(says));
        accel__json_set(item, "remedy", accel__json_text(remedy));
        json_array_append_new(json_object_get(block, "items"), item);
        if (strcmp(state, "problem") == 0)
            accel__doctor_set_state(block, state);
    }
    if (size >= 0)
        free(says);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static bool is_problem(const json_t *item)
{
    return strcmp(text_of(item, "state"), "problem") == 0;
}

unsigned accel__doctor_problems(const json_t *block)
{
    unsigned count = 0;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(block, "items"), i, item) count += is_problem(item) ? 1 : 0;
    return count;
}

/* Names of devices and words of drivers may hold anything; a control character could fake a line. */
static void print_text(const char *text)
{
    for (; *text != '\0'; text++)
        putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

static void print_item(const json_t *item)
{
    fputs("  ", stdout);
    print_text(text_of(item, "what"));
    fputs(is_problem(item) ? ": PROBLEM: " : ": ", stdout);
    print_text(text_of(item, "says"));
    putchar('\n');
    if (text_of(item, "remedy")[0] == '\0')
        return;
    fputs("    remedy: ", stdout);
    print_text(text_of(item, "remedy"));
    putchar('\n');
}

void accel__doctor_print(const json_t *block)
{
    size_t i;
    json_t *item;
    printf("%s: %s\n", text_of(block, "name"), text_of(block, "state"));
    json_array_foreach(json_object_get(block, "items"), i, item) print_item(item);
}
