/* memory_table.h: the tables of `accel memory`, by libsmartcols, and how a stack looks in a cell. */
#ifndef ACCEL_CLI_MEMORY_TABLE_H
#define ACCEL_CLI_MEMORY_TABLE_H

#include "cli/snapshot.h"

typedef struct accel__memory_column {
    const char *title;
    enum { ACCEL__COLUMN_LEFT, ACCEL__COLUMN_RIGHT, ACCEL__COLUMN_WRAP } kind;
} accel__memory_column;

typedef struct accel__memory_table accel__memory_table; /* NULL: memory ran out; that is kept */

accel__memory_table *accel__memory_table_new(const accel__memory_column *columns, size_t count);

/* One cell for each column. */
void accel__memory_table_add(accel__memory_table *table, const char *const *cells);

/* Prints a title and the table, which it frees. A table without rows prints `empty` instead. */
accel__exit accel__memory_table_print(accel__memory_table *table, const char *title,
                                      const char *empty);

enum { ACCEL__STACK_TEXT_MAX = 320 };

/* "step train.py:120 < main train.py:12": the innermost three frames of Python where there are some,
 * else the innermost three that are not of the allocator; "not recorded" for stack 0. */
void accel__memory_stack_text(const accel__stacks *stacks, uint32_t stack,
                              char text[ACCEL__STACK_TEXT_MAX]);

#endif
