/* driver.c: stands in for libFuzzer where the compiler has none: runs each file of the corpus, then
 * mutations of them for some seconds. The order of inputs is the same in each run.
 *
 *   fuzz_NAME SECONDS LAST-INPUT CORPUS
 *
 * LAST-INPUT is a file that holds the input that was tried last, so that one which ends the process is
 * known: run the program with 0 seconds on a directory that has it alone. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 16, CORPUS_MAX = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input corpus[CORPUS_MAX];
static size_t corpus_count;
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
static const char *last_path;
static int last_file;
static uint8_t *last_data;

/* xorshift64* (Vigna 2016). */
static uint32_t draw(uint32_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

/* The data is handed over in a block of its very size, so that a step beyond it is seen. */
static void try_input(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size != 0 ? size : 1);
    if (exact == NULL)
        exit(2);
    if (size != 0)
        memcpy(exact, data, size);
    if (size != 0)
        memcpy(last_data, data, size);
    if (ftruncate(last_file, (off_t)size) != 0)
        exit(2);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    if (ftruncate(last_file, INPUT_MAX) != 0)
        exit(2);
}

/* ---- the corpus ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = name[0] != '.' && corpus_count < CORPUS_MAX ? fopen(path, "rb") : NULL;
    if (file == NULL)
        return;
    input *read = &corpus[corpus_count++];
    read->data = malloc(INPUT_MAX);
    if (read->data == NULL)
        exit(2);
    read->size = fread(read->data, 1, INPUT_MAX, file);
    fclose(file);
}

static void read_corpus(const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        read_file(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- mutations ---- */

static size_t remove_part(uint8_t *data, size_t size)
{
    const size_t begin = draw((uint32_t)size);
    const size_t count = 1 + draw((uint32_t)(size - begin));
    memmove(data + begin, data + begin + count, size - begin - count);
    return size - count;
}

/* A part of some input of the corpus, into the middle. */
static size_t insert_part(uint8_t *data, size_t size)
{
    const input *from = &corpus[draw((uint32_t)corpus_count)];
    if (from->size == 0)
        return size;
    const size_t begin = draw((uint32_t)from->size);
    size_t count = 1 + draw((uint32_t)(from->size - begin));
    count = count < INPUT_MAX - size ? count : INPUT_MAX - size;
    const size_t at = draw((uint32_t)size + 1);
    memmove(data + at + count, data + at, size - at);
    memcpy(data + at, from->data + begin, count);
    return size + count;
}

/* Bytes and numbers at which readers stumble. */
static size_t overwrite(uint8_t *data, size_t size)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, ' ', ',', ':', '[', ']', '-', '9', '.'};
    const size_t at = draw((uint32_t)size);
    const size_t count = (size_t)1 << draw(4);
    const uint8_t byte = odd[draw(sizeof odd)];
    for (size_t i = at; i < size && i < at + count; i++)
        data[i] = byte;
    return size;
}

static size_t mutate(uint8_t *data, size_t size)
{
    if (size == 0)
        return insert_part(data, size);
    switch (draw(5)) {
    case 0:
        return remove_part(data, size);
    case 1:
        return insert_part(data, size);
    case 2:
        return overwrite(data, size);
    case 3:
        data[draw((uint32_t)size)] ^= (uint8_t)(1u << draw(8));
        return size;
    default:
        data[draw((uint32_t)size)] = (uint8_t)draw(256);
        return size;
    }
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned long run_for(unsigned seconds)
{
    static uint8_t data[INPUT_MAX];
    const uint64_t end = now_ms() + UINT64_C(1000) * seconds;
    unsigned long count = 0;
    while (now_ms() < end) {
        const input *from = &corpus[draw((uint32_t)corpus_count)];
        size_t size = from->size;
        memcpy(data, from->data, size);
        for (uint32_t i = 1 + draw(6); i > 0; i--)
            size = mutate(data, size);
        try_input(data, size);
        count++;
    }
    return count;
}

static void open_last(void)
{
    last_file = open(last_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (last_file < 0 || ftruncate(last_file, INPUT_MAX) != 0)
        exit(2);
    last_data = mmap(NULL, INPUT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, last_file, 0);
    if (last_data == MAP_FAILED)
        exit(2);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s SECONDS LAST-INPUT CORPUS\n", argv[0]);
        return 2;
    }
    last_path = argv[2];
    open_last();
    read_corpus(argv[3]);
    if (corpus_count == 0) {
        fprintf(stderr, "%s: nothing in %s\n", argv[0], argv[3]);
        return 2;
    }
    for (size_t i = 0; i < corpus_count; i++)
        try_input(corpus[i].data, corpus[i].size);
    const unsigned long count = run_for((unsigned)strtoul(argv[1], NULL, 10));
    printf("%zu inputs of the corpus and %lu mutations of them\n", corpus_count, count);
    munmap(last_data, INPUT_MAX);
    close(last_file);
    for (size_t i = 0; i < corpus_count; i++)
        free(corpus[i].data);
    return 0;
}
