/* compile.c: makes shared objects of finished C text with the system's compiler. Everything happens in
 * a private directory that is gone when the call returns; the object travels in memory.
 *
 * Which compiler: ACCEL_CC, else $CC, gcc, clang, cc, looked up in the absolute entries of PATH.
 * gcc stands before clang: docs/architecture.md says why. The two
 * variables may hold more words: options, or a wrapper's compiler ("ccache gcc"). */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/cpu/module/features.h"
#include "backends/cpu/module/module.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"
#include "platform/library.h"
#include "platform/machine.h"
#include "platform/mutex.h"
#include "platform/process.h"
#include "platform/scratch.h"

static const char caller[] = "accel_module_create_from_source";

/* What the emitter's text needs (src/kernel/emit_cpu/emit_cpu.h). No contraction: a * b + c must give what it
 * gives elsewhere. No -fwrapv: with it int indices keep gcc from vectorising (saxpy 20 times slower). */
static const char *const flags[] = {
    "-x",
    "c",
    "-std=gnu17",
    "-O3",
    "-march=native",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-show-column",
};

enum {
    FLAG_COUNT = sizeof flags / sizeof flags[0],
    MAX_WORDS = 30,
    VERSION_SIZE = 256,
    MAX_ARGUMENTS = FLAG_COUNT + MAX_WORDS + 8,
    VERSION_TIMEOUT_MS = 10000,
    COMPILE_TIMEOUT_MS = 120000,
    COMPILE_MEMORY_MB = 8192,
    LEAST_MEMORY_MB = 1024,
    OBJECT_LIMIT = 256 << 20
};

static const char remedy[] = "install gcc or clang, set ACCEL_CC to a C compiler, or build the "
                             "kernel beforehand with `accel build`";

typedef struct compiler {
    char path[PATH_MAX];
    char distrust[256];           /* why one that was found is not run; "": none was */
    char text[1024];              /* the variable, cut into words */
    const char *words[MAX_WORDS]; /* what followed the program's name */
    size_t word_count;
} compiler;

/* ---- finding it ---- */

/* Cuts the variable into words at blanks; the first is the program's name. */
static const char *cut_words(compiler *found, const char *value)
{
    const char *name = NULL;
    char *rest = NULL;
    found->word_count = 0;
    const size_t size = strlen(value) + 1;
    if (size > sizeof found->text)
        return NULL;
    memcpy(found->text, value, size);
    for (char *word = strtok_r(found->text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (name == NULL)
            name = word;
        else if (found->word_count < MAX_WORDS)
            found->words[found->word_count++] = word;
    }
    return name;
}

static bool use_name(compiler *found, const char *name)
{
    if (accel__process_find(name, found->path, sizeof found->path))
        return true;
    if (found->distrust[0] == '\0')
        snprintf(found->distrust, sizeof found->distrust, "%.255s", found->path);
    return false;
}

/* A value that is a program as it stands may have blanks in its path. */
static bool use_value(compiler *found, const char *value)
{
    found->word_count = 0;
    if (use_name(found, value))
        return true;
    const char *name = cut_words(found, value);
    return name != NULL && use_name(found, name);
}

/* Looks for the compiler and says nothing. */
static bool locate(compiler *found)
{
    static const char *const names[] = {"gcc", "clang", "cc"};
    const char *wanted = accel__environment_path("ACCEL_CC");
    const char *usual = accel__environment_path("CC");
    found->distrust[0] = '\0';
    if (wanted != NULL)
        return use_value(found, wanted);
    if (usual != NULL && use_value(found, usual))
        return true;
    found->word_count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (use_name(found, names[i]))
            return true;
    return false;
}

bool accel__cpu_has_compiler(void)
{
    compiler found;
    return locate(&found);
}

/* What a good search passed over. */
static void warn_of_others(const compiler *found, const char *usual)
{
    if (found->distrust[0] != '\0')
        accel__log(ACCEL_LOG_LEVEL_WARNING, "cpu", "a compiler is passed over: %s",
                   found->distrust);
    else if (usual != NULL && !use_value(&(compiler){0}, usual))
        accel__log(ACCEL_LOG_LEVEL_WARNING, "cpu", "CC is \"%s\", which is no program: passed over",
                   usual);
}

static accel_status find_compiler(compiler *found)
{
    const char *wanted = accel__environment_path("ACCEL_CC");
    if (locate(found)) {
        warn_of_others(found, wanted == NULL ? accel__environment_path("CC") : NULL);
        return ACCEL_OK;
    }
    if (found->distrust[0] != '\0')
        return accel__fail(
            ACCEL_ERROR_NO_COMPILER, "cpu", caller,
            "the compiler is not run, since it may be another user's doing: %s; correct "
            "that, or let ACCEL_CC name another one (a script of your own may call it)",
            found->distrust);
    if (wanted != NULL)
        return accel__fail(ACCEL_ERROR_NO_COMPILER, "cpu", caller,
                           "ACCEL_CC is \"%s\", which is neither a program in PATH nor the "
                           "absolute path of one: correct it or unset it",
                           wanted);
    return accel__fail(ACCEL_ERROR_NO_COMPILER, "cpu", caller,
                       "no C compiler was found (looked for ACCEL_CC, CC, gcc, clang and cc): %s",
                       remedy);
}

/* ---- its command line ---- */

typedef struct command {
    char *arguments[MAX_ARGUMENTS];
    size_t count;
} command;

static void add(command *made, const char *argument)
{
    made->arguments[made->count++] = (char *)argument; /* exec does not write to them */
}

/* A wrapper's compiler stands before our flags. */
static void begin_command(command *made, const compiler *with)
{
    made->count = 0;
    add(made, with->path);
    for (size_t i = 0; i < with->word_count && with->words[i][0] != '-'; i++)
        add(made, with->words[i]);
}

/* Options of the user stand behind ours, where they win. */
static void add_flags(command *made, const compiler *with, const char *version)
{
    for (size_t i = 0; i < FLAG_COUNT; i++)
        add(made, flags[i]);
    add(made, strstr(version, "clang") != NULL ? "-fno-caret-diagnostics"
                                               : "-fno-diagnostics-show-caret");
    size_t first = 0;
    while (first < with->word_count && with->words[first][0] != '-')
        first++;
    for (size_t i = first; i < with->word_count; i++)
        add(made, with->words[i]);
}

/* False where it was cut. */
static bool print_command(const command *made, char *buffer, size_t capacity)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < made->count && used < capacity; i++)
        used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", i != 0 ? " " : "",
                                 made->arguments[i]);
    return used < capacity;
}

/* ---- its version, asked once ---- */

/* The last answer. `asked` is emptied before and set after a change, so that a fork in between leaves
 * the child nothing half written. */
static struct {
    accel__mutex mutex; /* guards the rest; a leaf: nothing is locked or called inside */
    char asked[PATH_MAX + 1200];
    char version[VERSION_SIZE];
} answer;

static bool recall(const char *identity, char *version, size_t capacity)
{
    accel__mutex_lock(&answer.mutex);
    const bool known = answer.asked[0] != '\0' && strcmp(answer.asked, identity) == 0;
    if (known)
        snprintf(version, capacity, "%s", answer.version);
    accel__mutex_unlock(&answer.mutex);
    return known;
}

static void remember(const char *identity, const char *version)
{
    accel__mutex_lock(&answer.mutex);
    answer.asked[0] = '\0';
    atomic_signal_fence(memory_order_seq_cst);
    snprintf(answer.version, sizeof answer.version, "%s", version);
    snprintf(answer.asked + 1, sizeof answer.asked - 1, "%s", identity + 1);
    atomic_signal_fence(memory_order_seq_cst);
    answer.asked[0] = identity[0];
    accel__mutex_unlock(&answer.mutex);
}

static accel_status start_failure(const char *path, int code)
{
    char text[128] = "";
    if (code == ENOMEM || code == EAGAIN || code == EMFILE || code == ENFILE)
        return accel__fail_errno(code, caller, "the compiler %s could not be started", path);
    return accel__fail_vendor(ACCEL_ERROR_NO_COMPILER, "cpu", caller, code,
                              strerror_r(code, text, sizeof text),
                              "the compiler %s could not be started (%s): %s", path,
                              strerror_r(code, text, sizeof text), remedy);
}

static uint32_t compile_timeout_ms(void)
{
    uint64_t number;
    if (!accel__environment_number("ACCEL_CC_TIMEOUT_MS", 1, UINT32_MAX, COMPILE_TIMEOUT_MS,
                                   &number))
        accel__log(ACCEL_LOG_LEVEL_WARNING, "cpu",
                   "ACCEL_CC_TIMEOUT_MS is no number of milliseconds: %d is used",
                   (int)COMPILE_TIMEOUT_MS);
    return (uint32_t)number;
}

/* A runaway compilation shall fail, and not take the machine with it: no more than it has. */
static uint64_t compile_memory_mb(void)
{
    uint64_t available = 0;
    uint64_t total = 0;
    uint64_t usual = COMPILE_MEMORY_MB;
    uint64_t number;
    if (accel__machine_memory(&available, &total) && total >> 20 < usual)
        usual = total >> 20 > LEAST_MEMORY_MB ? total >> 20 : LEAST_MEMORY_MB;
    if (!accel__environment_number("ACCEL_CC_MEMORY_MB", 1, UINT32_MAX, usual, &number))
        accel__log(ACCEL_LOG_LEVEL_WARNING, "cpu",
                   "ACCEL_CC_MEMORY_MB is no number of mebibytes: %llu is used",
                   (unsigned long long)usual);
    return number;
}

/* The first line of --version: with the file's date it tells one compiler from another. */
static accel_status ask_version(const compiler *with, char *version, size_t capacity)
{
    struct stat about = {0};
    stat(with->path, &about);
    command asked;
    begin_command(&asked, with);
    char identity[sizeof answer.asked];
    print_command(&asked, identity, sizeof identity - 64);
    const size_t used = strlen(identity);
    snprintf(identity + used, sizeof identity - used, " %llu %lld %lld",
             (unsigned long long)about.st_ino, (long long)about.st_mtim.tv_sec,
             (long long)about.st_size);
    if (recall(identity, version, capacity))
        return ACCEL_OK;
    add(&asked, "--version");
    add(&asked, NULL);
    accel__text said = {0};
    accel__process_result result;
    accel__process_limits limits = {.timeout_ms = compile_timeout_ms()};
    if (limits.timeout_ms > VERSION_TIMEOUT_MS)
        limits.timeout_ms = VERSION_TIMEOUT_MS;
    const bool started = accel__process_run(with->path, asked.arguments, NULL, &limits, &said,
                                            &result);
    const char *line = accel__text_string(&said);
    snprintf(version, capacity, "%.*s %lld %lld", (int)strcspn(line, "\n") % 128, line,
             (long long)about.st_mtim.tv_sec, (long long)about.st_size);
    const bool lost = said.failed;
    accel__text_release(&said);
    if (!started)
        return start_failure(with->path, result.start_error);
    if (lost)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", caller,
                           "no memory for the compiler's version");
    if (result.timed_out)
        return accel__fail(ACCEL_ERROR_NO_COMPILER, "cpu", caller,
                           "the compiler %s did not answer --version in %u ms: %s", with->path,
                           limits.timeout_ms, remedy);
    remember(identity, version);
    return ACCEL_OK;
}

accel_status accel__cpu_compiler_key(accel_native_device *device, char *buffer, size_t capacity)
{
    (void)device;
    compiler with;
    char version[VERSION_SIZE];
    accel_status status = find_compiler(&with);
    if (status == ACCEL_OK)
        status = ask_version(&with, version, sizeof version);
    if (status != ACCEL_OK)
        return status;
    command made;
    begin_command(&made, &with);
    add_flags(&made, &with, version);
    const int size = snprintf(buffer, capacity, "abi %d features %016llx version %s command ",
                              ACCEL_CPU_ABI, (unsigned long long)accel__cpu_features_hash(),
                              version);
    if (size > 0 && (size_t)size < capacity &&
        print_command(&made, buffer + size, capacity - (size_t)size))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_NO_COMPILER, "cpu", caller,
                       "the compiler's command is longer than %zu bytes", capacity);
}

/* ---- compiling ---- */

/* One compilation; lives on the stack of accel__cpu_compile. */
typedef struct job {
    compiler with;
    char version[VERSION_SIZE];
    command made;
    accel__scratch scratch;
    char source[sizeof((accel__scratch *)0)->path + 16];
    char object[sizeof((accel__scratch *)0)->path + 16];
    char printed[2048]; /* the command, for messages */
    const accel_backend_build *build;
} job;

static void make_command(job *now)
{
    command *made = &now->made;
    begin_command(made, &now->with);
    add_flags(made, &now->with, now->version);
    add(made, "-o");
    add(made, now->object);
    add(made, now->source);
    add(made, "-lm");
    print_command(made, now->printed, sizeof now->printed);
    add(made, NULL);
}

static accel_status write_source(job *now, const char *text, size_t size)
{
    int code = accel__scratch_create(&now->scratch, NULL);
    accel__text whole = {0};
    if (code == 0) {
        accel__scratch_path(&now->scratch, "kernel.c", now->source, sizeof now->source);
        accel__scratch_path(&now->scratch, "kernel.so", now->object, sizeof now->object);
        accel__text_append(&whole, text, size);
        accel__cpu_append_needs(&whole);
        code = whole.failed ? ENOMEM : accel__write_file(now->source, 0600, whole.data, whole.size);
    }
    accel__text_release(&whole);
    return code == 0
               ? ACCEL_OK
               : accel__fail_errno(code, caller,
                                   "the kernel's text cannot be written for the compiler "
                                   "(TMPDIR, else /tmp; not where other users may rename it)");
}

/* Says in the log and in the record how the compiler failed. */
__attribute__((format(printf, 2, 3))) static accel_status build_failure(job *now,
                                                                        const char *format, ...)
{
    char what[192];
    char line[sizeof what + sizeof now->printed + 32];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    const int size = snprintf(line, sizeof line, "accel: error: %s: %s\n", what, now->printed);
    now->build->log(now->build->user, line, size > 0 ? (size_t)size : 0);
    return accel__fail(ACCEL_ERROR_BUILD_FAILED, "cpu", caller, "%s: %s", what, now->printed);
}

/* The object, whole or not at all: whoever takes our exit statuses (SIGCHLD ignored) leaves only the
 * object itself to go by. */
static accel_status hand_over(job *now)
{
    accel__text object = {0};
    const char *fault = "";
    accel_status status;
    const int code = accel__read_file(now->object, OBJECT_LIMIT, &object);
    if (code == ENOENT)
        status = build_failure(now, "the compiler made no object");
    else if (code != 0)
        status = accel__fail_errno(code, caller, "the compiled object cannot be read");
    else if (!accel__library_check(accel__text_string(&object), object.size, &fault))
        status = build_failure(now, "the compiler's object of %zu bytes cannot be used: %s",
                               object.size, fault);
    else {
        now->build->object(now->build->user, object.data, object.size);
        status = ACCEL_OK;
    }
    accel__text_release(&object);
    return status;
}

/* Whether a compiler that failed says that memory was short, in the words of gcc, clang, ld and libc. */
static bool tells_of_memory(const accel__text *said)
{
    static const char *const words[] = {"out of memory", "memory exhausted", "bad_alloc",
                                        "Cannot allocate memory"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(accel__text_string(said), words[i]) != NULL)
            return true;
    return false;
}

static accel_status run_compiler(job *now)
{
    const uint64_t memory_mb = compile_memory_mb();
    const accel__process_limits limits = {.timeout_ms = compile_timeout_ms(),
                                          .memory_bytes = memory_mb << 20};
    accel__log(ACCEL_LOG_LEVEL_DEBUG, "cpu", "%s", now->printed);
    accel__text said = {0};
    accel__process_result result;
    const bool started = accel__process_run(now->with.path, now->made.arguments, now->scratch.path,
                                            &limits, &said, &result);
    if (said.size != 0)
        now->build->log(now->build->user, said.data, said.size);
    const bool was_short = tells_of_memory(&said);
    accel__text_release(&said);
    if (!started)
        return start_failure(now->with.path, result.start_error);
    if (result.timed_out)
        return build_failure(now, "the compiler was stopped after %u ms (ACCEL_CC_TIMEOUT_MS)",
                             limits.timeout_ms);
    if (was_short && (result.signal != 0 || result.exit_status != 0))
        return build_failure(now,
                             "the compiler ran out of memory: it may have %llu MiB "
                             "(ACCEL_CC_MEMORY_MB)",
                             (unsigned long long)memory_mb);
    if (result.signal != 0)
        return build_failure(now, "the compiler was ended by signal %d (%s)", result.signal,
                             strsignal(result.signal));
    if (result.exit_status != 0)
        return build_failure(now, "the compiler failed with status %d", result.exit_status);
    return hand_over(now);
}

accel_status accel__cpu_compile(accel_native_device *device, const char *text, size_t size,
                                const accel_backend_build *build)
{
    (void)device;
    job now = {.build = build};
    accel_status status = find_compiler(&now.with);
    if (status == ACCEL_OK)
        status = ask_version(&now.with, now.version, sizeof now.version);
    if (status == ACCEL_OK)
        status = write_source(&now, text, size);
    if (status == ACCEL_OK) {
        make_command(&now);
        status = run_compiler(&now);
    }
    accel__scratch_remove(&now.scratch);
    return status;
}
