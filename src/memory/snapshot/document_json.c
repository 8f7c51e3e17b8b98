/* document_json.c: the JSON form: no spaces, integers in full. Numbers with a fraction have nine
 * places at most, and a point in every locale. */
#include <string.h>

#include "memory/snapshot/document.h"

/* What separates the value that comes from what is there. */
static void separate(accel__document *document)
{
    accel__document_level *level = &document->levels[document->depth];
    if (document->depth == 0 || level->is_separated) {
        level->is_separated = false;
        return;
    }
    const bool is_value_of_key = level->is_map && level->count % 2 == 1;
    if (level->count != 0)
        accel__document_put(document, is_value_of_key ? ":" : ",", 1);
    level->count++;
}

static void begin(accel__document *document)
{
    (void)document;
}

static void end(accel__document *document)
{
    accel__document_put(document, "\n", 1);
}

static void begin_group(accel__document *document, bool is_map)
{
    separate(document);
    accel__document_put(document, is_map ? "{" : "[", 1);
    document->levels[++document->depth] = (accel__document_level){.is_map = is_map};
}

static void end_group(accel__document *document, bool is_map)
{
    document->depth--;
    accel__document_put(document, is_map ? "}" : "]", 1);
}

static void put_escaped(accel__document *document, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    const char code[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    const char plain[] = {'\\', (char)c};
    if (c < 0x20)
        accel__document_put(document, code, sizeof code);
    else
        accel__document_put(document, plain, sizeof plain);
}

static void string(accel__document *document, const char *text, size_t size)
{
    size_t written = 0;
    separate(document);
    accel__document_put(document, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        accel__document_put(document, text + written, i - written);
        put_escaped(document, c);
        written = i + 1;
    }
    accel__document_put(document, text + written, size - written);
    accel__document_put(document, "\"", 1);
}

static void word(accel__document *document, const char *text)
{
    string(document, text, strlen(text));
}

static void put_digits(accel__document *document, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    accel__document_put(document, digits + first, sizeof digits - first);
}

static void integer(accel__document *document, int64_t value)
{
    separate(document);
    if (value < 0)
        accel__document_put(document, "-", 1);
    put_digits(document, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void number(accel__document *document, double value)
{
    const double size = value < 0 ? -value : value;
    uint64_t whole = (uint64_t)size;
    uint64_t places = (uint64_t)((size - (double)whole) * 1e9 + 0.5);
    char text[10] = ".000000000";
    size_t used = sizeof text;
    if (places == 1000000000) {
        whole++;
        places = 0;
    }
    for (size_t i = sizeof text - 1; i > 0; i--, places /= 10)
        text[i] = (char)('0' + places % 10);
    while (used > 2 && text[used - 1] == '0')
        used--;
    separate(document);
    if (value < 0)
        accel__document_put(document, "-", 1);
    put_digits(document, whole);
    accel__document_put(document, text, used);
}

static void boolean(accel__document *document, bool value)
{
    separate(document);
    accel__document_put(document, value ? "true" : "false", value ? 4 : 5);
}

static void pair(accel__document *document, const uint64_t values[2])
{
    begin_group(document, false);
    integer(document, (int64_t)values[0]);
    integer(document, (int64_t)values[1]);
    end_group(document, false);
}

static void recall(accel__document *document, const accel__document_slot *slot)
{
    accel__text *kept = &document->kept;
    separate(document);
    if (kept->failed)
        return;
    if (document->filling == 0) {
        accel__document_put(document, kept->data + slot->place, slot->size);
        return;
    }
    for (size_t done = 0, part; done < slot->size; done += part) { /* the text may move */
        char some[256];
        part = slot->size - done < sizeof some ? slot->size - done : sizeof some;
        memcpy(some, kept->data + slot->place + done, part);
        accel__text_append(kept, some, part);
    }
}

/* The text of the outermost slot is written when it is whole: those inside are parts of it. */
static void keep(accel__document *document, accel__document_slot *slot, bool is_begin)
{
    accel__text *kept = &document->kept;
    if (is_begin) {
        separate(document);
        document->levels[document->depth].is_separated = true;
        document->filling++;
        slot->place = kept->size;
        return;
    }
    document->filling--;
    slot->size = kept->size - slot->place;
    if (document->filling == 0 && !kept->failed)
        accel__document_put(document, kept->data + slot->place, slot->size);
}

const accel__document_ops accel__document_json = {
    .begin = begin,
    .end = end,
    .begin_group = begin_group,
    .end_group = end_group,
    .word = word,
    .string = string,
    .integer = integer,
    .number = number,
    .boolean = boolean,
    .pair = pair,
    .recall = recall,
    .keep = keep,
};
