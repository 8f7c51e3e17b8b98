/* emit_cpu_vector.c: expressions over vectors. */
#include "kernel/emit_cpu.h"

void accel__emit_vector(accel__emitter *emitter, const accel__node *node)
{
    accel__emit_fail(emitter, node->file, node->line, "vector types are not supported here yet");
}

void accel__emit_widened(accel__emitter *emitter, const accel__type *type, const accel__node *node)
{
    (void)type;
    accel__emit_vector(emitter, node);
}
