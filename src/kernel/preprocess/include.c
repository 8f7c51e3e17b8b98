/* include.c: #include and #pragma once. Files are read whole, and only regular ones: a
 * pipe or a device would hang the build. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/array.h"
#include "kernel/preprocess/internal.h"

/* ---- reading ---- */

/* Everything of the descriptor, at most the limit and a byte more. 0 or an errno value. */
static int read_all(int descriptor, accel__text *out_text)
{
    char block[16 * 1024];
    for (;;) {
        const ssize_t got = read(descriptor, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        accel__text_append(out_text, block, (size_t)got);
        if (out_text->failed)
            return ENOMEM;
        if (got == 0 || out_text->size > accel__preprocess_limit.text)
            return 0;
    }
}

/* 0 or an errno value; EINVAL stands for a file that is not regular. */
static int read_file(const char *path, accel__text *out_text, accel__file_identity *out_identity)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return errno;
    struct stat status;
    int code = fstat(descriptor, &status) != 0 ? errno : 0;
    if (code == 0 && S_ISDIR(status.st_mode))
        code = EISDIR;
    else if (code == 0 && !S_ISREG(status.st_mode))
        code = EINVAL;
    if (code == 0) {
        *out_identity = (accel__file_identity){.device = status.st_dev, .inode = status.st_ino};
        code = read_all(descriptor, out_text);
    }
    close(descriptor);
    return code;
}

/* ---- #pragma once ---- */

static bool is_once(const accel__preprocessor *pp, const accel__file_identity *identity)
{
    for (size_t i = 0; i < pp->once_count; i++)
        if (pp->once[i].device == identity->device && pp->once[i].inode == identity->inode)
            return true;
    return false;
}

void accel__include_once(accel__preprocessor *pp)
{
    const accel__source *source = &pp->sources[pp->source_count - 1];
    void *once = pp->once;
    if (!source->has_identity || is_once(pp, &source->identity) ||
        !accel__pp_reserve(pp, &once, &pp->once_capacity, pp->once_count, sizeof *pp->once))
        return; /* the main text is no file: saying it there means nothing */
    pp->once = once;
    pp->once[pp->once_count++] = source->identity;
}

/* ---- the search ---- */

typedef struct search {
    accel__preprocessor *pp;
    const accel__token *directive;
    const char *name; /* between the delimiters */
    size_t size;
    accel__text path; /* the last one tried */
    accel__text content;
    accel__file_identity identity;
    bool failed; /* the file is there but cannot be read */
    bool is_embedded;
} search;

/* True: the search is over, with a file or with an error. `directory` NULL: the name is the path. */
static bool try_directory(search *now, const char *directory)
{
    accel__text_clear(&now->path);
    accel__text_clear(&now->content);
    if (directory != NULL) {
        accel__text_append_string(&now->path, directory);
        if (directory[0] != '\0' && directory[strlen(directory) - 1] != '/')
            accel__text_append_char(&now->path, '/');
    }
    accel__text_append(&now->path, now->name, now->size);
    if (now->path.failed) {
        accel__pp_out_of_memory(now->pp);
        return true;
    }
    const char *path = accel__text_string(&now->path);
    const int code = read_file(path, &now->content, &now->identity);
    if (code == ENOENT || code == ENOTDIR)
        return false;
    if (code == ENOMEM)
        accel__pp_out_of_memory(now->pp);
    else if (code == EINVAL)
        accel__pp_error(now->pp, now->directive, "cannot include %s: not a regular file", path);
    else if (code != 0)
        accel__pp_error(now->pp, now->directive, "cannot include %s: %s", path, strerror(code));
    now->failed = code != 0;
    return true;
}

static bool find(search *now, bool quoted)
{
    const accel__preprocessor *pp = now->pp;
    if (now->size > 0 && now->name[0] == '/')
        return try_directory(now, NULL);
    const char *beside = pp->sources[pp->source_count - 1].directory;
    if (quoted && beside != NULL && try_directory(now, beside))
        return true;
    for (uint32_t i = 0; pp->options != NULL && i < pp->options->include_path_count; i++)
        if (try_directory(now, pp->options->include_paths[i]))
            return true;
    return false;
}

/* The library's own headers for kernels, embedded by the build: they need no include path, and one that
 * a path has comes first. */
extern const unsigned char accel__philox_text[];
extern const unsigned long accel__philox_text_size;

static bool find_embedded(search *now)
{
    static const char name[] = "accel/philox.h";
    if (now->size != sizeof name - 1 || memcmp(now->name, name, now->size) != 0)
        return false;
    accel__text_clear(&now->path);
    accel__text_clear(&now->content);
    accel__text_append_string(&now->path, name);
    accel__text_append(&now->content, (const char *)accel__philox_text, accel__philox_text_size);
    if (now->path.failed || now->content.failed)
        accel__pp_out_of_memory(now->pp);
    now->identity = (accel__file_identity){0}; /* no file has that; it has a guard */
    now->is_embedded = true;
    return true;
}

/* The part of the path before the last slash, with it; "" where there is none. */
static const char *directory_of(accel__preprocessor *pp, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *kept = accel__arena_copy(pp->arena, path,
                                         slash != NULL ? (size_t)(slash - path) + 1 : 0);
    if (kept == NULL)
        accel__pp_out_of_memory(pp);
    return kept;
}

static void enter(search *now)
{
    accel__preprocessor *pp = now->pp;
    if (!now->is_embedded && is_once(pp, &now->identity))
        return;
    const char *path = accel__text_string(&now->path);
    const char *directory = directory_of(pp, path);
    if (directory == NULL || !accel__source_push(pp, accel__text_string(&now->content),
                                                 now->content.size, path, directory))
        return;
    accel__source *source = &pp->sources[pp->source_count - 1];
    source->identity = now->identity;
    source->has_identity = !now->is_embedded;
}

/* `name` with its delimiters. */
static void include(accel__preprocessor *pp, const accel__token *directive, const char *name,
                    size_t size)
{
    search now = {.pp = pp, .directive = directive, .name = name + 1, .size = size - 2};
    if (now.size == 0)
        accel__pp_error(pp, directive, "#include of an empty name");
    else if (pp->source_count > ACCEL__LIMIT_INCLUDE_DEPTH)
        accel__pp_error(pp, directive, "#include nested deeper than %d",
                        ACCEL__LIMIT_INCLUDE_DEPTH);
    else if (++pp->inclusions > ACCEL__LIMIT_INCLUSIONS)
        accel__pp_limit(pp, directive, "more than %d files included", ACCEL__LIMIT_INCLUSIONS);
    else if (!find(&now, name[0] == '"') && !find_embedded(&now))
        accel__pp_error(pp, directive, "cannot find the file %.*s to include", (int)size, name);
    else if (!now.failed && !pp->fatal)
        enter(&now);
    accel__text_release(&now.path);
    accel__text_release(&now.content);
}

/* ---- the directive ---- */

/* #include MACRO: what the line expands to is the name. */
static void include_expanded(accel__preprocessor *pp, const accel__token *directive)
{
    accel__token_list line = {0};
    accel__text name = {0};
    if (accel__expand_isolated(pp, pp->line.tokens, pp->line.count, &line) &&
        accel__pp_spell(pp, line.tokens, line.count, &name)) {
        const char *text = accel__text_string(&name);
        const bool quoted = line.count == 1 && line.tokens[0].kind == ACCEL__TOKEN_STRING;
        const bool angled = name.size > 2 && text[0] == '<' && text[name.size - 1] == '>';
        if (quoted || angled)
            include(pp, directive, text, name.size);
        else
            accel__pp_error(pp, directive, "#include needs \"file\" or <file>");
    }
    accel__text_release(&name);
    accel__pp_release_tokens(pp, &line);
}

void accel__include_obey(accel__preprocessor *pp, const accel__token *directive)
{
    accel__token name;
    accel__source *source = &pp->sources[pp->source_count - 1];
    const bool literal = accel__lexer_header_name(&source->lexer, &name);
    accel__source_read_line(pp); /* all of it, before another file lies on top */
    if (pp->fatal)
        return;
    if (pp->call_state == ACCEL__CALL_COLLECTING) {
        accel__pp_error(pp, directive, "#include inside the arguments of a macro");
        return;
    }
    if (!literal) {
        include_expanded(pp, directive);
        return;
    }
    if (pp->line.count > 0)
        accel__pp_warning(pp, directive, "something stands behind the file name");
    include(pp, directive, name.text, name.size);
}
