/* document.c: what both formats have in common: texts, slots, where bytes go. */
#include "memory/snapshot/document.h"

#include <string.h>

#include "base/allocate.h"

bool accel__document_open(accel__document *document, accel__document_format format,
                          accel__new_file *file, size_t slot_count)
{
    memset(document, 0, sizeof *document);
    document->ops = format == ACCEL__DOCUMENT_JSON ? &accel__document_json
                                                   : &accel__document_pickle;
    document->file = file;
    document->slot_count = slot_count;
    document->slots = accel__allocate_array(slot_count + 1, sizeof *document->slots);
    if (document->slots == NULL)
        return false;
    document->ops->begin(document);
    return true;
}

bool accel__document_close(accel__document *document)
{
    document->ops->end(document);
    const bool is_whole = !document->kept.failed;
    accel__deallocate(document->slots);
    accel__text_release(&document->kept);
    return is_whole;
}

void accel__document_put(accel__document *document, const void *bytes, size_t size)
{
    if (document->filling == 0)
        accel__new_file_write(document->file, bytes, size);
    else
        accel__text_append(&document->kept, bytes, size);
}

/* ---- slots ---- */

bool accel__document_recall(accel__document *document, size_t slot)
{
    accel__document_slot *place = &document->slots[slot];
    if (place->is_filled)
        document->ops->recall(document, place);
    else
        document->ops->keep(document, place, true);
    return place->is_filled;
}

void accel__document_fill_end(accel__document *document, size_t slot)
{
    document->slots[slot].is_filled = true;
    document->ops->keep(document, &document->slots[slot], false);
}

/* ---- text ---- */

/* Bytes of the UTF-8 sequence at `text`; 0: it is none. */
static size_t sequence_size(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t size = text[0] < 0x80    ? 1
                        : text[0] >= 0xf0 ? 4
                        : text[0] >= 0xe0 ? 3
                        : text[0] >= 0xc0 ? 2
                                          : 0;
    if (size <= 1)
        return size;
    uint32_t code = text[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    return text[0] < 0xf8 && code >= least[size] && code < 0x110000 && !is_surrogate ? size : 0;
}

void accel__document_string(accel__document *document, const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    accel__text mended = {0};
    size_t good = 0;
    for (size_t size; (size = sequence_size((const unsigned char *)text + good)) != 0;)
        if (text[good] == '\0')
            break;
        else
            good += size;
    if (text[good] == '\0') {
        document->ops->string(document, text, good);
        return;
    }
    for (size_t at = 0, size; text[at] != '\0'; at += size != 0 ? size : 1) {
        size = sequence_size((const unsigned char *)text + at);
        accel__text_append(&mended, size != 0 ? text + at : replacement,
                           size != 0 ? size : sizeof replacement - 1);
    }
    document->ops->string(document, accel__text_string(&mended), mended.size);
    document->kept.failed |= mended.failed;
    accel__text_release(&mended);
}
