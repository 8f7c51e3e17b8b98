/* probe_double.c: accel-probe with one backend more, whose drivers misbehave to order. */
#include "core/registry.h"
#include "doubles/driver_backend.h"

int accel_probe_main(int count, char **arguments);

int main(int count, char **arguments)
{
    const accel_backend_table table = driver_table();
    if (accel__registry_add(&table, NULL) != ACCEL_OK)
        return 3;
    return accel_probe_main(count, arguments);
}
