/* config_fuzz.c: any text as settings of the allocators. What is read must make sense, and what is refused
 * must say where. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/config_parse.h"

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "config_fuzz: %s (%s)\n", what, accel_last_error_message());
    abort();
}

static void check_read(const accel__config *config)
{
    require(config->per_process_memory_fraction >= 0 && config->per_process_memory_fraction <= 1,
            "the fraction is in range");
    require(config->garbage_collection_threshold >= 0 && config->garbage_collection_threshold < 1,
            "the threshold is in range");
    require(config->max_split_size >= config->large_segment_size, "segments may be split");
    for (size_t size = 1; size < (size_t)1 << 40; size = size * 3 + 1) {
        const size_t rounded = accel__config_round(config, size);
        require(rounded >= size && rounded % 512 == 0, "rounding is up, and to whole units");
        require(rounded <= 2 * size || rounded == 512, "rounding is bounded");
    }
}

static void check_refused(size_t size)
{
    const char *message = accel_last_error_message();
    const char *at = strstr(message, ", at byte ");
    require(strncmp(message, "SOURCE: ", 8) == 0, "the message names the source");
    require(at != NULL, "the message names the place");
    const unsigned long byte = at != NULL ? strtoul(at + 10, NULL, 10) : 0;
    require(byte >= 1 && byte <= size + 1, "the place is in the text");
    for (const char *c = message; *c != '\0'; c++)
        require(*c >= 0x20 && *c < 0x7f, "the message can be printed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    accel__config config;
    uint64_t ignored = 0;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (accel__config_parse(text, "SOURCE", "function", &config, &ignored) == ACCEL_OK)
        check_read(&config);
    else
        check_refused(strlen(text));
    free(text);
    return 0;
}
