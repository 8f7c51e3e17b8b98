/* features.c: see features.h. */
#include "backends/cpu/module/features.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "platform/scratch.h"

/* The compiler's macro beside the kernel's word for the same feature. */
static const char *const features[][2] = {
#if defined(__x86_64__)
    {"__SSE3__", "pni"},
    {"__SSSE3__", "ssse3"},
    {"__SSE4_1__", "sse4_1"},
    {"__SSE4_2__", "sse4_2"},
    {"__SSE4A__", "sse4a"},
    {"__POPCNT__", "popcnt"},
    {"__AVX__", "avx"},
    {"__AVX2__", "avx2"},
    {"__FMA__", "fma"},
    {"__FMA4__", "fma4"},
    {"__XOP__", "xop"},
    {"__TBM__", "tbm"},
    {"__F16C__", "f16c"},
    {"__BMI__", "bmi1"},
    {"__BMI2__", "bmi2"},
    {"__LZCNT__", "abm"},
    {"__MOVBE__", "movbe"},
    {"__GFNI__", "gfni"},
    {"__VAES__", "vaes"},
    {"__AVX512F__", "avx512f"},
    {"__AVX512CD__", "avx512cd"},
    {"__AVX512DQ__", "avx512dq"},
    {"__AVX512BW__", "avx512bw"},
    {"__AVX512VL__", "avx512vl"},
    {"__AVX512IFMA__", "avx512ifma"},
    {"__AVX512VBMI__", "avx512vbmi"},
    {"__AVX512VBMI2__", "avx512_vbmi2"},
    {"__AVX512VNNI__", "avx512_vnni"},
    {"__AVX512BITALG__", "avx512_bitalg"},
    {"__AVX512VPOPCNTDQ__", "avx512_vpopcntdq"},
    {"__AVX512BF16__", "avx512_bf16"},
    {"__AVX512FP16__", "avx512_fp16"},
    {"__AVXVNNI__", "avx_vnni"},
#elif defined(__aarch64__)
    {"__ARM_FEATURE_ATOMICS", "atomics"},
    {"__ARM_FEATURE_SVE", "sve"},
    {"__ARM_FEATURE_SVE2", "sve2"},
    {"__ARM_FEATURE_DOTPROD", "asimddp"},
    {"__ARM_FEATURE_FP16_VECTOR_ARITHMETIC", "asimdhp"},
    {"__ARM_FEATURE_BF16", "bf16"},
    {"__ARM_FEATURE_MATMUL_INT8", "i8mm"},
#endif
    {NULL, NULL},
};

void accel__cpu_append_needs(accel__text *text)
{
    accel__text_append_string(text, "\n#line 1 \"accel_cpu_needs\"\n"
                                    "__attribute__((visibility(\"default\"))) extern const char "
                                    "accel_cpu_needs[];\nconst char accel_cpu_needs[] = \"\"\n");
    for (size_t i = 0; features[i][0] != NULL; i++)
        accel__text_format(text, "#ifdef %s\n\" %s\"\n#endif\n", features[i][0], features[i][1]);
    accel__text_append_string(text, ";\n");
}

enum { CPUINFO_LIMIT = 16 << 20 };

/* The first processor's paragraph; "" where it cannot be read. False: no memory. */
static bool read_processor(accel__text *out_text)
{
    const int code = accel__read_file("/proc/cpuinfo", CPUINFO_LIMIT, out_text);
    if (out_text->failed)
        return false;
    char *end = code == 0 && out_text->data != NULL ? strstr(out_text->data, "\n\n") : NULL;
    if (end != NULL) {
        end[1] = '\0';
        out_text->size = (size_t)(end + 1 - out_text->data);
    } else if (code != 0) {
        accel__text_clear(out_text);
    }
    return true;
}

static uint64_t mix(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* Lines that stay as they are while the machine runs. */
static bool is_lasting(const char *line)
{
    static const char *const starts[] = {"vendor_id", "cpu family", "model\t", "stepping",
                                         "flags",     "Features",   "CPU ",    "isa"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(line, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

uint64_t accel__cpu_features_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325u;
    char capabilities[64]; /* all there is where the file cannot be read */
    const int size = snprintf(capabilities, sizeof capabilities, "%lx %lx", getauxval(AT_HWCAP),
                              getauxval(AT_HWCAP2));
    hash = mix(hash, capabilities, size > 0 ? (size_t)size : 0);
    accel__text text = {0};
    read_processor(&text);
    const char *line = accel__text_string(&text);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        if (is_lasting(line))
            hash = mix(hash, line, length);
        line += length + (line[length] == '\n');
    }
    accel__text_release(&text);
    return hash;
}

/* The words of the features line, with a blank before and after; NULL where there is none. */
static const char *features_line(const char *processor)
{
    const char *line = strstr(processor, "\nflags");
    if (line == NULL)
        line = strstr(processor, "\nFeatures");
    return line != NULL ? strchr(line, ':') : NULL;
}

static bool has_word(const char *line, const char *word, size_t size)
{
    for (const char *at = line; (at = strchr(at, ' ')) != NULL && at - line < (ptrdiff_t)1 << 16;) {
        at++;
        if (strncmp(at, word, size) == 0 && (at[size] == ' ' || at[size] == '\n'))
            return true;
    }
    return false;
}

bool accel__cpu_features_suffice(const char *needs, char *missing, size_t capacity)
{
    accel__text text = {0};
    read_processor(&text);
    const char *line = features_line(accel__text_string(&text));
    bool suffice = true;
    while (line != NULL && suffice) {
        needs += strspn(needs, " ");
        const size_t size = strcspn(needs, " ");
        if (size == 0)
            break;
        suffice = has_word(line, needs, size);
        if (!suffice && capacity != 0) {
            const size_t kept = size < capacity ? size : capacity - 1;
            memcpy(missing, needs, kept);
            missing[kept] = '\0';
        }
        needs += size;
    }
    accel__text_release(&text);
    return suffice;
}
