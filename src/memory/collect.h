/* collect.h: what waited for streams goes on its way after accel_synchronize: freed memory, memory of others,
 * released pools. Whoever has something that may wait asks for it: alloc.c, foreign.c. */
#ifndef ACCEL_MEMORY_COLLECT_H
#define ACCEL_MEMORY_COLLECT_H

/* From now on, for the life of the process. */
void accel__collect_after_synchronize(void);

#endif
