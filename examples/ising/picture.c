/* picture.c: see picture.h. */
#include "picture.h"

#include <stdio.h>

enum {
    GAP = 8,
    WIDTH = 640,
    HEIGHT = 400,
    LEFT = 50,
    TOP = 20,
    PLOT_WIDTH = 570,
    PLOT_HEIGHT = 330
};

static FILE *open_file(const char *prefix, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", prefix, ending);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        perror(path);
    return file;
}

static bool close_file(FILE *file)
{
    const bool good = ferror(file) == 0;
    if (fclose(file) == 0 && good)
        return true;
    perror("writing a picture");
    return false;
}

bool picture_lattices(const char *prefix, const unsigned char *lattices, uint32_t side)
{
    FILE *file = open_file(prefix, ".pgm");
    if (file == NULL)
        return false;
    fprintf(file, "P5\n%u %u\n255\n", 3 * side + 2 * GAP, side);
    for (uint32_t row = 0; row < side; row++)
        for (uint32_t which = 0; which < 3; which++) {
            const unsigned char *sites = lattices + ((size_t)which * side + row) * side;
            for (uint32_t x = 0; x < side; x++)
                fputc(sites[x] != 0 ? 230 : 40, file);
            for (uint32_t x = 0; x < GAP && which < 2; x++)
                fputc(255, file);
        }
    return close_file(file);
}

/* ---- curves: temperature 1.5 to 3.5; magnetisation 0 to 1; energy -2 to 0 ---- */

static double at_x(double temperature)
{
    return LEFT + (temperature - 1.5) / 2 * PLOT_WIDTH;
}

static double at_y(double part)
{
    return TOP + (1 - part) * PLOT_HEIGHT;
}

static double magnetisation_part(const point *p, bool exact)
{
    return exact ? p->exact_magnetisation : p->magnetisation;
}

static double energy_part(const point *p, bool exact)
{
    return ((exact ? p->exact_energy : p->energy) + 2) / 2;
}

static void curve(FILE *file, const point *points, int count, const char *colour,
                  double (*part)(const point *p, bool exact))
{
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
    for (int i = 0; i < count; i++)
        fprintf(file, "%.1f,%.1f ", at_x(points[i].temperature), at_y(part(&points[i], true)));
    fprintf(file, "\"/>\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
                at_x(points[i].temperature), at_y(part(&points[i], false)), colour);
}

static void axes(FILE *file)
{
    const double critical = 2.269185314213022;
    fprintf(file,
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"black\"/>\n",
            LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT);
    for (int i = 0; i <= 4; i++)
        fprintf(file, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%.1f</text>\n",
                at_x(1.5 + i * 0.5), TOP + PLOT_HEIGHT + 20, 1.5 + i * 0.5);
    for (int i = 0; i <= 4; i++)
        fprintf(file, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.2f</text>\n", LEFT - 6,
                at_y(i * 0.25) + 4, i * 0.25);
    fprintf(file,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"grey\" "
            "stroke-dasharray=\"4\"/>\n",
            at_x(critical), TOP, at_x(critical), TOP + PLOT_HEIGHT);
}

bool picture_curves(const char *prefix, const point *points, int count)
{
    FILE *file = open_file(prefix, ".svg");
    if (file == NULL)
        return false;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n",
            WIDTH, HEIGHT);
    axes(file);
    curve(file, points, count, "#c03030", magnetisation_part);
    curve(file, points, count, "#3050c0", energy_part);
    fprintf(file,
            "<text x=\"%d\" y=\"%d\" fill=\"#c03030\">magnetisation: Yang (line), accel "
            "(dots)</text>\n<text x=\"%d\" y=\"%d\" fill=\"#3050c0\">(energy + 2) / 2: Onsager, "
            "accel</text>\n<text x=\"%d\" y=\"%d\">temperature; dashed: critical</text>\n"
            "</svg>\n",
            LEFT + 320, TOP + 60, LEFT + 320, TOP + 80, LEFT + 200, HEIGHT - 10);
    return close_file(file);
}
