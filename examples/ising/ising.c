/* ising.c: the Ising model on a square lattice, whose exact solution is known: a graph of one sweep is
 * captured once and replayed thousands of times, with fresh random numbers each time, through twenty
 * temperatures. Energy and magnetisation must be Onsager's and Yang's, and the specific heat greatest at
 * the critical temperature. The lattice is the same, spin by spin, on every backend: the hash tells.
 *
 * Usage: ising FOLDER [SIDE [SWEEPS [PREFIX]]]
 *   FOLDER has ising.cl; SIDE: a multiple of 8 (256); SWEEPS at each temperature (500, so 10000 replays);
 *   PREFIX.pgm gets pictures of three lattices, PREFIX.svg the curves. */
#include <accel/accel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

enum { TEMPERATURES = 20, SIDE_MAX = 4096 };

static const double temperatures[TEMPERATURES] = {1.5,  1.7,  1.9,  2.0,  2.1,  2.15, 2.2,
                                                  2.23, 2.25, 2.27, 2.29, 2.31, 2.35, 2.4,
                                                  2.5,  2.6,  2.8,  3.0,  3.25, 3.5};
static const int shown[3] = {0, 9, 19}; /* whose lattices are drawn */

typedef struct lattice {
    uint32_t side;
    uint32_t sweeps; /* at each temperature */
    void *spins[2];  /* black, white: side * side / 2 bytes each */
    void *limits;
    void *step;
    void *totals; /* two for each sweep */
    accel_kernel *half_sweep;
    accel_kernel *measure;
    accel_kernel *next_step;
    accel_stream *stream;
    accel_generator *generator;
    accel_graph *graph;
} lattice;

static void check(accel_status status)
{
    if (status == ACCEL_OK)
        return;
    fprintf(stderr, "ising: %s\n", accel_last_error_message());
    exit(1);
}

static void *take(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        fputs("ising: no memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* ---- the device's side ---- */

static accel_module *compile(const char *folder, lattice *l)
{
    char path[4096];
    static char source[16384];
    accel_module *module = NULL;
    const accel_module_options options = {.struct_size = sizeof options, .file_name = "ising.cl"};
    snprintf(path, sizeof path, "%s/ising.cl", folder);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    const size_t size = fread(source, 1, sizeof source, file);
    fclose(file);
    check(accel_module_create_from_source(ACCEL_DEVICE_CURRENT, source, size, &options, &module));
    check(accel_module_get_kernel(module, "half_sweep", &l->half_sweep));
    check(accel_module_get_kernel(module, "measure", &l->measure));
    check(accel_module_get_kernel(module, "next_step", &l->next_step));
    return module;
}

/* All spins up, nothing measured. */
static void allocate(lattice *l)
{
    static const unsigned char up = 1;
    const size_t half = (size_t)l->side * l->side / 2;
    const size_t totals = (size_t)TEMPERATURES * l->sweeps * 2 * sizeof(uint32_t);
    for (int colour = 0; colour < 2; colour++) {
        check(accel_memory_alloc(l->stream, half, NULL, &l->spins[colour]));
        check(accel_fill(l->spins[colour], &up, 1, half, l->stream));
    }
    check(accel_memory_alloc(l->stream, 5 * sizeof(uint32_t), NULL, &l->limits));
    check(accel_memory_alloc(l->stream, sizeof(uint32_t), NULL, &l->step));
    check(accel_fill(l->step, "", 1, sizeof(uint32_t), l->stream));
    check(accel_memory_alloc(l->stream, totals, NULL, &l->totals));
    check(accel_fill(l->totals, "", 1, totals, l->stream));
}

static void launch(const lattice *l, accel_kernel *kernel, uint32_t items,
                   const accel_kernel_arg *args, uint32_t count)
{
    const accel_launch_shape shape = {{(items + 63) / 64, 1, 1}, {items < 64 ? items : 64, 1, 1}};
    check(accel_kernel_launch(kernel, l->stream, &shape, args, count));
}

/* A sweep: fresh words for each colour, from the generator, by way of the graph's cells. */
static void queue_sweep(const lattice *l)
{
    const uint32_t half = l->side * l->side / 2;
    for (uint32_t colour = 0; colour < 2; colour++) {
        accel_random_reservation words = {.struct_size = sizeof words};
        check(accel_random_reserve(l->generator, l->stream, half, &words));
        const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(words.seed),
                                         ACCEL_ARG_VALUE(words.offset),
                                         ACCEL_ARG_VALUE(words.from_cells),
                                         ACCEL_ARG_POINTER(words.cells),
                                         ACCEL_ARG_POINTER(l->limits),
                                         ACCEL_ARG_POINTER(l->spins[colour]),
                                         ACCEL_ARG_POINTER(l->spins[1 - colour]),
                                         ACCEL_ARG_VALUE(l->side),
                                         ACCEL_ARG_VALUE(colour)};
        launch(l, l->half_sweep, half / 4, args, 9);
    }
    const accel_kernel_arg measured[] = {ACCEL_ARG_POINTER(l->spins[0]),
                                         ACCEL_ARG_POINTER(l->spins[1]), ACCEL_ARG_POINTER(l->step),
                                         ACCEL_ARG_POINTER(l->totals), ACCEL_ARG_VALUE(l->side)};
    launch(l, l->measure, (half / 8 + 63) / 64 * 64, measured, 5);
    const accel_kernel_arg counted[] = {ACCEL_ARG_POINTER(l->step)};
    launch(l, l->next_step, 1, counted, 1);
}

/* exp(-4 / T) and exp(-8 / T) for three and four agreeing neighbours, as shares of 2^32. */
static void set_temperature(const lattice *l, double temperature)
{
    uint32_t limits[5] = {0};
    for (int agreeing = 3; agreeing <= 4; agreeing++)
        limits[agreeing] = (uint32_t)(exp((8 - 4 * agreeing) / temperature) * 0x1p32);
    check(accel_copy(l->limits, limits, sizeof limits, l->stream));
    check(accel_stream_synchronize(l->stream));
}

/* The lattice as rows of side bytes. */
static void fetch(const lattice *l, unsigned char *sites)
{
    const size_t half = (size_t)l->side * l->side / 2;
    unsigned char *colours = take(2 * half);
    for (int colour = 0; colour < 2; colour++)
        check(accel_copy(colours + (size_t)colour * half, l->spins[colour], half, l->stream));
    check(accel_stream_synchronize(l->stream));
    for (uint32_t row = 0; row < l->side; row++)
        for (uint32_t x = 0; x < l->side; x++)
            sites[(size_t)row * l->side + x] =
                colours[((row + x) % 2) * half + (size_t)row * (l->side / 2) + x / 2];
    free(colours);
}

/* ---- the exact solution ---- */

static double elliptic_integral(
    double k) /* complete, first kind: by the arithmetic-geometric mean */
{
    double a = 1;
    double b = sqrt(1 - k * k);
    for (int i = 0; i < 40; i++) {
        const double mean = (a + b) / 2;
        b = sqrt(a * b);
        a = mean;
    }
    return acos(-1.0) / (2 * a);
}

/* Onsager, 1944: energy per site. */
static double exact_energy(double temperature)
{
    const double x = 2 / temperature;
    const double k = 2 * sinh(x) / (cosh(x) * cosh(x));
    const double t = 2 * tanh(x) * tanh(x) - 1;
    return -1 / tanh(x) * (1 + 2 / acos(-1.0) * t * elliptic_integral(k));
}

/* Yang, 1952. */
static double exact_magnetisation(double temperature)
{
    const double s = sinh(2 / temperature);
    return s > 1 ? pow(1 - pow(s, -4), 0.125) : 0;
}

/* ---- what was measured ---- */

/* Means over the last three fifths of the sweeps at a temperature. */
static point summarise(const lattice *l, const uint32_t *totals, int index)
{
    const double sites = (double)l->side * l->side;
    const uint32_t begin = l->sweeps * 2 / 5;
    double magnetisation = 0;
    double energy = 0;
    double square = 0;
    for (uint32_t i = begin; i < l->sweeps; i++) {
        const uint32_t *one = totals + 2 * ((size_t)index * l->sweeps + i);
        const double e = 2 - 2 * (double)one[1] / sites; /* of 2 bonds a site */
        magnetisation += fabs(2 * (double)one[0] / sites - 1);
        energy += e;
        square += e * e;
    }
    const double kept = l->sweeps - begin;
    const double t = temperatures[index];
    const point result = {.temperature = t,
                          .energy = energy / kept,
                          .magnetisation = magnetisation / kept,
                          .heat = (square / kept - energy / kept * energy / kept) * sites / (t * t),
                          .exact_energy = exact_energy(t),
                          .exact_magnetisation = exact_magnetisation(t)};
    return result;
}

static bool judge(const lattice *l, const point *points)
{
    const double critical = 2 / log(1 + sqrt(2));
    const double tolerance = 40 / (l->side * sqrt(l->sweeps * 0.6));
    int warmest = 0;
    bool good = true;
    printf("  T      energy    exact     |m|     exact   heat\n");
    for (int i = 0; i < TEMPERATURES; i++) {
        const point *p = &points[i];
        const bool near = fabs(p->temperature - critical) < 0.1; /* sweeps forget slowly there */
        const bool fits = fabs(p->energy - p->exact_energy) < tolerance &&
                          (p->temperature > critical ||
                           fabs(p->magnetisation - p->exact_magnetisation) < tolerance);
        printf("%.3f  %8.5f %8.5f  %7.5f %7.5f  %6.3f%s\n", p->temperature, p->energy,
               p->exact_energy, p->magnetisation, p->exact_magnetisation, p->heat,
               near   ? "  near the critical point"
               : fits ? ""
                      : "  WRONG");
        good = good && (near || fits);
        warmest = p->heat > points[warmest].heat ? i : warmest;
    }
    const double found = points[warmest].temperature;
    printf("Specific heat is greatest at T = %.2f; the critical temperature is %.4f\n", found,
           critical);
    return good && fabs(found - critical) < 0.1;
}

static uint64_t hash(uint64_t begin, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        begin = (begin ^ bytes[i]) * UINT64_C(0x100000001b3);
    return begin;
}

/* ---- the run ---- */

static void run(lattice *l, uint32_t *totals, unsigned char *pictures)
{
    const size_t sites = (size_t)l->side * l->side;
    accel_graph_scope scope;
    check(accel_graph_create(ACCEL_DEVICE_CURRENT, NULL, &l->graph));
    check(accel_graph_scope_begin(l->graph, l->stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    queue_sweep(l);
    check(accel_graph_scope_end(&scope));
    for (int i = 0; i < TEMPERATURES; i++) {
        set_temperature(l, temperatures[i]);
        for (uint32_t sweep = 0; sweep < l->sweeps; sweep++)
            check(accel_graph_replay(l->graph, l->stream));
        for (int j = 0; j < 3; j++)
            if (shown[j] == i)
                fetch(l, pictures + (size_t)j * sites);
    }
    const size_t size = (size_t)TEMPERATURES * l->sweeps * 2 * sizeof *totals;
    check(accel_copy(totals, l->totals, size, l->stream));
    check(accel_stream_synchronize(l->stream));
}

static bool report(const lattice *l, const uint32_t *totals, const unsigned char *pictures,
                   const char *prefix)
{
    point points[TEMPERATURES];
    const size_t sites = (size_t)l->side * l->side;
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), pictures, 3 * sites);
    sum = hash(sum, totals, (size_t)TEMPERATURES * l->sweeps * 2 * sizeof *totals);
    for (int i = 0; i < TEMPERATURES; i++)
        points[i] = summarise(l, totals, i);
    const bool good = judge(l, points);
    printf("Hash of all spins and sums, the same on every backend: %016llx\n",
           (unsigned long long)sum);
    return (prefix == NULL || (picture_lattices(prefix, pictures, l->side) &&
                               picture_curves(prefix, points, TEMPERATURES))) &&
           good;
}

static void release(lattice *l, accel_module *module)
{
    void *memory[] = {l->spins[0], l->spins[1], l->limits, l->step, l->totals};
    accel_graph_release(l->graph);
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        check(accel_memory_free(memory[i]));
    accel_module_release(module);
    accel_generator_release(l->generator);
    accel_stream_release(l->stream);
}

int main(int argc, char **argv)
{
    lattice l = {.side = 256, .sweeps = 500};
    accel_device_info info = {.struct_size = sizeof info};
    if (argc > 2)
        l.side = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        l.sweeps = (uint32_t)strtoul(argv[3], NULL, 10);
    if (argc < 2 || argc > 5 || l.side < 8 || l.side > SIDE_MAX || l.side % 8 != 0 ||
        l.sweeps < 10 || l.sweeps > 1000000) {
        fputs("usage: ising FOLDER [SIDE [SWEEPS [PREFIX]]]\n", stderr);
        return 2;
    }
    check(accel_device_describe(ACCEL_DEVICE_CURRENT, &info));
    printf("%u x %u spins, %u sweeps, on %s\n", l.side, l.side, TEMPERATURES * l.sweeps, info.name);
    check(accel_stream_create(ACCEL_DEVICE_CURRENT, NULL, &l.stream));
    check(accel_generator_create(ACCEL_DEVICE_CURRENT, &l.generator));
    accel_module *module = compile(argv[1], &l);
    allocate(&l);
    uint32_t *totals = take((size_t)TEMPERATURES * l.sweeps * 2 * sizeof *totals);
    unsigned char *pictures = take((size_t)l.side * l.side * 3);
    run(&l, totals, pictures);
    const bool good = report(&l, totals, pictures, argc > 4 ? argv[4] : NULL);
    release(&l, module);
    free(totals);
    free(pictures);
    return good ? 0 : 1;
}
