/* shape.c: see shape.h. Called by run. */
#include "cli/shape.h"

#include "cli/number.h"

enum { USUAL_BLOCK = 256 };

accel__exit accel__shape_parse(const char *text, const char *option, uint64_t values[3])
{
    const char *at = text;
    int count = 0;
    values[0] = values[1] = values[2] = 1;
    while (count < 3) {
        if (!accel__parse_digits(at, &values[count], &at))
            break;
        count++;
        if (*at != ',')
            break;
        at++;
    }
    if (count == 0 || *at != '\0' || at[-1] == ',')
        return accel__cli_misuse(
            "%s \"%.60s\" is not one to three whole numbers with commas; write it "
            "like %s 1024,16",
            option, text, option);
    return ACCEL__EXIT_OK;
}

/* The greatest divisor of `items` up to `limit`. */
static uint64_t greatest_divisor(uint64_t items, uint64_t limit)
{
    for (uint64_t divisor = limit; divisor > 1; divisor--)
        if (items % divisor == 0)
            return divisor;
    return 1;
}

static void pick_block(accel__shape *shape, const accel_device_capability *capability)
{
    uint64_t limit = USUAL_BLOCK;
    if (capability->max_block[0] < limit)
        limit = capability->max_block[0];
    if (capability->max_block_items < limit)
        limit = capability->max_block_items;
    shape->block[0] = shape->items[0] > 0 ? greatest_divisor(shape->items[0], limit) : 1;
    shape->block[1] = shape->block[2] = 1;
    shape->picked = true;
}

accel__exit accel__shape_resolve(accel__shape *shape, const accel_device_capability *capability,
                                 accel_launch_shape *out_launch)
{
    static const char axis[] = "xyz";
    if (shape->block[0] == 0 && shape->block[1] == 0 && shape->block[2] == 0)
        pick_block(shape, capability);
    for (int i = 0; i < 3; i++) {
        unsigned long long block = shape->block[i];
        unsigned long long items = shape->items[i];
        if (block == 0)
            return accel__cli_misuse("-l is 0 in %c; a block has at least one work-item", axis[i]);
        if (items % block != 0)
            return accel__cli_misuse(
                "-g %llu is not a multiple of -l %llu in %c; round it up and let "
                "the kernel leave out the rest, or choose another -l",
                items, block, axis[i]);
        if (block > capability->max_block[i])
            return accel__cli_fail(
                "-l %llu in %c is more than the device's %u; choose a smaller block", block,
                axis[i], capability->max_block[i]);
        out_launch->block[i] = (uint32_t)block;
        out_launch->grid[i] = items / block;
    }
    return ACCEL__EXIT_OK;
}
