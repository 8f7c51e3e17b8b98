/* not_a_driver.c: a library without any function of OpenCL. */
__attribute__((visibility("default"))) int not_a_driver(void);

int not_a_driver(void)
{
    return 1;
}
