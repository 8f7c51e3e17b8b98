/* visible.c: see visible.h. */
#include "core/visible.h"

#include <stdio.h>
#include <string.h>

enum { NO_POSITION = -1, NOT_OURS = -2, ALL_POSITIONS = -3 };

/* One application of the list to one backend. */
typedef struct chooser {
    const char *name;
    int32_t count;
    accel__identity (*identify)(int32_t position, void *user);
    void *user;
    bool (*is_backend)(const char *name, size_t size);
    int32_t *chosen;
    int32_t chosen_count;
    accel__visible_problem *problem;
} chooser;

static void tell(char *text, size_t capacity, const char *entry, size_t size, const char *what)
{
    snprintf(text, capacity, "ACCEL_VISIBLE_DEVICES: '%.*s' %s", (int)(size < 100 ? size : 100),
             entry, what);
}

/* The first problem is the one that is told. */
static void report(chooser *made, const char *entry, size_t size, const char *what)
{
    if (made->problem->text[0] == '\0')
        tell(made->problem->text, sizeof made->problem->text, entry, size, what);
}

static void choose(chooser *made, int32_t position, const char *entry, size_t size)
{
    for (int32_t i = 0; i < made->chosen_count; i++)
        if (made->chosen[i] == position) {
            report(made, entry, size, "names a device for the second time");
            return;
        }
    made->chosen[made->chosen_count++] = position;
}

/* Digits without sign or leading zero to a position below `count`. */
static int32_t parse_position(const char *digits, size_t size, int32_t count)
{
    int64_t value = 0;
    if (size == 0 || size > 9 || (digits[0] == '0' && size > 1))
        return NO_POSITION;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return NO_POSITION;
        value = value * 10 + (digits[i] - '0');
    }
    return value < count ? (int32_t)value : NO_POSITION;
}

/* "NAME" or "NAME:INDEX". NOT_OURS: another backend's, or no name at all (*out_is_name false). */
static int32_t match_name(const chooser *made, const char *entry, size_t size, bool *out_is_name)
{
    const char *colon = memchr(entry, ':', size);
    const size_t name_size = colon != NULL ? (size_t)(colon - entry) : size;
    *out_is_name = made->is_backend(entry, name_size);
    if (strlen(made->name) != name_size || memcmp(entry, made->name, name_size) != 0)
        return NOT_OURS;
    if (colon == NULL)
        return ALL_POSITIONS;
    return parse_position(colon + 1, size - name_size - 1, made->count);
}

static bool is_text(const char *text, const char *entry, size_t size)
{
    return strlen(text) == size && memcmp(text, entry, size) == 0;
}

/* By UUID or bus address, else by the beginning of a UUID. NOT_OURS: fits none. NO_POSITION: fits
 * several. */
static int32_t match_identity(const chooser *made, const char *entry, size_t size)
{
    int32_t whole = NOT_OURS;
    int32_t prefixed = NOT_OURS;
    for (int32_t i = 0; i < made->count; i++) {
        const accel__identity identity = made->identify(i, made->user);
        if (is_text(identity.uuid, entry, size) || is_text(identity.bus_address, entry, size))
            whole = whole == NOT_OURS ? i : NO_POSITION;
        else if (strncmp(identity.uuid, entry, size) == 0)
            prefixed = prefixed == NOT_OURS ? i : NO_POSITION;
    }
    return whole != NOT_OURS ? whole : prefixed;
}

static void apply_identity(chooser *made, const char *entry, size_t size, unsigned number)
{
    const int32_t found = match_identity(made, entry, size);
    if (found >= 0)
        choose(made, found, entry, size);
    else if (found == NO_POSITION)
        report(made, entry, size, "fits several devices: write the whole UUID, or names");
    else if (number < 64)
        made->problem->strangers |= UINT64_C(1) << number;
}

static void apply_entry(chooser *made, const char *entry, size_t size, unsigned number)
{
    bool is_name = false;
    const int32_t position = match_name(made, entry, size, &is_name);
    if (position == ALL_POSITIONS) {
        for (int32_t i = 0; i < made->count; i++)
            choose(made, i, entry, size);
    } else if (position >= 0) {
        choose(made, position, entry, size);
    } else if (position == NO_POSITION) {
        report(made, entry, size, "names no device there is");
    } else if (!is_name) {
        apply_identity(made, entry, size, number);
    }
}

/* The next entry that is not blank; *rest moves behind it. NULL: the list is over. */
static const char *next_entry(const char **rest, size_t *out_size)
{
    while (**rest != '\0') {
        const size_t word = strcspn(*rest, ",");
        const char *entry = *rest + strspn(*rest, " \t");
        const char *end = *rest + word;
        *rest = end + (*end != '\0');
        while (end > entry && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        if (end > entry) {
            *out_size = (size_t)(end - entry);
            return entry;
        }
    }
    return NULL;
}

int32_t accel__visible_apply(const char *list, const char *name, int32_t count,
                             accel__identity (*identify)(int32_t position, void *user), void *user,
                             bool (*is_backend)(const char *name, size_t size), int32_t *out_chosen,
                             accel__visible_problem *out_problem)
{
    chooser made = {name, count, identify, user, is_backend, out_chosen, 0, out_problem};
    size_t size = 0;
    *out_problem = (accel__visible_problem){.strangers = 0};
    if (list == NULL) {
        for (int32_t i = 0; i < count; i++)
            out_chosen[i] = i;
        return count;
    }
    const char *entry = next_entry(&list, &size);
    for (unsigned number = 0; entry != NULL; number++) {
        apply_entry(&made, entry, size, number);
        entry = next_entry(&list, &size);
    }
    return made.chosen_count;
}

void accel__visible_blame(const char *list, uint64_t strangers, char *text, size_t capacity)
{
    size_t size = 0;
    text[0] = '\0';
    if (list == NULL || strangers == 0)
        return;
    const char *entry = next_entry(&list, &size);
    for (unsigned number = 0; entry != NULL && (strangers >> number & 1u) == 0; number++)
        entry = next_entry(&list, &size);
    if (entry != NULL)
        tell(text, capacity, entry, size, "fits no device");
}
