/* memory_summary.h: what a snapshot adds up to: figures by pool, the largest holes, and which stacks
 * hold and ask for most. Made by memory_summary.c, shown by memory_report.c. */
#ifndef ACCEL_CLI_MEMORY_SUMMARY_H
#define ACCEL_CLI_MEMORY_SUMMARY_H

#include "cli/snapshot.h"

/* All in bytes, but for the counts. Sums beyond 64 bits stay at the largest number. */
typedef struct accel__memory_figures {
    size_t segment_count;
    size_t block_count;
    uint64_t reserved;     /* of all segments */
    uint64_t allocated;    /* of blocks handed out */
    uint64_t active;       /* and of those whose free waits for a stream */
    uint64_t requested;    /* what the program asked for, of active blocks */
    uint64_t releasable;   /* of segments with nothing active, which could go back to the driver */
    uint64_t split;        /* of holes in the other segments */
    uint64_t largest_hole; /* of all inactive blocks */
} accel__memory_figures;

/* Segments that can serve the same allocations, whatever the stream. */
typedef struct accel__memory_group {
    int64_t device;
    int64_t pool[2];
    accel__segment_kind kind;
    bool is_expandable;
    accel__memory_figures figures;
} accel__memory_group;

typedef struct accel__memory_hole {
    const accel__snapshot_block *block;
    const accel__snapshot_segment *segment;
} accel__memory_hole;

/* What one stack stands for. */
typedef struct accel__memory_site {
    uint32_t stack; /* 0: not recorded */
    uint64_t size;  /* bytes asked for */
    uint64_t count;
} accel__memory_site;

typedef struct accel__memory_summary {
    accel__memory_figures total;
    accel__memory_group *groups; /* by device, pool, kind */
    size_t group_count;
    accel__memory_hole *holes; /* the largest first */
    size_t hole_count;
    accel__memory_site *live; /* live blocks, the most bytes first */
    size_t live_count;
    accel__memory_site *traffic; /* allocations in the history, the most bytes first */
    size_t traffic_count;
    size_t wrong_segment_count; /* whose blocks do not make up their size */
} accel__memory_summary;

/* The snapshot must outlive the summary. Released in any case. False: memory ran out. */
bool accel__memory_summarise(const accel__snapshot *snapshot, accel__memory_summary *out_summary);
void accel__memory_summary_release(accel__memory_summary *summary);

/* Bytes in holes that no driver gets back, as a share of what is reserved. */
double accel__memory_fragmentation(const accel__memory_figures *figures);

/* Reserved for each byte that is asked for; 0 where nothing is. */
double accel__memory_ratio(const accel__memory_figures *figures);

#endif
