/* text_to_npy.c: reads "year,number" lines from standard input and writes the numbers to standard
 * output as a .npy array of float32. For the demo, so that it needs neither Python nor NumPy. */
#include <stdio.h>
#include <string.h>

enum { NUMBER_MAX = 4096, HEADER_SIZE = 128 };

/* The first 10 bytes are magic, version 1.0 and the length of the rest; blanks fill up to 128. */
static void make_header(char header[HEADER_SIZE], int count)
{
    memset(header, ' ', HEADER_SIZE);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used = snprintf(header + 10, HEADER_SIZE - 10,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", count);
    header[10 + used] = ' ';
    header[HEADER_SIZE - 1] = '\n';
}

int main(void)
{
    char line[128];
    char header[HEADER_SIZE];
    float numbers[NUMBER_MAX];
    int count = 0;
    int year;
    while (count < NUMBER_MAX && fgets(line, sizeof line, stdin) != NULL)
        if (sscanf(line, "%d,%f", &year, &numbers[count]) == 2)
            count++;
    if (count == 0 || !feof(stdin)) {
        fputs("text_to_npy: expected 1 to 4095 lines of YEAR,NUMBER\n", stderr);
        return 1;
    }
    make_header(header, count);
    fwrite(header, 1, sizeof header, stdout);
    fwrite(numbers, sizeof numbers[0], (size_t)count, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
