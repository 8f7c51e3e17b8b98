/* cache.c: keys and the form of an entry. An entry is a head and the data; the head names its key
 * and the data's checksum, so that whatever stands in the directory, only what was stored under this
 * very key comes out. */
#include "kernel/cache/cache.h"

#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/log.h"
#include "kernel/cache/internal.h"

/* ---- keys ---- */

/* Changes with the form of keys or entries: old entries are then not found, and go in time. */
static const char format_name[] = "accel kernel cache 1";

void accel__cache_key_begin(accel__cache_key *key)
{
    *key = (accel__cache_key){0};
    accel__sha256_begin(&key->hash);
    accel__cache_key_add_string(key, format_name);
}

static void encode(unsigned char out[8], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(number >> (8 * i));
}

void accel__cache_key_add(accel__cache_key *key, const void *bytes, size_t size)
{
    unsigned char length[8];
    encode(length, size);
    accel__sha256_add(&key->hash, length, sizeof length);
    accel__sha256_add(&key->hash, bytes, size);
}

void accel__cache_key_add_string(accel__cache_key *key, const char *string)
{
    static const unsigned char none[8] = {255, 255, 255, 255, 255, 255, 255, 255}; /* no length */
    if (string == NULL)
        accel__sha256_add(&key->hash, none, sizeof none);
    else
        accel__cache_key_add(key, string, strlen(string));
}

void accel__cache_key_finish(accel__cache_key *key)
{
    accel__sha256_finish(&key->hash, key->digest);
}

/* ---- entries ---- */

/* Bytes, so that machines of any kind may share a directory. */
typedef struct head {
    char magic[8];
    unsigned char key[ACCEL__SHA256_SIZE];
    unsigned char size[8]; /* of the data, little-endian */
    unsigned char checksum[ACCEL__SHA256_SIZE];
} head;

static const char magic[8] = {'a', 'c', 'c', 'e', 'l', 'k', 'c', '1'};

static head make_head(const accel__cache_key *key, const void *data, size_t size)
{
    head made;
    accel__sha256 hash;
    memcpy(made.magic, magic, sizeof magic);
    memcpy(made.key, key->digest, sizeof made.key);
    encode(made.size, size);
    accel__sha256_begin(&hash);
    accel__sha256_add(&hash, data, size);
    accel__sha256_finish(&hash, made.checksum);
    return made;
}

static void make_name(const accel__cache_key *key, char name[ACCEL__CACHE_NAME_SIZE + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < ACCEL__SHA256_SIZE; i++) {
        name[2 * i] = digits[key->digest[i] >> 4];
        name[2 * i + 1] = digits[key->digest[i] & 15];
    }
    memcpy(name + ACCEL__CACHE_NAME_SIZE - 4, ".bin", 5);
}

/* Is this the entry of the key, and whole? */
static bool check_entry(const accel__cache_key *key, const unsigned char *bytes, size_t size)
{
    if (size < sizeof(head))
        return false;
    const head expected = make_head(key, bytes + sizeof(head), size - sizeof(head));
    return memcmp(bytes, &expected, sizeof expected) == 0;
}

bool accel__cache_get(const accel__cache_key *key, void **out_data, size_t *out_size)
{
    *out_data = NULL;
    *out_size = 0;
    const int directory = accel__cache_directory_open(false);
    if (directory < 0)
        return false;
    char name[ACCEL__CACHE_NAME_SIZE + 1];
    void *bytes = NULL;
    size_t size = 0;
    make_name(key, name);
    accel__cache_found found = accel__cache_file_read(directory, name, &bytes, &size);
    if (found == ACCEL__CACHE_FOUND && !check_entry(key, bytes, size))
        found = ACCEL__CACHE_UNFIT;
    if (found == ACCEL__CACHE_UNFIT) {
        accel__log(ACCEL_LOG_LEVEL_DEBUG, NULL, "kernel cache: entry %s is damaged: removed", name);
        unlinkat(directory, name, 0);
    }
    close(directory);
    if (found != ACCEL__CACHE_FOUND) {
        accel__deallocate(bytes);
        return false;
    }
    *out_size = size - sizeof(head);
    memmove(bytes, (unsigned char *)bytes + sizeof(head), *out_size);
    *out_data = bytes;
    return true;
}

void accel__cache_put(const accel__cache_key *key, const void *data, size_t size)
{
    if (size > accel__cache_limit() - sizeof(head))
        return;
    const int directory = accel__cache_directory_open(true);
    if (directory < 0)
        return;
    char name[ACCEL__CACHE_NAME_SIZE + 1];
    make_name(key, name);
    const head made = make_head(key, data, size);
    const int code = accel__cache_file_write(directory, name, &made, sizeof made, data, size);
    if (code != 0)
        accel__cache_warn("an entry could not be stored: %s", strerror(code));
    else
        accel__cache_evict(directory, sizeof made + size);
    close(directory);
}
