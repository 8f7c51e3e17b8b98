/* region.c: numbers the regions and decides where each variable lives.
 * Variables begin as C variables of one region and only ever move up (to a uniform scalar, to a
 * recomputed value, to an array over items); each move may cut regions further, until none is
 * needed any more. */
#include "kernel/emit_cpu/plan.h"

#define MOST_PURE_NODES 24

typedef struct cutter {
    accel__plan *plan;
    uint32_t region;      /* open; 0: none */
    uint32_t loop;        /* the innermost skeleton loop */
    accel__node *pending; /* the first statement of the open region in this list */
} cutter;

static void cut_list(cutter *state, accel__node *list);

/* ---- who names what where ---- */

typedef struct place {
    uint32_t region; /* 0: the skeleton */
    uint32_t loop;
} place;

static void note_uses(accel__node *node, void *context)
{
    const place *at = context;
    if (node->kind == ACCEL__NODE_DECLARE && node->symbol->init == NULL) {
        node->symbol->declared_in = at->region;
        node->symbol->declared_loop = at->loop;
        return;
    }
    if (node->kind == ACCEL__NODE_NAME || node->kind == ACCEL__NODE_DECLARE) {
        accel__symbol *symbol = node->symbol;
        if (node->kind == ACCEL__NODE_DECLARE) {
            symbol->declared_in = at->region;
            symbol->declared_loop = at->loop;
        }
        if (at->region == 0 || (symbol->used_in != 0 && symbol->used_in != at->region))
            symbol->is_spread = true;
        symbol->used_in = at->region;
        symbol->used_loop = at->loop;
    }
    accel__walk_children(node, note_uses, context);
}

static void note(cutter *state, accel__node *node, uint32_t region)
{
    place at = {region, state->loop};
    if (node != NULL)
        note_uses(node, &at);
}

/* ---- statements ---- */

static accel__symbol *assigned_by(const accel__node *statement)
{
    if (statement->kind == ACCEL__NODE_DECLARE)
        return statement->symbol;
    if (statement->kind != ACCEL__NODE_EXPRESSION)
        return NULL;
    const accel__node *top = statement->a;
    if ((top->kind != ACCEL__NODE_ASSIGN && top->kind != ACCEL__NODE_STEP) ||
        top->a->kind != ACCEL__NODE_NAME)
        return NULL;
    return top->a->symbol;
}

typedef struct symbol_query {
    const accel__symbol *symbol;
    bool found;
} symbol_query;

static void find_name(accel__node *node, void *context)
{
    symbol_query *query = context;
    query->found |= node->kind == ACCEL__NODE_NAME && node->symbol == query->symbol;
    if (!query->found)
        accel__walk_children(node, find_name, query);
}

/* Whether a statement that runs once must wait for the region gathered so far. */
static bool must_flush(const cutter *state, const accel__node *statement)
{
    if (state->region == 0)
        return false;
    const accel__node *value = statement->kind == ACCEL__NODE_DECLARE ? statement->symbol->init
                                                                      : statement->a;
    if (value != NULL && accel__plan_loads(value))
        return true;
    symbol_query query = {assigned_by(statement), false};
    for (accel__node *at = state->pending; at != statement && !query.found; at = at->next)
        if (at->region == state->region)
            find_name(at, &query);
    return query.found;
}

static void cut_once(cutter *state, accel__node *node)
{
    node->once = true;
    node->flush = must_flush(state, node);
    if (node->flush)
        state->region = 0;
    note(state, node->kind == ACCEL__NODE_DECLARE ? node->symbol->init : node->a, 0);
}

static uint32_t new_region(cutter *state)
{
    return ++state->plan->regions;
}

static uint32_t cut_condition(cutter *state, accel__node *node, accel__node *condition)
{
    const uint32_t region = node->diverges ? new_region(state) : 0;
    note(state, condition, region);
    return region;
}

/* The parts of "i++, j += 2", each in its own way. */
static void cut_step(cutter *state, accel__node *step)
{
    if (step->kind == ACCEL__NODE_COMMA) {
        cut_step(state, step->a);
        cut_step(state, step->b);
        return;
    }
    accel__node statement = {.kind = ACCEL__NODE_EXPRESSION, .a = step};
    const accel__symbol *assigned = assigned_by(&statement);
    step->once = assigned != NULL && assigned->storage == ACCEL__STORAGE_UNIFORM;
    step->region = step->once ? 0 : new_region(state);
    note(state, step, step->region);
}

static void mark_labels(accel__node *list)
{
    for (accel__node *at = list; at != NULL; at = at->next)
        if (at->kind == ACCEL__NODE_CASE || at->kind == ACCEL__NODE_DEFAULT)
            at->skeleton = true;
}

static void cut_loop(cutter *state, accel__node *node)
{
    if (node->kind == ACCEL__NODE_FOR)
        cut_list(state, node->a);
    const uint32_t outer = state->loop;
    state->region = 0;
    if (node->kind != ACCEL__NODE_SWITCH)
        state->loop = ++state->plan->loops;
    if (node->b != NULL)
        node->condition_region = cut_condition(state, node, node->b);
    if (node->kind == ACCEL__NODE_SWITCH)
        mark_labels(node->d->a);
    cut_list(state, node->kind == ACCEL__NODE_SWITCH ? node->d->a : node->d);
    state->region = 0;
    if (node->c != NULL)
        cut_step(state, node->c);
    state->loop = outer;
}

static void cut_skeleton(cutter *state, accel__node *node)
{
    state->region = 0;
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        cut_list(state, node->a);
        break;
    case ACCEL__NODE_INLINE:
        cut_list(state, node->d);
        break;
    case ACCEL__NODE_IF:
        node->condition_region = cut_condition(state, node, node->a);
        cut_list(state, node->b);
        state->region = 0;
        if (node->c != NULL)
            cut_list(state, node->c);
        break;
    case ACCEL__NODE_GUARD:
        note(state, node->a, 0);
        break;
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
    case ACCEL__NODE_SWITCH:
        cut_loop(state, node);
        break;
    default:
        break; /* barriers, jumps, labels of a switch */
    }
    state->region = 0;
}

static void cut_declare(cutter *state, accel__node *node)
{
    node->symbol->declared_in = state->region;
    node->symbol->declared_loop = state->loop;
    node->region = state->region;
    node->silent = state->region == 0;
}

static void cut_statement(cutter *state, accel__node *node)
{
    const accel__symbol *assigned = assigned_by(node);
    node->once = node->flush = node->silent = false;
    node->region = 0;
    if (node->skeleton) {
        cut_skeleton(state, node);
        return;
    }
    if (assigned != NULL && assigned->storage == ACCEL__STORAGE_UNIFORM) {
        cut_once(state, node);
        return;
    }
    if (node->kind == ACCEL__NODE_DECLARE &&
        (assigned->storage == ACCEL__STORAGE_PURE || assigned->storage == ACCEL__STORAGE_BLOCK)) {
        node->silent = true;
        return;
    }
    if (node->kind == ACCEL__NODE_DECLARE && assigned->init == NULL) {
        cut_declare(state, node);
        return;
    }
    if (state->region == 0) {
        state->region = new_region(state);
        state->pending = node;
    }
    node->region = state->region;
    note(state, node, state->region);
}

static void cut_list(cutter *state, accel__node *list)
{
    state->region = 0;
    for (accel__node *at = list; at != NULL; at = at->next)
        cut_statement(state, at);
    state->region = 0;
}

/* ---- where variables live ---- */

static bool is_scalar(const accel__symbol *symbol)
{
    return symbol->type->kind != ACCEL__TYPE_ARRAY && symbol->type->kind != ACCEL__TYPE_RECORD;
}

static bool is_unchanged_in_scope(const accel__plan *plan, const accel__symbol *operand,
                                  const accel__symbol *of)
{
    for (const accel__assignment *at = plan->assignments; at != NULL; at = at->next)
        if (at->symbol == operand && at->position >= of->scope_begin &&
            at->position <= of->scope_end)
            return false;
    return true;
}

typedef struct purity {
    const accel__plan *plan;
    const accel__symbol *of;
    unsigned nodes;
    bool is_pure;
} purity;

static void check_pure(accel__node *node, void *context);

static bool is_pure(const accel__plan *plan, const accel__symbol *symbol, unsigned *nodes)
{
    const bool table = symbol->type->kind == ACCEL__TYPE_ARRAY &&
                       (symbol->type->qualifiers & ACCEL__QUALIFIER_CONST);
    if (symbol->kind != ACCEL__SYMBOL_VARIABLE || symbol->init == NULL || symbol->assignments > 0 ||
        symbol->address_taken || (!is_scalar(symbol) && !table) ||
        (symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE))
        return false;
    purity state = {plan, symbol, *nodes, true};
    check_pure(symbol->init, &state);
    *nodes = state.nodes;
    return state.is_pure;
}

static bool is_pure_name(purity *state, const accel__symbol *symbol)
{
    if (symbol->kind == ACCEL__SYMBOL_PARAM || symbol->is_program_scope ||
        symbol->storage == ACCEL__STORAGE_BLOCK)
        return true;
    if (is_scalar(symbol) && !symbol->varies)
        return is_unchanged_in_scope(state->plan, symbol, state->of);
    return is_pure(state->plan, symbol, &state->nodes);
}

static void check_pure(accel__node *node, void *context)
{
    purity *state = context;
    switch (node->kind) {
    case ACCEL__NODE_NAME:
        state->is_pure &= is_pure_name(state, node->symbol);
        break;
    case ACCEL__NODE_INTEGER:
    case ACCEL__NODE_FLOAT:
    case ACCEL__NODE_CAST:
    case ACCEL__NODE_CONDITION:
    case ACCEL__NODE_LIST:
        break;
    case ACCEL__NODE_BINARY:
        state->nodes += node->op[0] == '/' || node->op[0] == '%' ? 8 : 0;
        break;
    case ACCEL__NODE_UNARY:
        state->is_pure &= node->op[0] != '*' && node->op[0] != '&';
        break;
    case ACCEL__NODE_BUILTIN:
        state->is_pure &= node->builtin->rule == ACCEL__RULE_ITEM ||
                          node->builtin->rule == ACCEL__RULE_INTEGER ||
                          node->builtin->rule == ACCEL__RULE_NUMBER ||
                          node->builtin->rule == ACCEL__RULE_INT24;
        break;
    default:
        state->is_pure = false;
        break;
    }
    state->nodes++;
    const bool table = node->kind == ACCEL__NODE_LIST || state->of->init->kind == ACCEL__NODE_LIST;
    if (state->nodes > (table ? 1000 : MOST_PURE_NODES))
        state->is_pure = false;
    if (state->is_pure)
        accel__walk_children(node, check_pure, state);
}

/* What a recomputed value is made of is named wherever that is. */
static void spread_operands(accel__node *node, void *context)
{
    if (node->kind == ACCEL__NODE_NAME)
        node->symbol->is_spread = true;
    accel__walk_children(node, spread_operands, context);
}

static uint8_t storage_of(accel__plan *plan, accel__symbol *symbol)
{
    unsigned nodes = 0;
    if (symbol->storage != ACCEL__STORAGE_REGION)
        return symbol->storage;
    symbol->is_hoisted = false;
    const bool moved = symbol->used_in != 0 && symbol->used_in != symbol->declared_in;
    if (!symbol->is_spread && !(symbol->escapes && plan->regions > 1)) {
        if (!moved)
            return ACCEL__STORAGE_REGION;
        if (symbol->init == NULL && symbol->used_loop == symbol->declared_loop) {
            symbol->is_hoisted = true;
            return ACCEL__STORAGE_REGION;
        }
    }
    if (is_scalar(symbol) && !symbol->varies)
        return ACCEL__STORAGE_UNIFORM;
    if (is_pure(plan, symbol, &nodes)) {
        spread_operands(symbol->init, NULL);
        return ACCEL__STORAGE_PURE;
    }
    return ACCEL__STORAGE_ITEMS;
}

static void find_uniform_assignment(accel__node *node, void *context)
{
    bool *found = context;
    if (node->kind == ACCEL__NODE_ASSIGN || node->kind == ACCEL__NODE_STEP)
        *found |= node->a->kind == ACCEL__NODE_NAME &&
                  node->a->symbol->storage == ACCEL__STORAGE_UNIFORM;
    if (!*found)
        accel__walk_children(node, find_uniform_assignment, found);
}

/* What assigns uniform variables somewhere inside is skeleton itself. */
static void force_skeleton(accel__node *node, void *context)
{
    const bool structured = node->kind == ACCEL__NODE_BLOCK || node->kind == ACCEL__NODE_IF ||
                            node->kind == ACCEL__NODE_FOR || node->kind == ACCEL__NODE_WHILE ||
                            node->kind == ACCEL__NODE_DO || node->kind == ACCEL__NODE_SWITCH ||
                            node->kind == ACCEL__NODE_INLINE;
    if (!structured)
        return;
    bool found = false;
    find_uniform_assignment(node, &found);
    node->skeleton |= found;
    accel__walk_children(node, force_skeleton, context);
}

/* Jumps that all items take together, out of something skeleton, are skeleton with what is around
 * them. True where one is under `node`. */
static bool mark_exits(const accel__plan *plan, accel__node *node);

typedef struct exit_query {
    const accel__plan *plan;
    bool found;
} exit_query;

static void mark_exits_below(accel__node *node, void *context)
{
    exit_query *query = context;
    query->found |= mark_exits(query->plan, node);
}

static bool mark_exits(const accel__plan *plan, accel__node *node)
{
    if (node->kind == ACCEL__NODE_BREAK || node->kind == ACCEL__NODE_CONTINUE ||
        node->kind == ACCEL__NODE_RETURN) {
        node->skeleton = node->uniform_exit && !plan->full_mask &&
                         (node->target == NULL || node->target->skeleton);
        return node->skeleton;
    }
    exit_query query = {plan, false};
    if (node->kind >= ACCEL__NODE_BLOCK)
        accel__walk_children(node, mark_exits_below, &query);
    node->skeleton |= query.found;
    return query.found;
}

static bool has_skeleton(const accel__plan *plan)
{
    if (!plan->flat)
        return true;
    for (const accel__node *at = plan->body->a; at != NULL; at = at->next)
        if (at->skeleton && at->kind != ACCEL__NODE_GUARD)
            return true;
    return false;
}

static void mark_all_exits(const accel__plan *plan)
{
    if (!has_skeleton(plan))
        return;
    for (int i = 0; i < 8; i++) /* a loop that became skeleton makes its breaks so */
        mark_exits(plan, plan->body);
}

static void forget_uses(accel__plan *plan)
{
    plan->regions = plan->loops = 0;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        plan->variables[i]->used_in = plan->variables[i]->declared_in = 0;
        plan->variables[i]->used_loop = plan->variables[i]->declared_loop = 0;
    }
}

static bool move_up(accel__plan *plan)
{
    bool changed = false;
    for (uint32_t i = plan->variable_count; i-- > 0;) {
        accel__symbol *symbol = plan->variables[i];
        const uint8_t storage = storage_of(plan, symbol);
        changed |= storage != symbol->storage;
        symbol->storage = storage;
    }
    return changed;
}

const accel__node *accel__plan_id_of(const accel__node *init)
{
    int64_t axis = 0;
    while (init != NULL && init->kind == ACCEL__NODE_CAST && accel__type_is_integer(init->type) &&
           accel__type_size(init->type) >= 4)
        init = init->a;
    if (init == NULL || init->kind != ACCEL__NODE_BUILTIN ||
        init->builtin->rule != ACCEL__RULE_ITEM || init->builtin->value > ACCEL__ITEM_LOCAL_ID ||
        !accel__constant_integer(init->a, &axis) || axis < 0 || axis > 2)
        return NULL;
    return init;
}

static void finish(accel__plan *plan)
{
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        accel__symbol *symbol = plan->variables[i];
        if (symbol->storage == ACCEL__STORAGE_ITEMS) {
            plan->item_bytes += accel__type_size(symbol->type);
            plan->item_arrays++;
        }
    }
}

void accel__plan_regions(accel__plan *plan)
{
    cutter state = {.plan = plan};
    bool moved = true;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        accel__symbol *symbol = plan->variables[i];
        const bool block = symbol->type->space == ACCEL__SPACE_LOCAL &&
                           symbol->type->kind != ACCEL__TYPE_POINTER;
        symbol->storage = block ? ACCEL__STORAGE_BLOCK : ACCEL__STORAGE_REGION;
        symbol->is_spread = false;
    }
    plan->item_bytes = plan->item_arrays = 0;
    mark_all_exits(plan);
    do {
        forget_uses(plan);
        cut_list(&state, plan->body->a);
        moved = move_up(plan);
        force_skeleton(plan->body, NULL);
        mark_all_exits(plan);
    } while (moved);
    finish(plan);
}
