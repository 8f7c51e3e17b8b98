/* expand.c: the stack of running macro expansions. An expansion is read like a file and
 * leaves the stack when the token behind its last one is wanted; only then may its macro expand
 * again. */
#include <string.h>

#include "base/allocate.h"
#include "kernel/preprocess/internal.h"

/* Puts a list on the stack, which owns it from now on, also where this fails. */
static bool push(accel__preprocessor *pp, accel__token_list *list, accel__macro *macro,
                 bool barrier)
{
    void *expansions = pp->expansions;
    if (pp->fatal || !accel__pp_reserve(pp, &expansions, &pp->expansion_capacity,
                                        pp->expansion_count, sizeof *pp->expansions)) {
        accel__pp_release_tokens(pp, list);
        return false;
    }
    pp->expansions = expansions;
    pp->expansions[pp->expansion_count++] = (accel__expansion){
        .list = *list, .macro = macro, .barrier = barrier};
    if (macro != NULL)
        macro->expanding = true;
    return true;
}

static void pop(accel__preprocessor *pp)
{
    accel__expansion *top = &pp->expansions[--pp->expansion_count];
    if (top->macro != NULL)
        top->macro->expanding = false;
    accel__pp_release_tokens(pp, &top->list);
}

void accel__expand_release(accel__preprocessor *pp)
{
    while (pp->expansion_count > 0)
        pop(pp);
    accel__deallocate(pp->expansions);
    pp->expansions = NULL;
}

/* The next token before any replacement, and the macro of that name, if it may expand. */
static accel__macro *read_token(accel__preprocessor *pp, accel__token *out_token)
{
    *out_token = (accel__token){.text = ""};
    bool found = false;
    while (!found && pp->expansion_count > 0 && !pp->fatal) {
        accel__expansion *top = &pp->expansions[pp->expansion_count - 1];
        if (top->at < top->list.count) {
            *out_token = top->list.tokens[top->at++];
            found = true;
        } else if (top->barrier) {
            return NULL;
        } else {
            pop(pp);
        }
    }
    if (!found)
        accel__source_read(pp, out_token);
    else if (++pp->steps > accel__preprocess_limit.steps)
        accel__pp_limit(pp, out_token, "the source is too large or its macros expand without end");
    if (out_token->kind != ACCEL__TOKEN_IDENTIFIER ||
        (out_token->space_before & ACCEL__TOKEN_NO_EXPAND) != 0)
        return NULL;
    accel__macro *macro = accel__macro_find(pp, out_token);
    if (macro != NULL && macro->expanding) {
        out_token->space_before |= ACCEL__TOKEN_NO_EXPAND;
        return NULL;
    }
    return macro;
}

void accel__expand_read(accel__preprocessor *pp, accel__token *out_token)
{
    read_token(pp, out_token);
}

static bool push_one(accel__preprocessor *pp, const accel__token *token)
{
    accel__token_list list = {0};
    return accel__pp_add_token(pp, &list, token) && push(pp, &list, NULL, false);
}

/* Is there a "(" behind a function-like macro's name? It is consumed; anything else is put back. */
static bool call_begins(accel__preprocessor *pp)
{
    accel__token token;
    const accel__call_state outer = pp->call_state;
    pp->call_state = ACCEL__CALL_LOOKING;
    read_token(pp, &token);
    pp->call_state = outer;
    if (accel__token_is(&token, "("))
        return true;
    if (token.kind != ACCEL__TOKEN_END) /* END is read again at the same place */
        push_one(pp, &token);
    return false;
}

/* __FILE__ and __LINE__ of the place where the outermost macro is used. */
static bool push_special(accel__preprocessor *pp, const accel__macro *macro,
                         const accel__token *name)
{
    accel__token made = *name;
    if (macro->special == ACCEL__MACRO_FILE)
        return accel__macro_quote(pp, pp->files[name->file], &made) && push_one(pp, &made);
    accel__text text = {0};
    accel__text_format(&text, "%u", (unsigned)name->line);
    made.kind = ACCEL__TOKEN_NUMBER;
    made.text = accel__pp_keep_text(pp, &text);
    made.size = (uint32_t)text.size;
    accel__text_release(&text);
    return made.text != NULL && push_one(pp, &made);
}

/* Puts the replacement of `name` on the stack. False: `name` stays as it is. */
static bool enter(accel__preprocessor *pp, accel__macro *macro, const accel__token *name)
{
    if (macro->special != ACCEL__MACRO_ORDINARY) {
        push_special(pp, macro, name);
        return true;
    }
    if (macro->function_like && !call_begins(pp))
        return false;
    accel__token_list list = {0};
    if (accel__macro_substitute(pp, macro, name, &list))
        push(pp, &list, macro, false);
    else
        accel__pp_release_tokens(pp, &list);
    return true;
}

void accel__expand_next(accel__preprocessor *pp, accel__token *out_token)
{
    for (;;) {
        accel__macro *macro = read_token(pp, out_token);
        if (macro == NULL)
            return;
        const accel__token name = *out_token;
        if (!enter(pp, macro, &name))
            return;
    }
}

bool accel__expand_begin_isolated(accel__preprocessor *pp, const accel__token *tokens, size_t count)
{
    const accel__token nowhere = {0};
    if (pp->call_depth >= ACCEL__LIMIT_CALL_DEPTH)
        return accel__pp_limit(pp, count != 0 ? tokens : &nowhere,
                               "macro calls nested deeper than %d", ACCEL__LIMIT_CALL_DEPTH);
    accel__token_list list = {0};
    for (size_t i = 0; i < count; i++)
        if (!accel__pp_add_token(pp, &list, &tokens[i])) {
            accel__pp_release_tokens(pp, &list);
            return false;
        }
    if (!push(pp, &list, NULL, true))
        return false;
    pp->call_depth++;
    return true;
}

void accel__expand_end_isolated(accel__preprocessor *pp)
{
    while (!pp->expansions[pp->expansion_count - 1].barrier)
        pop(pp);
    pop(pp);
    pp->call_depth--;
}

bool accel__expand_isolated(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                            accel__token_list *out_list)
{
    if (!accel__expand_begin_isolated(pp, tokens, count))
        return false;
    const accel__call_state outer = pp->call_state;
    pp->call_state = ACCEL__CALL_NONE;
    for (;;) {
        accel__token token;
        accel__expand_next(pp, &token);
        if (token.kind == ACCEL__TOKEN_END || !accel__pp_add_token(pp, out_list, &token))
            break;
    }
    pp->call_state = outer;
    accel__expand_end_isolated(pp);
    return !pp->fatal;
}
