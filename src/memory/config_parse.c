/* config_parse.c: `key:value,key:[a:b,c:d]` into settings; see config_parse.h.
 *
 * White space may stand between the parts and nowhere inside them. Whatever is not understood is an error
 * that names where the text came from, what is wrong, and the byte at which it begins; nothing is skipped,
 * and each key may be given once. */
#include "memory/config_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { MIB = 1 << 20, KIB = 1 << 10, ROUNDING_MIB = 20, DIVISIONS_MOST = 1 << 20 };

const accel__config accel__config_defaults = {
    .max_split_size = SIZE_MAX,
    .max_non_split_rounding = (size_t)ROUNDING_MIB * MIB,
    .per_process_memory_fraction = 1.0,
    .expandable_segments = true,
    .thread_cache_size = MIB,
    .pinned_cache_limit = SIZE_MAX,
    .caching = true,
    .is_plain = true,
    .text = "",
};

/* ---- where the reader is, and how it complains ---- */

typedef struct reader {
    const char *text;
    const char *at;
    const char *source;
    const char *function;
    accel__config *config;
    uint64_t given;
    const char *values[64]; /* where the value of each key begins */
} reader;

/* A part of the text. */
typedef struct word {
    const char *begin;
    size_t size;
} word;

/* Printable ASCII as it is, all else as \xHH; cut at `capacity`. */
static void escape(const char *bytes, size_t size, char *buffer, size_t capacity)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 5 < capacity; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x20 && byte < 0x7f)
            buffer[used++] = (char)byte;
        else
            used += (size_t)snprintf(buffer + used, 5, "\\x%02x", byte);
    }
    buffer[used] = '\0';
}

/* The text around the place, so that a person finds it. */
static void quote(const reader *r, const char *at, char *buffer, size_t capacity)
{
    enum { BEFORE = 24, ALL = 60 };
    const size_t offset = (size_t)(at - r->text);
    const char *begin = offset > BEFORE ? at - BEFORE : r->text;
    char excerpt[4 * ALL + 8];
    const size_t size = strnlen(begin, ALL);
    escape(begin, size, excerpt, sizeof excerpt);
    snprintf(buffer, capacity, "%s%s%s", begin != r->text ? "..." : "", excerpt,
             begin[size] != '\0' ? "..." : "");
}

static accel_status wrong(const reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static accel_status wrong(const reader *r, const char *at, const char *format, ...)
{
    char what[256];
    char excerpt[256];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    quote(r, at, excerpt, sizeof excerpt);
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, r->function,
                       "%s: %s, at byte %zu of '%s'; docs/allocator.md has the keys", r->source,
                       what, (size_t)(at - r->text) + 1, excerpt);
}

/* The word for messages: in quotes, escaped, cut. */
typedef struct shown {
    char text[64];
} shown;

static shown show(word w)
{
    shown result;
    char inner[52];
    escape(w.begin, w.size, inner, sizeof inner);
    const bool is_cut = w.size > strlen(inner);
    if (w.size == 0)
        snprintf(result.text, sizeof result.text, "nothing");
    else
        snprintf(result.text, sizeof result.text, "'%s%s'", inner, is_cut ? "..." : "");
    return result;
}

/* ---- words ---- */

static void skip_space(reader *r)
{
    r->at += strspn(r->at, " \t\n\r\v\f");
}

static bool take(reader *r, char c)
{
    skip_space(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static word take_word(reader *r)
{
    skip_space(r);
    const word result = {.begin = r->at, .size = strcspn(r->at, " \t\n\r\v\f,:[]")};
    r->at += result.size;
    return result;
}

static bool is_word(word w, const char *text)
{
    return w.size == strlen(text) && memcmp(w.begin, text, w.size) == 0;
}

/* False: no plain decimal number, or one beyond 2^64. */
static bool number_of(word w, uint64_t *out_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < w.size; i++) {
        const char c = w.begin[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(c - '0'), &number))
            return false;
    }
    *out_number = number;
    return w.size != 0;
}

/* Digits, with a point and up to 15 more or without: no sign, no exponent, no locale. */
static bool fraction_of(word w, double *out_fraction)
{
    const char *point = memchr(w.begin, '.', w.size);
    const size_t whole_size = point != NULL ? (size_t)(point - w.begin) : w.size;
    const word whole = {.begin = w.begin, .size = whole_size};
    uint64_t units = 0;
    uint64_t parts = 0;
    double scale = 1;
    if (!number_of(whole, &units))
        return false;
    if (point != NULL) {
        const word rest = {.begin = point + 1, .size = w.size - whole_size - 1};
        if (rest.size > 15 || !number_of(rest, &parts))
            return false;
        for (size_t i = 0; i < rest.size; i++)
            scale *= 10;
    }
    *out_fraction = (double)units + (double)parts / scale;
    return true;
}

static bool is_power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static unsigned log2_of(uint64_t number)
{
    return number > 1 ? 63u - (unsigned)__builtin_clzll(number) : 0;
}

/* ---- values ---- */

typedef struct setting {
    const char *name;
    accel_status (*read)(reader *r, const struct setting *key); /* NULL: not in accel */
    size_t offset;                                              /* of the member that it sets */
    uint64_t unit; /* bytes; 0: the value is checked, and has no meaning here */
    uint64_t least;
} setting;

static void *member_of(const reader *r, const setting *key)
{
    return (char *)r->config + key->offset;
}

static accel_status read_flag(reader *r, const setting *key)
{
    const word w = take_word(r);
    const bool is_true = is_word(w, "True");
    if (!is_true && !is_word(w, "False"))
        return wrong(r, w.begin, "'%s' is True or False, not %s", key->name, show(w).text);
    if (key->unit != 0)
        *(bool *)member_of(r, key) = is_true;
    return ACCEL_OK;
}

static accel_status read_size(reader *r, const setting *key)
{
    const word w = take_word(r);
    const uint64_t unit = key->unit != 0 ? key->unit : 1;
    uint64_t number = 0;
    if (!number_of(w, &number) || number > (uint64_t)PTRDIFF_MAX / unit || number < key->least)
        return wrong(r, w.begin, "'%s' is a whole number from %llu to %llu, not %s", key->name,
                     (unsigned long long)key->least,
                     (unsigned long long)((uint64_t)PTRDIFF_MAX / unit), show(w).text);
    if (key->unit != 0)
        *(size_t *)member_of(r, key) = (size_t)(number * unit);
    return ACCEL_OK;
}

static accel_status read_fraction(reader *r, const setting *key)
{
    const word w = take_word(r);
    double fraction = 0;
    if (!fraction_of(w, &fraction) || fraction > 1)
        return wrong(r, w.begin, "'%s' is a number from 0.0 to 1.0, not %s", key->name,
                     show(w).text);
    *(double *)member_of(r, key) = fraction;
    return ACCEL_OK;
}

static accel_status read_threshold(reader *r, const setting *key)
{
    const word w = take_word(r);
    double fraction = 0;
    if (!fraction_of(w, &fraction) || fraction <= 0 || fraction >= 1)
        return wrong(r, w.begin, "'%s' is a number between 0.0 and 1.0, both excluded, not %s",
                     key->name, show(w).text);
    *(double *)member_of(r, key) = fraction;
    return ACCEL_OK;
}

static accel_status read_backend(reader *r, const setting *key)
{
    const word w = take_word(r);
    (void)key;
    if (is_word(w, "native"))
        return ACCEL_OK;
    return wrong(r, w.begin, "'backend' is 'native', the one allocator there is, not %s",
                 show(w).text);
}

static accel_status read_threads(reader *r, const setting *key)
{
    const word w = take_word(r);
    uint64_t number = 0;
    if (number_of(w, &number) && is_power_of_two(number) && number <= 128)
        return ACCEL_OK;
    return wrong(r, w.begin, "'%s' is a power of two up to 128, not %s", key->name, show(w).text);
}

/* ---- roundup_power2_divisions ---- */

static accel_status take_divisions(reader *r, unsigned *out_log2)
{
    const word w = take_word(r);
    uint64_t divisions = 0;
    if (!number_of(w, &divisions) || divisions > DIVISIONS_MOST ||
        (divisions != 0 && !is_power_of_two(divisions)))
        return wrong(r, w.begin, "divisions are 0 or a power of two up to %d, not %s",
                     DIVISIONS_MOST, show(w).text);
    *out_log2 = log2_of(divisions);
    return ACCEL_OK;
}

/* The interval that an entry is for: `next` to the last one for '>'. */
static accel_status take_interval(reader *r, unsigned next, unsigned *out_interval)
{
    const word w = take_word(r);
    uint64_t size = 0;
    *out_interval = ACCEL__CONFIG_INTERVALS - 1;
    if (is_word(w, ">"))
        return ACCEL_OK;
    if (!number_of(w, &size) || !is_power_of_two(size) || size >> ACCEL__CONFIG_INTERVALS != 0)
        return wrong(r, w.begin,
                     "a size here is '>' or a power of two from 1 to 32768 (MiB), not %s",
                     show(w).text);
    *out_interval = log2_of(size);
    if (*out_interval < next)
        return wrong(r, w.begin, "sizes here rise from one entry to the next, and %s does not",
                     show(w).text);
    return ACCEL_OK;
}

/* [256:1,512:2,>:4]: the first size stands for all smaller ones, too, and '>' for all larger than the last;
 * what lies between two and is not named stays 0. */
static accel_status read_division_list(reader *r)
{
    unsigned next = 0; /* the first interval that no entry was for */
    bool is_first = true;
    bool is_closed = false;
    while (!is_closed) {
        unsigned interval = 0;
        unsigned log2 = 0;
        skip_space(r);
        const bool is_rest = *r->at == '>';
        accel_status status = take_interval(r, next, &interval);
        if (status == ACCEL_OK && !take(r, ':'))
            status = wrong(r, r->at, "':' is missing after the size");
        if (status == ACCEL_OK)
            status = take_divisions(r, &log2);
        if (status != ACCEL_OK)
            return status;
        for (unsigned i = is_first || is_rest ? next : interval; i <= interval; i++)
            r->config->roundup_log2[i] = (uint8_t)log2;
        next = interval + 1;
        is_first = false;
        is_closed = take(r, ']');
        if (!is_closed && (is_rest || !take(r, ',')))
            return wrong(r, r->at,
                         is_rest ? "']' is missing: '>' is the last entry"
                                 : "',' or ']' is missing after the divisions");
    }
    return ACCEL_OK;
}

static accel_status read_divisions(reader *r, const setting *key)
{
    (void)key;
    if (take(r, '['))
        return read_division_list(r);
    unsigned log2 = 0;
    const accel_status status = take_divisions(r, &log2);
    memset(r->config->roundup_log2, (int)log2, sizeof r->config->roundup_log2);
    return status;
}

/* ---- the keys ---- */

#define MEMBER(name) offsetof(accel__config, name)
/* PyTorch's keys that change nothing here, and those whose wish cannot be met. */
#define IGNORED(name, read)                                                                        \
    {                                                                                              \
        name, read, 0, 0, 0                                                                        \
    }
#define REFUSED(name)                                                                              \
    {                                                                                              \
        name, NULL, 0, 0, 0                                                                        \
    }

static const setting keys[] = {
    {"max_split_size_mb", read_size, MEMBER(max_split_size), MIB, 1},
    {"max_non_split_rounding_mb", read_size, MEMBER(max_non_split_rounding), MIB, 1},
    {"large_segment_size_mb", read_size, MEMBER(large_segment_size), MIB, 11},
    {"garbage_collection_threshold", read_threshold, MEMBER(garbage_collection_threshold), 1, 0},
    {"per_process_memory_fraction", read_fraction, MEMBER(per_process_memory_fraction), 1, 0},
    {"roundup_power2_divisions", read_divisions, 0, 1, 0},
    {"expandable_segments", read_flag, MEMBER(expandable_segments), 1, 0},
    {"memory_limit_mb", read_size, MEMBER(memory_limit), MIB, 0},
    {"thread_cache_kb", read_size, MEMBER(thread_cache_size), KIB, 0},
    {"pinned_cache_limit_mb", read_size, MEMBER(pinned_cache_limit), MIB, 0},
    {"caching", read_flag, MEMBER(caching), 1, 0},
    {"exact_peaks", read_flag, MEMBER(exact_peaks), 1, 0},
    {"guard", read_flag, MEMBER(guard), 1, 0},
    {"poison", read_flag, MEMBER(poison), 1, 0},
    REFUSED("expandable_segments_reserve"),
    REFUSED("expandable_segments_reserve_by_class"),
    IGNORED("backend", read_backend),
    IGNORED("release_lock_on_cudamalloc", read_flag),
    IGNORED("release_lock_on_hipmalloc", read_flag),
    IGNORED("throw_on_cudamalloc_oom", read_flag),
    IGNORED("graph_capture_record_stream_reuse", read_flag),
    IGNORED("pinned_use_cuda_host_register", read_flag),
    IGNORED("pinned_use_hip_host_register", read_flag),
    IGNORED("pinned_num_register_threads", read_threads),
    IGNORED("pinned_use_background_threads", read_flag),
    IGNORED("pinned_reserve_segment_size_mb", read_size),
    IGNORED("pinned_free_catch_all", read_flag),
};

enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert(KEYS <= 64, "a bit for each");

const char *accel__config_key_name(unsigned index)
{
    return index < KEYS ? keys[index].name : NULL;
}

static unsigned find_key(word w)
{
    unsigned index = 0;
    while (index < KEYS && !is_word(w, keys[index].name))
        index++;
    return index;
}

/* ---- settings that depend on each other ---- */

/* Where the value of the member was given; NULL: it was not. */
static const char *place_of(const reader *r, size_t offset)
{
    for (unsigned i = 0; i < KEYS; i++)
        if (keys[i].offset == offset && keys[i].read == read_size && keys[i].unit != 0)
            return (r->given >> i & 1u) != 0 ? r->values[i] : NULL;
    return NULL;
}

static accel_status check_together(const reader *r)
{
    accel__config *config = r->config;
    const size_t segment = config->large_segment_size != 0 ? config->large_segment_size
                                                           : (size_t)ROUNDING_MIB * MIB;
    const char *split = place_of(r, MEMBER(max_split_size));
    const char *rounding = place_of(r, MEMBER(max_non_split_rounding));
    if (split != NULL && config->max_split_size < segment)
        return wrong(r, split, "'max_split_size_mb' is at least the large segment size, %zu",
                     segment / MIB);
    if (rounding != NULL && config->max_non_split_rounding < segment)
        return wrong(r, rounding,
                     "'max_non_split_rounding_mb' is at least the large segment size, %zu",
                     segment / MIB);
    if (rounding == NULL)
        config->max_non_split_rounding = segment;
    for (unsigned i = 0; i < ACCEL__CONFIG_INTERVALS; i++)
        config->has_roundup = config->has_roundup || config->roundup_log2[i] != 0;
    config->is_plain = config->caching && !config->guard && !config->poison;
    return ACCEL_OK;
}

/* ---- the text ---- */

static accel_status read_setting(reader *r, uint64_t *out_ignored)
{
    const word name = take_word(r);
    const unsigned index = find_key(name);
    if (name.size == 0)
        return wrong(r, r->at, "a key is missing");
    if (index == KEYS)
        return wrong(r, name.begin, "there is no key %s", show(name).text);
    if (keys[index].read == NULL)
        return wrong(r, name.begin,
                     "accel has no %s: growable segments reserve addresses, not memory",
                     show(name).text);
    if ((r->given >> index & 1u) != 0)
        return wrong(r, name.begin, "%s is given twice", show(name).text);
    if (!take(r, ':'))
        return wrong(r, r->at, "':' and a value are missing after the key %s", show(name).text);
    skip_space(r);
    r->given |= UINT64_C(1) << index;
    r->values[index] = r->at;
    if (keys[index].unit == 0)
        *out_ignored |= UINT64_C(1) << index;
    return keys[index].read(r, &keys[index]);
}

accel_status accel__config_parse(const char *text, const char *source, const char *function,
                                 accel__config *out_config, uint64_t *out_ignored)
{
    reader r = {
        .text = text, .at = text, .source = source, .function = function, .config = out_config};
    *out_config = accel__config_defaults;
    *out_ignored = 0;
    if (text[0] == '\0')
        return ACCEL_OK;
    do {
        const accel_status status = read_setting(&r, out_ignored);
        if (status != ACCEL_OK)
            return status;
    } while (take(&r, ','));
    if (*r.at != '\0')
        return wrong(&r, r.at, "',' or the end is missing");
    return check_together(&r);
}
