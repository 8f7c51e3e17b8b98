/* environment.c: see environment.h. */
#include "base/environment.h"

#include <stdlib.h>

const char *accel__environment_get(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *accel__environment_path(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool accel__environment_number(const char *name, uint64_t minimum, uint64_t maximum,
                               uint64_t fallback, uint64_t *out_value)
{
    *out_value = fallback;
    const char *value = accel__environment_get(name);
    if (value == NULL)
        return true;
    uint64_t number = 0;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*c - '0'), &number))
            return false;
    }
    if (number < minimum || number > maximum)
        return false;
    *out_value = number;
    return true;
}
