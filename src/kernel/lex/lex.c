/* lex.c: see lex/lex.h. Reading ahead is safe without tests for the end: the text ends with a newline,
 * which no token contains, and a NUL behind it. */
#include "kernel/lex/lex.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

bool accel__token_is(const accel__token *token, const char *punctuator_or_name)
{
    return (token->kind == ACCEL__TOKEN_PUNCTUATOR || token->kind == ACCEL__TOKEN_IDENTIFIER) &&
           strlen(punctuator_or_name) == token->size &&
           memcmp(token->text, punctuator_or_name, token->size) == 0;
}

/* ---- phases 1 and 2 ---- */

/* The size of the line end at `bytes` (CR LF, LF or CR), 0 where there is none. */
static size_t line_end_size(const char *bytes, size_t size)
{
    if (size == 0 || (bytes[0] != '\n' && bytes[0] != '\r'))
        return 0;
    return bytes[0] == '\r' && size > 1 && bytes[1] == '\n' ? 2 : 1;
}

/* The size of a backslash and the line end, or the end of the text, behind it. Blanks between them
 * are let pass, as every compiler does. 0: no continuation. */
static size_t continuation_size(const char *bytes, size_t size)
{
    size_t at = 1;
    while (at < size && is_blank(bytes[at]))
        at++;
    const size_t end = line_end_size(bytes + at, size - at);
    return end != 0 || at == size ? at + end : 0;
}

static size_t count_byte(const char *bytes, size_t size, char wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == wanted;
    return count;
}

/* Fills lexer->text (room for size + 2 bytes) and the splices (room for each backslash). */
static void join_lines(accel__lexer *lexer, char *text, uint32_t *splices, const char *bytes,
                       size_t size)
{
    size_t out = 0;
    for (size_t i = 0; i < size;) {
        const size_t end = line_end_size(bytes + i, size - i);
        const size_t joined = bytes[i] == '\\' ? continuation_size(bytes + i, size - i) : 0;
        if (joined != 0)
            splices[lexer->splice_count++] = (uint32_t)out;
        else
            text[out++] = end != 0 ? '\n' : bytes[i];
        i += joined != 0 ? joined : end != 0 ? end : 1;
    }
    if (out == 0 || text[out - 1] != '\n')
        text[out++] = '\n';
    lexer->text = text;
    lexer->size = out;
    lexer->splices = splices;
}

accel__lex_opened accel__lexer_open(accel__lexer *lexer, accel__arena *arena, const char *bytes,
                                    size_t size)
{
    *lexer = (accel__lexer){.line = 1};
    const char *nul = size != 0 ? memchr(bytes, '\0', size) : NULL;
    if (nul != NULL) {
        lexer->line += (uint32_t)count_byte(bytes, (size_t)(nul - bytes), '\n');
        return ACCEL__LEX_OPENED_NUL;
    }
    if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) { /* the UTF-8 byte order mark */
        bytes += 3;
        size -= 3;
    }
    char *text = accel__arena_take(arena, size + 2);
    uint32_t *splices = accel__arena_take(arena, count_byte(bytes, size, '\\') * sizeof(uint32_t));
    if (text == NULL || splices == NULL)
        return ACCEL__LEX_OPENED_NO_MEMORY;
    join_lines(lexer, text, splices, bytes, size);
    return ACCEL__LEX_OPENED;
}

/* ---- phase 3 ---- */

/* Brings the line up to date with the continuation lines passed on the way to `at`. */
static void count_splices(accel__lexer *lexer)
{
    while (lexer->next_splice < lexer->splice_count &&
           lexer->splices[lexer->next_splice] <= lexer->at) {
        lexer->next_splice++;
        lexer->line++;
    }
}

static bool at_end(const accel__lexer *lexer)
{
    return lexer->at >= lexer->size;
}

/* Past a block comment; false where it has no end. */
static bool skip_block_comment(accel__lexer *lexer)
{
    for (lexer->at += 2; !at_end(lexer); lexer->at++) {
        const char *here = lexer->text + lexer->at;
        if (here[0] == '*' && here[1] == '/') {
            lexer->at += 2;
            return true;
        }
        lexer->line += here[0] == '\n';
    }
    return false;
}

/* Past blanks and comments, noting them in out_token. False: a comment without an end, whose line
 * is then in out_token. */
static bool skip_space(accel__lexer *lexer, accel__token *out_token)
{
    while (!at_end(lexer)) {
        const char *here = lexer->text + lexer->at;
        if (is_blank(here[0])) {
            lexer->at++;
        } else if (here[0] == '/' && here[1] == '/') {
            const char *end = memchr(here, '\n', lexer->size - lexer->at);
            lexer->at = (size_t)(end - lexer->text);
        } else if (here[0] == '/' && here[1] == '*') {
            count_splices(lexer);
            out_token->line = lexer->line;
            if (!skip_block_comment(lexer))
                return false;
        } else {
            break;
        }
        out_token->space_before = ACCEL__TOKEN_SPACE;
    }
    return true;
}

static size_t name_size(const char *text)
{
    size_t size = 1;
    while (is_name(text[size]))
        size++;
    return size;
}

static size_t number_size(const char *text)
{
    size_t size = 1;
    for (;;) {
        const char c = text[size];
        const bool exponent = c == 'e' || c == 'E' || c == 'p' || c == 'P';
        if (exponent && (text[size + 1] == '+' || text[size + 1] == '-'))
            size += 2;
        else if (is_name(c) || c == '.')
            size++;
        else
            return size;
    }
}

/* 0 where the closing quote is missing on this line. */
static size_t quoted_size(const char *text)
{
    const char quote = text[0];
    size_t size = 1;
    while (text[size] != quote) {
        if (text[size] == '\n')
            return 0;
        size += text[size] == '\\' && text[size + 1] != '\n' ? 2 : 1;
    }
    return size + 1;
}

static size_t non_ascii_size(const char *text)
{
    size_t size = 0;
    while ((unsigned char)text[size] >= 0x80)
        size++;
    return size;
}

typedef struct punctuator {
    const char *text;
    const char *meaning; /* what a digraph stands for */
} punctuator;

/* Longest first: the first match is the longest. */
static const punctuator punctuators[] = {
    {"%:%:", "##"}, {"...", "..."}, {"<<=", "<<="}, {">>=", ">>="}, {"->", "->"}, {"++", "++"},
    {"--", "--"},   {"<<", "<<"},   {">>", ">>"},   {"<=", "<="},   {">=", ">="}, {"==", "=="},
    {"!=", "!="},   {"&&", "&&"},   {"||", "||"},   {"*=", "*="},   {"/=", "/="}, {"%=", "%="},
    {"+=", "+="},   {"-=", "-="},   {"&=", "&="},   {"^=", "^="},   {"|=", "|="}, {"##", "##"},
    {"<:", "["},    {":>", "]"},    {"<%", "{"},    {"%>", "}"},    {"%:", "#"},
};

/* The size of the punctuator at `text`, 0 for none. Digraphs get their meaning's spelling: what
 * comes after us knows only one. */
static size_t punctuator_size(const char *text, accel__token *out_token)
{
    for (size_t i = 0; i < sizeof punctuators / sizeof punctuators[0]; i++) {
        const size_t size = strlen(punctuators[i].text);
        if (text[0] == punctuators[i].text[0] && strncmp(text, punctuators[i].text, size) == 0) {
            out_token->text = punctuators[i].meaning;
            out_token->size = (uint32_t)strlen(punctuators[i].meaning);
            return size;
        }
    }
    return text[0] != '\0' && strchr("[](){}.&*+-~!/%<>^|?:;=,#", text[0]) != NULL ? 1 : 0;
}

/* The kind and the size of the token at `text`. */
static size_t classify(const char *text, accel__token *out_token)
{
    const char c = text[0];
    size_t size = 0;
    out_token->text = text;
    if (c == '\n') {
        out_token->kind = ACCEL__TOKEN_NEWLINE;
        size = 1;
    } else if (is_name_start(c)) {
        out_token->kind = ACCEL__TOKEN_IDENTIFIER;
        size = name_size(text);
    } else if (is_digit(c) || (c == '.' && is_digit(text[1]))) {
        out_token->kind = ACCEL__TOKEN_NUMBER;
        size = number_size(text);
    } else if (c == '"' || c == '\'') {
        out_token->kind = c == '"' ? ACCEL__TOKEN_STRING : ACCEL__TOKEN_CHARACTER;
        size = quoted_size(text);
    } else if ((unsigned char)c < 0x80) {
        out_token->kind = ACCEL__TOKEN_PUNCTUATOR;
        size = punctuator_size(text, out_token);
    }
    if (size == 0) {
        out_token->kind = ACCEL__TOKEN_OTHER;
        size = (unsigned char)c < 0x80 ? 1 : non_ascii_size(text);
    }
    if (out_token->size == 0)
        out_token->size = (uint32_t)size;
    return size;
}

void accel__lexer_next(accel__lexer *lexer, accel__token *out_token)
{
    *out_token = (accel__token){.text = ""};
    if (!skip_space(lexer, out_token)) {
        out_token->kind = ACCEL__TOKEN_OPEN_COMMENT;
        return;
    }
    count_splices(lexer);
    out_token->line = lexer->line;
    if (at_end(lexer))
        return;
    lexer->at += classify(lexer->text + lexer->at, out_token);
    if (out_token->kind == ACCEL__TOKEN_NEWLINE)
        lexer->line++;
}

bool accel__lexer_header_name(accel__lexer *lexer, accel__token *out_token)
{
    *out_token = (accel__token){.kind = ACCEL__TOKEN_STRING};
    const accel__lexer before = *lexer;
    const bool closed = skip_space(lexer, out_token);
    const char *text = lexer->text + lexer->at;
    const char close = text[0] == '<' ? '>' : text[0] == '"' ? '"' : '\0';
    size_t size = 1;
    while (closed && close != '\0' && text[size] != close && text[size] != '\n')
        size++;
    if (!closed || close == '\0' || text[size] != close) {
        *lexer = before;
        return false;
    }
    count_splices(lexer);
    out_token->text = text;
    out_token->size = (uint32_t)size + 1;
    out_token->line = lexer->line;
    lexer->at += size + 1;
    return true;
}
