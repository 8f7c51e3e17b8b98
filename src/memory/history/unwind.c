/* unwind.c: reads .eh_frame (DWARF call frame information as the System V ABI for x86-64 has it) as
 * far as compilers of C and C++ use it for functions that call others: the CFA from rsp or rbp, or
 * by the one expression with which frames that realign the stack find it; rbp unchanged or saved.
 * For everything else (signal frames, linkage stubs) the answer is that nothing is known, and the
 * walk ends or goes by frame pointers.
 *
 * The tables are part of what is loaded and are trusted as the code is; but a walker must check
 * each address on the stack itself, as rows may be of a library that is gone. */
#if defined(__x86_64__)

#include "memory/history/unwind.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "platform/loader.h"

_Atomic(accel__unwind_row) accel__unwind_rows[1 << ACCEL__UNWIND_BITS];

enum { REG_RBP = 6, REG_RSP = 7, REG_RETURN = 16, REMEMBERED = 8 };

/* ---- reading numbers ---- */

typedef struct bytes {
    const uint8_t *at;
    const uint8_t *end;
} bytes;

static uint64_t read_fixed(bytes *from, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < size) {
        from->at = from->end;
        return 0;
    }
    memcpy(&value, from->at, size);
    from->at += size;
    return value;
}

static int64_t read_signed(bytes *from, size_t size)
{
    const unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(read_fixed(from, size) << unused) >> unused;
}

static uint64_t read_uleb(bytes *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; from->at < from->end; shift += 7) {
        const uint8_t byte = *from->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

static int64_t read_sleb(bytes *from)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte = 0;
    while (from->at < from->end) {
        byte = *from->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0)
            break;
    }
    if ((byte & 0x40) != 0 && shift < 64)
        value |= UINT64_MAX << shift;
    return (int64_t)value;
}

/* Sizes of the encodings of pointers; 0: not read here. */
static size_t encoded_size(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case 0x00: /* absolute */
    case 0x04: /* 8 bytes, unsigned and signed */
    case 0x0c:
        return 8;
    case 0x03: /* 4 bytes */
    case 0x0b:
        return 4;
    default:
        return 0;
    }
}

/* ---- the program of a function ---- */

typedef struct rule {
    accel__unwind_kind kind;
    int64_t offset;
    int64_t saved;     /* of rbp, from the CFA; 0: unchanged */
    bool is_saved_odd; /* rbp is where no row can say */
    bool is_end;       /* there is no caller */
} rule;

typedef struct program {
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding; /* of addresses in entries of functions */
    bool has_augmentation;
    bytes initial; /* instructions for every function */
    rule now;
    rule first; /* after the initial ones */
    rule remembered[REMEMBERED];
    unsigned depth;
    uintptr_t location;
} program;

static void define_cfa(program *of, uint64_t reg, int64_t offset)
{
    of->now.kind = reg == REG_RSP   ? ACCEL__UNWIND_BY_STACK
                   : reg == REG_RBP ? ACCEL__UNWIND_BY_FRAME
                                    : ACCEL__UNWIND_UNKNOWN;
    of->now.offset = offset;
}

static void save(program *of, uint64_t reg, int64_t offset)
{
    if (reg == REG_RBP) {
        of->now.saved = offset;
        of->now.is_saved_odd = offset >= 0;
    } else if (reg == REG_RETURN && offset != -8) {
        of->now.kind = ACCEL__UNWIND_UNKNOWN;
    }
}

static void restore(program *of, uint64_t reg)
{
    if (reg == REG_RBP) {
        of->now.saved = of->first.saved;
        of->now.is_saved_odd = of->first.is_saved_odd;
    }
}

static void lose(program *of, uint64_t reg)
{
    if (reg == REG_RBP)
        of->now.is_saved_odd = true;
    else if (reg == REG_RETURN)
        of->now.is_end = true;
}

/* The CFA is at an address below rbp: "breg6 offset, deref". */
static void define_by_expression(program *of, bytes *from)
{
    const uint64_t size = read_uleb(from);
    bytes expression = {from->at, from->end};
    of->now.kind = ACCEL__UNWIND_UNKNOWN;
    if (size > (size_t)(from->end - from->at)) {
        from->at = from->end;
        return;
    }
    expression.end = from->at += size;
    if (read_fixed(&expression, 1) != 0x70 + REG_RBP)
        return;
    const int64_t offset = read_sleb(&expression);
    if (read_fixed(&expression, 1) == 0x06 && expression.at == expression.end && offset <= 0) {
        of->now.kind = ACCEL__UNWIND_REALIGNED;
        of->now.offset = -offset;
    }
}

/* Where a register was saved. Of rbp, only "at rbp" can be said, and only in realigned frames. */
static void save_by_expression(program *of, bytes *from)
{
    const uint64_t reg = read_uleb(from);
    const uint64_t size = read_uleb(from);
    static const uint8_t at_rbp[] = {0x70 + REG_RBP, 0};
    const bool fits = size <= (size_t)(from->end - from->at);
    if (reg == REG_RBP)
        of->now.is_saved_odd = !fits || size != sizeof at_rbp ||
                               memcmp(from->at, at_rbp, sizeof at_rbp) != 0;
    else if (reg == REG_RETURN)
        of->now.kind = ACCEL__UNWIND_UNKNOWN;
    from->at = fits ? from->at + size : from->end;
}

/* Instructions about the CFA. False: the operation is none of those. */
static bool do_cfa(program *of, uint8_t operation, bytes *from)
{
    uint64_t reg;
    switch (operation) {
    case 0x0c: /* def_cfa */
        reg = read_uleb(from);
        define_cfa(of, reg, (int64_t)read_uleb(from));
        return true;
    case 0x0d: /* def_cfa_register */
        define_cfa(of, read_uleb(from), of->now.offset);
        return true;
    case 0x0e: /* def_cfa_offset */
        of->now.offset = (int64_t)read_uleb(from);
        return true;
    case 0x0f: /* def_cfa_expression */
        define_by_expression(of, from);
        return true;
    case 0x12: /* def_cfa_sf */
        reg = read_uleb(from);
        define_cfa(of, reg, read_sleb(from) * of->data_factor);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        of->now.offset = read_sleb(from) * of->data_factor;
        return true;
    default:
        return false;
    }
}

/* Instructions about registers. False: the operation is none of those. */
static bool do_register(program *of, uint8_t operation, bytes *from)
{
    uint64_t reg;
    switch (operation) {
    case 0x05: /* offset_extended */
        reg = read_uleb(from);
        save(of, reg, (int64_t)read_uleb(from) * of->data_factor);
        return true;
    case 0x06: /* restore_extended */
        restore(of, read_uleb(from));
        return true;
    case 0x07: /* undefined */
        lose(of, read_uleb(from));
        return true;
    case 0x08: /* same_value */
        if (read_uleb(from) == REG_RBP)
            of->now.saved = of->now.is_saved_odd = 0;
        return true;
    case 0x09: /* register */
        lose(of, read_uleb(from));
        read_uleb(from);
        return true;
    case 0x10: /* expression */
        save_by_expression(of, from);
        return true;
    case 0x11: /* offset_extended_sf */
        reg = read_uleb(from);
        save(of, reg, read_sleb(from) * of->data_factor);
        return true;
    default:
        return false;
    }
}

/* All other instructions whose operation is the whole byte. False: one that is not known. */
static bool do_other(program *of, uint8_t operation, bytes *from)
{
    switch (operation) {
    case 0x00: /* nop */
        return true;
    case 0x02: /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
        of->location += read_fixed(from, (size_t)1 << (operation - 2)) * of->code_factor;
        return true;
    case 0x0a: /* remember_state */
        if (of->depth == REMEMBERED)
            return false;
        of->remembered[of->depth++] = of->now;
        return true;
    case 0x0b: /* restore_state */
        if (of->depth == 0)
            return false;
        of->now = of->remembered[--of->depth];
        return true;
    case 0x2e: /* GNU_args_size */
        read_uleb(from);
        return true;
    default:
        return false;
    }
}

/* Up to where the location passes `place`. False: an instruction is not known. */
static bool run(program *of, bytes from, uintptr_t place)
{
    while (from.at < from.end && of->location <= place) {
        const uint8_t byte = *from.at++;
        const unsigned operand = byte & 0x3f;
        switch (byte >> 6) {
        case 1: /* advance_loc */
            of->location += operand * of->code_factor;
            break;
        case 2: /* offset */
            save(of, operand, (int64_t)read_uleb(&from) * of->data_factor);
            break;
        case 3:
            restore(of, operand);
            break;
        default:
            if (!do_cfa(of, byte, &from) && !do_register(of, byte, &from) &&
                !do_other(of, byte, &from))
                return false;
        }
    }
    return true;
}

/* ---- the entries ---- */

/* The bytes of the entry at `at`, without its length. Empty: one that is not read here. */
static bytes entry_at(const uint8_t *at)
{
    uint32_t size = 0;
    memcpy(&size, at, sizeof size);
    const bytes empty = {at, at};
    const bytes entry = {at + 4, at + 4 + size};
    return size == 0 || size == UINT32_MAX ? empty : entry;
}

/* What functions have in common (CIE). False: not read here. */
static bool read_common(program *of, bytes from)
{
    const char *augmentation = NULL;
    read_fixed(&from, 4); /* that it is one */
    const uint64_t version = read_fixed(&from, 1);
    augmentation = (const char *)from.at;
    from.at += strnlen(augmentation, (size_t)(from.end - from.at)) + 1;
    if (from.at >= from.end || (version != 1 && version != 3))
        return false;
    of->code_factor = read_uleb(&from);
    of->data_factor = read_sleb(&from);
    const uint64_t reg = version == 1 ? read_fixed(&from, 1) : read_uleb(&from);
    of->has_augmentation = augmentation[0] == 'z';
    if (reg != REG_RETURN || (augmentation[0] != '\0' && !of->has_augmentation))
        return false;
    if (of->has_augmentation) {
        const uint64_t size = read_uleb(&from);
        if (size > (size_t)(from.end - from.at))
            return false;
        bytes data = {from.at, from.at + size};
        from.at += size;
        for (const char *letter = augmentation + 1; *letter != '\0'; letter++) {
            if (*letter == 'R')
                of->encoding = (uint8_t)read_fixed(&data, 1);
            else if (*letter == 'L')
                read_fixed(&data, 1);
            else if (*letter == 'P')
                read_fixed(&data, encoded_size((uint8_t)read_fixed(&data, 1)));
            else /* S: the frame of a signal handler */
                return false;
        }
    }
    of->initial = from;
    return true;
}

/* The rule for `place` from the entry of its function (FDE). */
static rule rule_of(const uint8_t *function, uintptr_t place)
{
    static const rule none = {.kind = ACCEL__UNWIND_UNKNOWN};
    program run_of = {0};
    bytes from = entry_at(function);
    const uint8_t *here = from.at;
    const uint64_t back = read_fixed(&from, 4);
    if (back == 0 || !read_common(&run_of, entry_at(here - back)))
        return none;
    const size_t size = encoded_size(run_of.encoding);
    const uintptr_t base = (run_of.encoding & 0x70) == 0x10 ? (uintptr_t)from.at : 0;
    if (size == 0 || (run_of.encoding & 0xe0) != 0)
        return none;
    const uintptr_t begin = base + (uintptr_t)read_signed(&from, size);
    if (place - begin >= read_fixed(&from, size))
        return none;
    if (run_of.has_augmentation) {
        const uint64_t skip = read_uleb(&from);
        from.at += skip <= (size_t)(from.end - from.at) ? skip : (size_t)(from.end - from.at);
    }
    if (!run(&run_of, run_of.initial, UINTPTR_MAX))
        return none;
    run_of.first = run_of.now;
    run_of.location = begin;
    return run(&run_of, from, place) ? run_of.now : none;
}

/* ---- the sorted table of an object ---- */

typedef struct search {
    uintptr_t place;
    const uint8_t *index; /* .eh_frame_hdr of the object around it */
} search;

static int look_at_object(struct dl_phdr_info *info, size_t size, void *user)
{
    search *looking = user;
    const uint8_t *index = NULL;
    bool is_here = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_EH_FRAME)
            index = (const uint8_t *)begin;
        else if (part->p_type == PT_LOAD && looking->place - begin < part->p_memsz)
            is_here = true;
    }
    if (is_here)
        looking->index = index;
    return is_here;
}

/* The entry of the function that begins at or before `place`; NULL: the table is of a form that
 * linkers do not make, or has none. */
static const uint8_t *find_function(const uint8_t *index, uintptr_t place)
{
    typedef struct pair {
        int32_t begin; /* both from the beginning of the index */
        int32_t entry;
    } pair;
    uint32_t count = 0;
    pair found;
    if (index[0] != 1 || index[1] != 0x1b || index[2] != 0x03 || index[3] != 0x3b)
        return NULL;
    memcpy(&count, index + 8, sizeof count);
    const uint8_t *pairs = index + 12;
    size_t low = 0;
    for (size_t high = count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        memcpy(&found, pairs + middle * sizeof found, sizeof found);
        if ((uintptr_t)index + (uintptr_t)(intptr_t)found.begin <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    memcpy(&found, pairs + (low - 1) * sizeof found, sizeof found);
    return index + found.entry;
}

/* ---- rows ---- */

static accel__unwind_row pack(uintptr_t place, const rule *of)
{
    const accel__unwind_row tag = (accel__unwind_row)(place >> ACCEL__UNWIND_BITS) << 29;
    const uint64_t offset = (uint64_t)of->offset / 8;
    const uint64_t saved = (uint64_t)-of->saved / 8;
    const bool is_realigned = of->kind == ACCEL__UNWIND_REALIGNED;
    if (of->is_end)
        return tag | (accel__unwind_row)ACCEL__UNWIND_END << 26;
    if (of->kind == ACCEL__UNWIND_UNKNOWN || of->offset < 0 || of->offset % 8 != 0 ||
        offset > 0x3fff || of->is_saved_odd || (!is_realigned && saved > 0xfff))
        return tag;
    return tag | (accel__unwind_row)of->kind << 26 | offset << 12 | (is_realigned ? 0 : saved);
}

accel__unwind_row accel__unwind_read(uintptr_t place)
{
    search looking = {.place = place};
    rule found = {.kind = ACCEL__UNWIND_UNKNOWN};
    accel__loader_enter();
    dl_iterate_phdr(look_at_object, &looking);
    accel__loader_leave();
    const uint8_t *function = looking.index != NULL ? find_function(looking.index, place) : NULL;
    if (function != NULL)
        found = rule_of(function, place);
    const accel__unwind_row row = pack(place, &found);
    if (place >> ACCEL__UNWIND_BITS < (uintptr_t)1 << 35)
        atomic_store_explicit(&accel__unwind_rows[place & ((1u << ACCEL__UNWIND_BITS) - 1)], row,
                              memory_order_relaxed);
    return row;
}

void accel__unwind_forget(void)
{
    for (unsigned i = 0; i < 1u << ACCEL__UNWIND_BITS; i++)
        atomic_store_explicit(&accel__unwind_rows[i], 0, memory_order_relaxed);
}

#endif
