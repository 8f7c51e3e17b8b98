/* call.c: one macro call: its arguments are collected, and its body is written out with
 * them. An argument beside # or ## is taken as written, elsewhere it is fully expanded first, once,
 * however often the body names it. */
#include <string.h>

#include "base/allocate.h"
#include "kernel/preprocess/internal.h"

typedef struct argument {
    accel__token_list written;
    accel__token_list expanded;
    bool is_expanded;
} argument;

typedef struct call {
    accel__preprocessor *pp;
    const accel__macro *macro;
    const accel__token *name;
    argument *arguments; /* one per parameter, at least one */
    uint32_t count;      /* arguments found, at least one */
    bool is_empty;       /* nothing stands between the parentheses */
} call;

/* ---- arguments ---- */

/* Puts one token of the call where it belongs. False: the call is complete, or failed. Arguments
 * too many are counted, not kept. */
static bool add_argument_token(call *made, const accel__token *token, uint32_t *depth)
{
    const accel__macro *macro = made->macro;
    const bool outermost = *depth == 0;
    if (outermost && accel__token_is(token, ")"))
        return false;
    if (accel__token_is(token, "("))
        ++*depth;
    else if (accel__token_is(token, ")"))
        --*depth;
    made->is_empty = false;
    const bool in_rest = macro->variadic && made->count == macro->param_count;
    if (outermost && accel__token_is(token, ",") && !in_rest) {
        made->count++;
        return true;
    }
    if (made->count > macro->param_count)
        return true;
    return accel__pp_add_token(made->pp, &made->arguments[made->count - 1].written, token);
}

/* Reads up to the closing parenthesis; the opening one is read. */
static bool collect(call *made)
{
    accel__preprocessor *pp = made->pp;
    uint32_t depth = 0;
    made->count = 1;
    made->is_empty = true;
    for (;;) {
        accel__token token;
        pp->call_state = ACCEL__CALL_COLLECTING;
        accel__expand_read(pp, &token);
        pp->call_state = ACCEL__CALL_NONE;
        if (token.kind == ACCEL__TOKEN_END) {
            accel__pp_error(pp, made->name, "the call of macro %.*s has no \")\"",
                            (int)made->name->size, made->name->text);
            return false;
        }
        if (!add_argument_token(made, &token, &depth))
            return !pp->fatal;
    }
}

static bool check_count(const call *made)
{
    const accel__macro *macro = made->macro;
    const uint32_t count = macro->param_count == 0 && made->is_empty ? 0 : made->count;
    const bool rest_left_out = macro->variadic && count + 1 == macro->param_count;
    if (count == macro->param_count || rest_left_out)
        return true;
    accel__pp_error(made->pp, made->name, "macro %.*s takes %u argument%s, %u given",
                    (int)made->name->size, made->name->text, (unsigned)macro->param_count,
                    macro->param_count == 1 ? "" : "s", (unsigned)count);
    return false;
}

/* ---- the body ---- */

/* Only macros with arguments have parameters in their body. */
static bool is_param(const call *made, const accel__token *piece)
{
    return made->arguments != NULL && (piece->space_before & ACCEL__TOKEN_PARAM) != 0;
}

static const accel__token_list *expanded_argument(call *made, uint32_t index)
{
    argument *wanted = &made->arguments[index];
    if (!wanted->is_expanded) {
        wanted->is_expanded = true;
        accel__expand_isolated(made->pp, wanted->written.tokens, wanted->written.count,
                               &wanted->expanded);
    }
    return &wanted->expanded;
}

/* Appends an argument; `marked`: an empty one leaves a placemarker, for ##. */
static bool append_argument(call *made, const accel__token *piece, bool marked,
                            accel__token_list *out_list)
{
    const accel__token_list *list = marked ? &made->arguments[piece->line].written
                                           : expanded_argument(made, piece->line);
    const uint16_t space = piece->space_before & ACCEL__TOKEN_SPACE;
    if (list->count == 0 && marked) {
        const accel__token nothing = {
            .text = "", .kind = ACCEL__TOKEN_PLACEMARKER, .space_before = space};
        return accel__pp_add_token(made->pp, out_list, &nothing);
    }
    for (size_t i = 0; i < list->count; i++) {
        accel__token token = list->tokens[i];
        if (i == 0)
            token.space_before = (uint16_t)((token.space_before & ~ACCEL__TOKEN_SPACE) | space);
        if (!accel__pp_add_token(made->pp, out_list, &token))
            return false;
    }
    return !made->pp->fatal;
}

static bool append_piece(call *made, const accel__token *piece, bool marked,
                         accel__token_list *out_list)
{
    accel__token token = *piece;
    if (is_param(made, piece) && (piece->space_before & ACCEL__TOKEN_STRINGIZE) != 0) {
        const accel__token_list *written = &made->arguments[piece->line].written;
        if (!accel__macro_stringize(made->pp, written->tokens, written->count, &token))
            return false;
    } else if (is_param(made, piece)) {
        return append_argument(made, piece, marked, out_list);
    }
    token.space_before &= ACCEL__TOKEN_SPACE;
    return accel__pp_add_token(made->pp, out_list, &token);
}

/* GNU: in ", ## REST" the comma goes where the rest is empty, and nothing is pasted. */
static bool is_comma_before_rest(const call *made, uint32_t index)
{
    const accel__macro *macro = made->macro;
    const accel__token *piece = &macro->body[index];
    return macro->variadic && index > 0 && accel__token_is(piece - 1, ",") &&
           is_param(made, piece) && (piece->space_before & ACCEL__TOKEN_STRINGIZE) == 0 &&
           piece->line == macro->param_count - 1;
}

/* Joins the tokens at `at - 1` and `at`. */
static bool paste_at(call *made, accel__token_list *list, size_t at)
{
    accel__token joined;
    if (!accel__macro_paste(made->pp, made->name, &list->tokens[at - 1], &list->tokens[at],
                            &joined))
        return false;
    list->tokens[at - 1] = joined;
    memmove(&list->tokens[at], &list->tokens[at + 1],
            (list->count - at - 1) * sizeof *list->tokens);
    list->count--;
    made->pp->held--;
    return true;
}

static bool write_piece(call *made, uint32_t index, accel__token_list *out_list)
{
    const accel__macro *macro = made->macro;
    const accel__token *piece = &macro->body[index];
    const bool pasted = index > 0 && (piece[-1].space_before & ACCEL__TOKEN_PASTE_NEXT) != 0;
    const bool marked = pasted || (piece->space_before & ACCEL__TOKEN_PASTE_NEXT) != 0;
    const size_t before = out_list->count;
    if (pasted && is_comma_before_rest(made, index)) {
        if (made->arguments[piece->line].written.count == 0)
            out_list->tokens[before - 1].kind = ACCEL__TOKEN_PLACEMARKER;
        return append_piece(made, piece, (piece->space_before & ACCEL__TOKEN_PASTE_NEXT) != 0,
                            out_list);
    }
    return append_piece(made, piece, marked, out_list) &&
           (!pasted || paste_at(made, out_list, before));
}

/* Takes placemarkers out and gives every token the place of the macro's use. */
static void finish(call *made, accel__token_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        accel__token token = list->tokens[i];
        if (token.kind == ACCEL__TOKEN_PLACEMARKER)
            continue;
        token.file = made->name->file;
        token.line = made->name->line;
        list->tokens[kept++] = token;
    }
    made->pp->held -= list->count - kept;
    list->count = kept;
    if (kept != 0)
        list->tokens[0].space_before = (uint16_t)((list->tokens[0].space_before &
                                                   ~ACCEL__TOKEN_SPACE) |
                                                  (made->name->space_before & ACCEL__TOKEN_SPACE));
}

static void release_call(call *made)
{
    const uint32_t count = made->macro->param_count;
    for (uint32_t i = 0; made->arguments != NULL && i < (count != 0 ? count : 1); i++) {
        accel__pp_release_tokens(made->pp, &made->arguments[i].written);
        accel__pp_release_tokens(made->pp, &made->arguments[i].expanded);
    }
    accel__deallocate(made->arguments);
}

bool accel__macro_substitute(accel__preprocessor *pp, const accel__macro *macro,
                             const accel__token *name, accel__token_list *out_list)
{
    call made = {.pp = pp, .macro = macro, .name = name};
    bool good = true;
    if (macro->function_like) {
        const size_t slots = macro->param_count != 0 ? macro->param_count : 1;
        made.arguments = accel__allocate_array(slots, sizeof *made.arguments);
        good = made.arguments != NULL ? collect(&made) && check_count(&made)
                                      : accel__pp_out_of_memory(pp);
    }
    for (uint32_t i = 0; good && i < macro->body_count; i++)
        good = write_piece(&made, i, out_list);
    if (good)
        finish(&made, out_list);
    release_call(&made);
    return good && !pp->fatal;
}
