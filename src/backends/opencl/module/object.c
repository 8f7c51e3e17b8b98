/* object.c: a compiled object: what the driver made of a text, led by what it does not tell of itself:
 * who made it, and its kernels' parameters. It may come from a file: nothing in it is believed before its
 * sum is right, and nothing reaches a driver that another one made. */
#include <string.h>

#include "backends/opencl/driver/icd_file.h"
#include "backends/opencl/module/module.h"

static const char magic[8] = {'a', 'c', 'c', 'e', 'l', 'c', 'l', '1'};

/* All that follows it is covered by `sum`, and it is itself, with a sum of 0. */
typedef struct header {
    char magic[sizeof magic];
    uint32_t form;
    uint32_t dialect;
    uint64_t maker_size;
    uint64_t facts_size;
    uint64_t payload_size;
    uint64_t sum;
} header;

static uint64_t sum_of(const header *head, const void *rest, size_t size)
{
    header bare = *head;
    bare.sum = 0;
    const uint64_t sum = accel__opencl_hash(ACCEL__OPENCL_HASH_START, &bare, sizeof bare);
    return accel__opencl_hash(sum, rest, size);
}

void accel__opencl_object_write(const accel__opencl_object *object, accel__text *out_bytes)
{
    header head = {.form = object->form,
                   .dialect = object->dialect,
                   .maker_size = object->maker_size,
                   .facts_size = object->facts_size,
                   .payload_size = object->payload_size};
    memcpy(head.magic, magic, sizeof magic);
    accel__text_append(out_bytes, (const char *)&head, sizeof head);
    accel__text_append(out_bytes, object->maker, object->maker_size);
    accel__text_append(out_bytes, object->facts, object->facts_size);
    accel__text_append(out_bytes, object->payload, object->payload_size);
    if (out_bytes->failed)
        return;
    head.sum = sum_of(&head, out_bytes->data + sizeof head, out_bytes->size - sizeof head);
    memcpy(out_bytes->data, &head, sizeof head);
}

/* Whether the sizes add up to `size`, none of them being larger. */
static bool sizes_fit(const header *head, uint64_t size)
{
    return head->maker_size <= size && head->facts_size <= size - head->maker_size &&
           head->payload_size == size - head->maker_size - head->facts_size;
}

bool accel__opencl_object_read(const void *bytes, size_t size, accel__opencl_object *out_object,
                               const char **out_fault)
{
    header head;
    *out_fault = "it is no object that accel made for OpenCL";
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0)
        return false;
    const char *rest = (const char *)bytes + sizeof head;
    *out_fault = "it is damaged or not whole";
    if (!sizes_fit(&head, size - sizeof head) ||
        sum_of(&head, rest, size - sizeof head) != head.sum)
        return false;
    if (head.form != ACCEL__OPENCL_FORM_BINARY && head.form != ACCEL__OPENCL_FORM_TEXT)
        return false;
    *out_object = (accel__opencl_object){
        .form = (accel__opencl_form)head.form,
        .dialect = (accel_dialect)head.dialect,
        .maker = rest,
        .maker_size = (size_t)head.maker_size,
        .facts = rest + head.maker_size,
        .facts_size = (size_t)head.facts_size,
        .payload = rest + head.maker_size + head.facts_size,
        .payload_size = (size_t)head.payload_size,
    };
    return true;
}
