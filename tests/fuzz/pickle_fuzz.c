/* pickle_fuzz.c: any bytes as a pickle: read or refused with a reason, in memory in proportion to the input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pickle.h"

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "pickle_fuzz: %s\n", what);
    abort();
}

/* Every value, to a depth: each must be of a kind, and what it holds readable. */
static size_t check_value(const accel__value *value, int depth, size_t budget)
{
    size_t steps = 1;
    require(value != NULL && value->kind <= ACCEL__VALUE_DICTIONARY, "a value is of a kind");
    if (value->kind == ACCEL__VALUE_TEXT || value->kind == ACCEL__VALUE_BYTES)
        require(value->as.text[value->count] == '\0', "a text ends");
    if (value->kind != ACCEL__VALUE_LIST && value->kind != ACCEL__VALUE_DICTIONARY)
        return steps;
    require(value->kind == ACCEL__VALUE_LIST || value->count % 2 == 0, "a key has a value");
    for (size_t i = 0; depth > 0 && steps < budget && i < value->count; i++)
        steps += check_value(value->as.items[i], depth - 1, budget - steps);
    return steps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    accel__value_store store = {0};
    accel__snapshot_problem problem = {""};
    accel__value *value = NULL;
    if (accel__pickle_read(data, size, &store, &value, &problem))
        check_value(value, 6, 100000);
    else
        require(value == NULL && strstr(problem.text, "; ") != NULL, "a refusal says what to do");
    require(store.total <= ((size_t)1 << 20) + size * 128, "memory is in proportion to the input");
    accel__value_store_release(&store);
    return 0;
}
