/* count_opencl.c: a program that accel is linked into. Prints the number of OpenCL devices, and for each
 * driver what became of it. */
#include <stdio.h>

#include <accel/accel.h>

int main(void)
{
    accel_backend opencl = ACCEL_BACKEND_NONE;
    accel_backend_report report = {.struct_size = sizeof report};
    if (accel_backend_find("opencl", &opencl) != ACCEL_OK ||
        accel_backend_get_report(opencl, &report) != ACCEL_OK)
        return 1;
    printf("%d\n", report.device_count);
    for (uint32_t i = 0; i < report.driver_count; i++) {
        accel_driver_report driver = {.struct_size = sizeof driver};
        if (accel_backend_get_driver_report(opencl, i, &driver) != ACCEL_OK)
            return 1;
        printf("%s %s %s\n", driver.name, accel_reason_name(driver.reason), driver.detail);
    }
    return 0;
}
