/* consumer.c: a program outside the tree, built in C and in C++ against the installed accel. It fills
 * device memory on the device that accel chose, and checks what comes back. */
#include <accel/accel.h>

#include <stdio.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, accel_last_error_message());
    return 1;
}

int main(void)
{
    uint32_t numbers[64] = {0};
    const uint32_t pattern = 0x5eed5eed;
    void *memory = NULL;
    if (accel_version() !=
        ACCEL_VERSION_MAJOR * 10000u + ACCEL_VERSION_MINOR * 100u + ACCEL_VERSION_PATCH)
        return fail("headers and library differ");
    if (accel_memory_alloc(NULL, sizeof numbers, NULL, &memory) != ACCEL_OK)
        return fail("alloc");
    if (accel_fill(memory, &pattern, sizeof pattern, sizeof numbers, NULL) != ACCEL_OK ||
        accel_copy(numbers, memory, sizeof numbers, NULL) != ACCEL_OK ||
        accel_stream_synchronize(NULL) != ACCEL_OK)
        return fail("fill and copy");
    for (int i = 0; i < 64; i++)
        if (numbers[i] != pattern)
            return fail("wrong contents");
    if (accel_memory_free(memory) != ACCEL_OK)
        return fail("free");
    puts("consumer: right");
    return 0;
}
