/* symbols.c: the loader says which file lies where; the file's own table of symbols, which has
 * static functions too where it was not stripped, says what lies at each offset. The table is read
 * once from beginning to end, past the sorted addresses of that file, so that a library with a
 * million symbols costs a few milliseconds and no memory.
 *
 * A file may be any garbage by now, or another one than was loaded: everything read from it is
 * checked, nothing is mapped, and where its build identifier is not that of the code in memory it
 * names nothing. */
#include "memory/history/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/text.h"
#include "platform/calls.h"
#include "platform/loader.h"

typedef struct accel__symbol_text {
    struct accel__symbol_text *next;
    char bytes[];
} symbol_text;

enum { NAME_SIZE = 512, ID_SIZE = 32 };

/* ---- texts ---- */

static const char unknown[] = "??";

/* A copy that lives as long as the symbols; "??" where there is no memory. */
static const char *keep_text(accel__symbols *symbols, const char *text)
{
    const size_t size = strlen(text) + 1;
    symbol_text *kept = accel__allocate(sizeof *kept + size);
    if (kept == NULL)
        return unknown;
    memcpy(kept->bytes, text, size);
    kept->next = symbols->texts;
    symbols->texts = kept;
    return kept->bytes;
}

void accel__symbols_release(accel__symbols *symbols)
{
    while (symbols->texts != NULL) {
        symbol_text *text = symbols->texts;
        symbols->texts = text->next;
        accel__deallocate(text);
    }
    accel__deallocate(symbols->items);
    *symbols = (accel__symbols){0};
}

/* ---- files ---- */

/* Where the symbols of an open file are; all offsets are of the file. */
typedef struct symbol_table {
    int descriptor;
    uint64_t symbols;
    uint64_t count;
    uint64_t names;
    uint64_t names_size;
} symbol_table;

static bool read_at(int descriptor, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size && offset <= INT64_MAX - size) {
        const ssize_t part = pread(descriptor, (char *)bytes + done, size - done,
                                   (off_t)(offset + done));
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    return done == size;
}

/* The table of all symbols, else that of the exported ones. */
static bool find_table(symbol_table *table, const ElfW(Ehdr) * header)
{
    bool found = false;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        ElfW(Shdr) section;
        ElfW(Shdr) names;
        const uint64_t at = header->e_shoff + (uint64_t)i * sizeof section;
        if (!read_at(table->descriptor, at, &section, sizeof section))
            return found;
        const bool is_full = section.sh_type == SHT_SYMTAB;
        if (!is_full && (section.sh_type != SHT_DYNSYM || found))
            continue;
        const uint64_t names_at = header->e_shoff + (uint64_t)section.sh_link * sizeof names;
        if (section.sh_link >= header->e_shnum || section.sh_entsize != sizeof(ElfW(Sym)) ||
            !read_at(table->descriptor, names_at, &names, sizeof names))
            continue;
        table->symbols = section.sh_offset;
        table->count = section.sh_size / sizeof(ElfW(Sym));
        table->names = names.sh_offset;
        table->names_size = names.sh_size;
        found = true;
        if (is_full)
            break;
    }
    return found;
}

/* The build identifier among notes; 0: there is none. */
static size_t find_id(const char *notes, size_t size, unsigned char id[ID_SIZE])
{
    static const char owner[] = "GNU";
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        const size_t name = at + sizeof note;
        if (note.n_namesz > size || note.n_descsz > size)
            break;
        const size_t value = name + ((note.n_namesz + 3u) & ~(size_t)3);
        if (value + note.n_descsz > size)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner &&
            memcmp(notes + name, owner, sizeof owner) == 0 && note.n_descsz <= ID_SIZE) {
            memcpy(id, notes + value, note.n_descsz);
            return note.n_descsz;
        }
        at = value + ((note.n_descsz + 3u) & ~(size_t)3);
    }
    return 0;
}

/* ---- objects: what is loaded ---- */

typedef struct object {
    uintptr_t base;
    char path[PATH_MAX];
    size_t id_size; /* of the build identifier in memory; 0: it has none */
    unsigned char id[ID_SIZE];
    size_t first; /* its addresses, as places in `items` */
    size_t end;
} object;

/* Whether the file is that which was loaded, as far as can be told. */
static bool is_same_file(const object *of, int descriptor, const ElfW(Ehdr) * header)
{
    if (of->id_size == 0)
        return true;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) part;
        char notes[1024];
        unsigned char id[ID_SIZE];
        if (!read_at(descriptor, header->e_phoff + (uint64_t)i * sizeof part, &part, sizeof part))
            return false;
        if (part.p_type != PT_NOTE || part.p_filesz > sizeof notes ||
            !read_at(descriptor, part.p_offset, notes, part.p_filesz))
            continue;
        const size_t size = find_id(notes, part.p_filesz, id);
        if (size != 0)
            return size == of->id_size && memcmp(id, of->id, size) == 0;
    }
    return false;
}

static bool open_table(const object *of, symbol_table *table)
{
    ElfW(Ehdr) header;
    table->descriptor = accel__platform.open(of->path, O_RDONLY | O_NONBLOCK, 0);
    if (table->descriptor < 0)
        return false;
    if (read_at(table->descriptor, 0, &header, sizeof header) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
        header.e_shentsize == sizeof(ElfW(Shdr)) && header.e_phentsize == sizeof(ElfW(Phdr)) &&
        is_same_file(of, table->descriptor, &header) && find_table(table, &header))
        return true;
    close(table->descriptor);
    return false;
}

/* ---- names ---- */

typedef struct named {
    uint64_t name; /* offset in the names; 0: none yet */
    uint64_t size; /* of the function: of several the smallest is the best */
} named;

/* Gives the symbol to the addresses inside of it. A call that never returns may be the last thing
 * in its function: what counts is the byte before the return address. */
static void try_symbol(const accel__symbols *symbols, const object *of, const ElfW(Sym) * symbol,
                       named *names)
{
    const unsigned type = symbol->st_info & 15u;
    const uintptr_t begin = of->base + symbol->st_value;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_size == 0)
        return;
    size_t low = of->first;
    for (size_t high = of->end; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (symbols->items[middle].address - 1 < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < of->end && symbols->items[low].address - 1 - begin < symbol->st_size; low++) {
        named *name = &names[low - of->first];
        if (name->name == 0 || symbol->st_size < name->size)
            *name = (named){.name = symbol->st_name, .size = symbol->st_size};
    }
}

static void read_table(const accel__symbols *symbols, const object *of, const symbol_table *table,
                       named *names)
{
    ElfW(Sym) some[512] = {{0}};
    for (uint64_t at = 0; at < table->count;) {
        const uint64_t left = table->count - at;
        const size_t count = left < 512 ? (size_t)left : 512;
        if (!read_at(table->descriptor, table->symbols + at * sizeof *some, some,
                     count * sizeof *some))
            return;
        for (size_t i = 0; i < count; i++)
            try_symbol(symbols, of, &some[i], names);
        at += count;
    }
}

static void name_functions(accel__symbols *symbols, const object *of)
{
    symbol_table table;
    named *names = accel__allocate_array(of->end - of->first, sizeof *names);
    if (names == NULL || !open_table(of, &table)) {
        accel__deallocate(names);
        return;
    }
    read_table(symbols, of, &table, names);
    for (size_t i = of->first; i < of->end; i++) {
        const named *name = &names[i - of->first];
        char text[NAME_SIZE] = "";
        const uint64_t left = name->name < table.names_size ? table.names_size - name->name : 0;
        const size_t size = left < sizeof text - 1 ? (size_t)left : sizeof text - 1;
        if (name->name != 0 && read_at(table.descriptor, table.names + name->name, text, size) &&
            text[0] != '\0')
            symbols->items[i].function = keep_text(symbols, text);
    }
    close(table.descriptor);
    accel__deallocate(names);
}

static void name_files(accel__symbols *symbols, const object *of)
{
    for (size_t i = of->first; i < of->end; i++) {
        accel__text text = {0};
        accel__text_format(&text, "%s+0x%lx", of->path,
                           (unsigned long)(symbols->items[i].address - 1 - of->base));
        symbols->items[i].file = keep_text(symbols, accel__text_string(&text));
        accel__text_release(&text);
    }
}

/* ---- which object ---- */

typedef struct search {
    const accel__symbols *symbols;
    uintptr_t address; /* an object around it is looked for */
    object *found;
} search;

static void note_object(const struct dl_phdr_info *info, object *found)
{
    const char *path = info->dlpi_name;
    found->base = info->dlpi_addr;
    found->id_size = 0;
    if (path == NULL || path[0] == '\0') {
        const ssize_t size = readlink("/proc/self/exe", found->path, sizeof found->path - 1);
        found->path[size > 0 ? size : 0] = '\0';
    } else {
        const size_t size = strnlen(path, sizeof found->path - 1);
        memcpy(found->path, path, size);
        found->path[size] = '\0';
    }
    for (int i = 0; i < info->dlpi_phnum && found->id_size == 0; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            found->id_size = find_id((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                                     info->dlpi_phdr[i].p_memsz, found->id);
}

/* The addresses from the searched one on that lie in the same part of the object. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *user)
{
    search *looking = user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || looking->address - begin >= part->p_memsz)
            continue;
        object *found = looking->found;
        note_object(info, found);
        while (found->end < looking->symbols->count &&
               looking->symbols->items[found->end].address - 1 - begin < part->p_memsz)
            found->end++;
        return 1;
    }
    return 0;
}

/* ---- all of it ---- */

static int compare(const void *a, const void *b)
{
    const uintptr_t first = *(const uintptr_t *)a;
    const uintptr_t second = *(const uintptr_t *)b;
    return (first > second) - (first < second);
}

static size_t make_unique(uintptr_t *addresses, size_t count)
{
    size_t kept = 0;
    if (count != 0)
        qsort(addresses, count, sizeof *addresses, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || addresses[i] != addresses[kept - 1])
            addresses[kept++] = addresses[i];
    return kept;
}

bool accel__symbols_find(uintptr_t *addresses, size_t count, accel__symbols *out_symbols)
{
    *out_symbols = (accel__symbols){0};
    count = make_unique(addresses, count);
    object *found = accel__allocate(sizeof *found);
    out_symbols->items = accel__allocate_array(count + 1, sizeof *out_symbols->items);
    if (found == NULL || out_symbols->items == NULL) {
        accel__deallocate(found);
        accel__symbols_release(out_symbols);
        return false;
    }
    out_symbols->count = count;
    for (size_t i = 0; i < count; i++)
        out_symbols->items[i] = (accel__symbol){
            .address = addresses[i], .function = unknown, .file = unknown};
    for (size_t i = 0; i<count; i = found->end> i ? found->end : i + 1) {
        search looking = {.symbols = out_symbols, .address = addresses[i] - 1, .found = found};
        found->first = found->end = i;
        accel__loader_enter();
        const bool is_mapped = dl_iterate_phdr(look_at_object, &looking) != 0;
        accel__loader_leave();
        if (is_mapped) {
            name_files(out_symbols, found);
            name_functions(out_symbols, found);
        }
    }
    accel__deallocate(found);
    return true;
}

size_t accel__symbols_place(const accel__symbols *symbols, uintptr_t address)
{
    size_t low = 0;
    for (size_t high = symbols->count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (symbols->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
