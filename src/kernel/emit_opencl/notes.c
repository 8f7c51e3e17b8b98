/* notes.c: what a kernel does that the kernel language allows and some drivers get wrong: they
 * cut kernels at their barriers, as the cpu backend does, but without its care. The backend knows which
 * drivers those are, and refuses such a kernel there rather than give wrong answers. */
#include "kernel/emit_cpu/plan.h"
#include "kernel/emit_opencl/emit_opencl.h"

typedef struct search {
    const accel__plan *plan;
    unsigned notes;
    uint32_t jumps;    /* past what follows: switches around the node, returns of its function */
    uint32_t leaving;  /* returns that some items take before others, so far */
    uint32_t barriers; /* so far */
} search;

static bool is_loop(const accel__node *node)
{
    return node->kind == ACCEL__NODE_FOR || node->kind == ACCEL__NODE_WHILE ||
           node->kind == ACCEL__NODE_DO;
}

/* Some items return there, and others do not. */
static bool is_left_by_some(const search *state, const accel__node *node)
{
    if (node->kind == ACCEL__NODE_GUARD)
        return accel__plan_varies(state->plan, node->a);
    return node->kind == ACCEL__NODE_RETURN && node->target == NULL && !node->uniform_exit;
}

static void visit(accel__node *node, void *context)
{
    search *state = context;
    const search before = *state;
    if (node->kind == ACCEL__NODE_BARRIER) {
        state->barriers++;
        if (state->leaving != 0)
            state->notes |= ACCEL__OPENCL_NOTE_LEAVES;
        if (state->jumps != 0)
            state->notes |= ACCEL__OPENCL_NOTE_JUMPS;
    }
    if (is_left_by_some(state, node))
        state->leaving++;
    if (node->kind == ACCEL__NODE_SWITCH ||
        (node->kind == ACCEL__NODE_RETURN && node->target != NULL))
        state->jumps++;
    if (node->kind != ACCEL__NODE_GUARD) /* which has been seen to */
        accel__walk_children(node, visit, state);
    if (node->kind == ACCEL__NODE_SWITCH || node->kind == ACCEL__NODE_INLINE)
        state->jumps = before.jumps;
    if (is_loop(node) && state->leaving != before.leaving && state->barriers != before.barriers)
        state->notes |= ACCEL__OPENCL_NOTE_LEAVES;
}

static unsigned find(accel__emitter *planner, accel__symbol *kernel)
{
    search state = {0};
    if (setjmp(planner->bail) != 0)
        return 0;
    const accel__plan *plan = accel__plan_create(planner, kernel);
    state.plan = plan;
    visit(plan->body, &state);
    return state.notes;
}

unsigned accel__opencl_notes(const accel__program *program, accel__symbol *kernel,
                             accel__diagnostics *diagnostics)
{
    /* What the cpu backend could not plan is no fault of the source here. */
    accel__diagnostics unheard = {0};
    accel__text unused = {0};
    accel__emitter planner = {
        .program = program, .diagnostics = &unheard, .out = &unused, .next_id = program->next_id};
    const unsigned notes = kernel->has_barrier ? find(&planner, kernel) : 0;
    diagnostics->out_of_memory = diagnostics->out_of_memory || unheard.out_of_memory;
    accel__arena_release(&planner.arena);
    accel__diagnostics_release(&unheard);
    accel__text_release(&unused);
    return notes;
}
