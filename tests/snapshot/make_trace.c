/* make_trace.c: writes the history of a program that does not exist, from a description of it, as a JSON
 * snapshot for `accel memory replay`. The same description and seed give the same bytes.
 *
 *   make_trace server|pipeline [EVENTS [SEED]]
 *
 * server: requests of three kinds come to a model whose weights are there before the history begins, and are
 *   worked on side by side, each on one of a few streams. A chat reads a prompt (large, short-lived
 *   activations), then writes an answer word by word (small ones) while its cache grows in chunks that live as
 *   long as it does; an embedding only reads; an image request has convolutions of its own sizes. Results are
 *   fetched by a stream that only copies, so that their memory is reusable some events after it was freed.
 * pipeline: pictures of three sizes go through many stages, each with its own stream. A stage makes its output
 *   on its stream from the output of the one before, whose memory is reusable only when it is done. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

/* ---- the descriptions ---- */

enum {
    SERVER_STREAMS = 6,   /* of requests; one more copies results */
    SERVER_REQUESTS = 20, /* at once */
    SERVER_LAYERS = 8,    /* with activations of their own */
    SERVER_WEIGHTS = 96,  /* blocks that were there before */
    SERVER_WIDTH = 2048,  /* numbers of two bytes for each token */
    SERVER_CHUNK = 128,   /* tokens of a chunk of the cache */
    SERVER_CHUNK_SIZE = 4 * MIB,
    SERVER_WORDS = 32000, /* four bytes each, for every word that is written */
    PIPELINE_STAGES = 16,
    PIPELINE_PICTURES = 24, /* in flight */
    LATE_MAX = 64,          /* events until memory used elsewhere is reusable */
    CHUNKS_MAX = 64
};

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13; /* xorshift64 */
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

/* From `least` to twice, four times, … that: `doublings` times, small ones as likely as large ones. */
static uint64_t draw_scale(uint64_t least, unsigned doublings)
{
    const uint64_t base = least << draw(doublings);
    return base + draw(base);
}

/* ---- the history ---- */

typedef struct block {
    uint64_t address;
    uint64_t size;
    int stream;
    size_t due; /* the event before which a late free is complete */
} block;

static uint64_t next_address = UINT64_C(0x700000000000);
static size_t event_count;
static block late[4096];
static size_t late_count;

static void print_event(const char *action, const block *b)
{
    printf("%s{\"action\":\"%s\",\"addr\":%" PRIu64 ",\"size\":%" PRIu64
           ",\"stream\":%d,\"time_us\":%zu}",
           event_count > 0 ? ",\n" : "", action, b->address, b->size, b->stream, event_count);
    event_count++;
}

/* Completes what is due. */
static void settle(bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < late_count; i++) {
        if (all || late[i].due <= event_count)
            print_event("free_completed", &late[i]);
        else
            late[kept++] = late[i];
    }
    late_count = kept;
}

static block new_block(int stream, uint64_t size)
{
    block made = {next_address, size, stream, 0};
    next_address += (size + 511) / 512 * 512;
    return made;
}

static block take(int stream, uint64_t size)
{
    const block made = new_block(stream, size);
    settle(false);
    print_event("alloc", &made);
    return made;
}

static void give(const block *b)
{
    settle(false);
    print_event("free_requested", b);
    print_event("free_completed", b);
}

/* Another stream still uses it. */
static void give_late(block *b)
{
    settle(false);
    print_event("free_requested", b);
    b->due = event_count + 4 + (size_t)draw(LATE_MAX);
    if (late_count < sizeof late / sizeof late[0])
        late[late_count++] = *b;
    else
        print_event("free_completed", b);
}

/* ---- a server with mixed requests ---- */

typedef enum request_kind { CHAT, EMBEDDING, IMAGE } request_kind;

typedef struct request {
    bool is_open;
    request_kind kind;
    int stream;
    uint64_t tokens; /* read at once; rows of a picture */
    uint64_t words;  /* still to be written */
    uint64_t written;
    int layer;
    block hidden;
    block chunks[CHUNKS_MAX];
    size_t chunk_count;
} request;

static void open_request(request *r)
{
    const uint64_t kind = draw(10);
    memset(r, 0, sizeof *r);
    r->is_open = true;
    r->kind = kind < 6 ? CHAT : kind < 9 ? EMBEDDING : IMAGE;
    r->stream = 1 + (int)draw(SERVER_STREAMS);
    r->tokens = r->kind == IMAGE ? UINT64_C(128) << draw(3) : draw_scale(32, 6);
    r->words = r->kind == CHAT ? draw_scale(8, 5) : 0;
    r->hidden = take(r->stream, r->tokens * SERVER_WIDTH * 2);
}

static void grow_cache(request *r)
{
    while (r->chunk_count < CHUNKS_MAX && r->chunk_count * SERVER_CHUNK < r->tokens + r->written)
        r->chunks[r->chunk_count++] = take(r->stream, SERVER_CHUNK_SIZE);
}

/* One layer reads all tokens. */
static void run_layer(request *r)
{
    const uint64_t tokens = r->tokens;
    const block three = take(r->stream, tokens * SERVER_WIDTH * 6);
    const block scores = take(r->stream, tokens * (tokens < 1024 ? tokens : 1024) * 16);
    const block mixed = take(r->stream, tokens * SERVER_WIDTH * 2);
    give(&scores);
    give(&three);
    const block wide = take(r->stream, tokens * SERVER_WIDTH * 8);
    const block next = take(r->stream, tokens * SERVER_WIDTH * 2);
    give(&wide);
    give(&mixed);
    give(&r->hidden);
    r->hidden = next;
}

static void run_convolution(request *r)
{
    const uint64_t rows = r->tokens >> (r->layer / 3);
    const uint64_t maps = UINT64_C(64) << (r->layer / 3);
    const block space = take(r->stream, 1 * MIB + draw(24) * MIB);
    const block next = take(r->stream, rows * rows * maps * 2);
    give(&space);
    give(&r->hidden);
    r->hidden = next;
}

static void write_word(request *r)
{
    const block narrow = take(r->stream, SERVER_WIDTH * 2);
    const block scores = take(r->stream, (r->tokens + r->written) * 64);
    give(&scores);
    block words = take(r->stream, SERVER_WORDS * 4);
    give(&narrow);
    give_late(&words);
    r->words--;
    r->written++;
    grow_cache(r);
}

static void close_request(request *r)
{
    block result = take(r->stream, 4 * KIB + draw(60) * KIB);
    give_late(&result);
    give(&r->hidden);
    for (size_t i = 0; i < r->chunk_count; i++)
        give(&r->chunks[i]);
    r->is_open = false;
}

static void advance_request(request *r)
{
    if (!r->is_open) {
        if (draw(4) == 0)
            open_request(r);
    } else if (r->layer < SERVER_LAYERS) {
        if (r->kind == IMAGE)
            run_convolution(r);
        else
            run_layer(r);
        if (r->kind == CHAT)
            grow_cache(r);
        r->layer++;
    } else if (r->words > 0) {
        write_word(r);
    } else {
        close_request(r);
    }
}

/* The weights are live blocks of segments, and no event speaks of them. */
static void print_weights(void)
{
    for (int i = 0; i < SERVER_WEIGHTS; i++) {
        const uint64_t rows = i % 4 == 0 ? SERVER_WIDTH * 3 : i % 4 == 3 ? 1 : SERVER_WIDTH * 4;
        const block b = new_block(0, rows * SERVER_WIDTH * 2);
        printf("%s{\"device\":0,\"address\":%" PRIu64 ",\"total_size\":%" PRIu64
               ",\"stream\":0,\"segment_type\":\"%s\",\"blocks\":[{\"address\":%" PRIu64
               ",\"size\":%" PRIu64 ",\"requested_size\":%" PRIu64
               ",\"state\":\"active_allocated\"}]}",
               i > 0 ? ",\n" : "", b.address, b.size, b.size > MIB ? "large" : "small", b.address,
               b.size, b.size);
    }
}

static void write_server(size_t events)
{
    static request requests[SERVER_REQUESTS];
    while (event_count < events)
        advance_request(&requests[draw(SERVER_REQUESTS)]);
    for (size_t i = 0; i < SERVER_REQUESTS; i++)
        while (requests[i].is_open)
            advance_request(&requests[i]);
}

/* ---- a pipeline of many streams ---- */

typedef struct picture {
    bool is_open;
    int stage;
    uint64_t pixels;
    block output; /* of the stage before */
} picture;

/* Bytes for each pixel after each stage: unpacked, scaled, in features, found, drawn, packed. */
static const unsigned bytes_per_pixel_x4[PIPELINE_STAGES] = {6, 12, 12, 48, 24, 32, 16, 16,
                                                             8, 8,  4,  4,  12, 12, 6,  2};

static void advance_picture(picture *p)
{
    static const uint64_t sizes[] = {1280 * 720, 1920 * 1080, 3840 * 2160};
    if (!p->is_open) {
        *p = (picture){.is_open = true, .pixels = sizes[draw(8) / 3]};
        p->output = take(1, p->pixels * 3 / 2);
        return;
    }
    const int stream = p->stage + 1;
    const uint64_t size = p->pixels * bytes_per_pixel_x4[p->stage] / 4;
    const block space = take(stream, size / 2 + draw(64) * 4 * KIB);
    const block output = take(stream, size);
    const block list = take(stream, 512 + draw(200) * 64);
    give(&list);
    give(&space);
    if (p->stage == 0)
        give(&p->output);
    else
        give_late(&p->output);
    p->output = output;
    p->stage++;
    if (p->stage == PIPELINE_STAGES) {
        give_late(&p->output);
        p->is_open = false;
    }
}

static void write_pipeline(size_t events)
{
    static picture pictures[PIPELINE_PICTURES];
    while (event_count < events)
        advance_picture(&pictures[draw(PIPELINE_PICTURES)]);
    for (size_t i = 0; i < PIPELINE_PICTURES; i++)
        while (pictures[i].is_open)
            advance_picture(&pictures[i]);
}

int main(int argc, char **argv)
{
    const bool is_server = argc > 1 && strcmp(argv[1], "server") == 0;
    if (argc < 2 || argc > 4 || (!is_server && strcmp(argv[1], "pipeline") != 0)) {
        fputs("Usage: make_trace server|pipeline [EVENTS [SEED]]\n", stderr);
        return 2;
    }
    const size_t events = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 40000;
    random_state = (argc > 3 ? strtoull(argv[3], NULL, 10) : 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    fputs("{\"segments\":[", stdout);
    if (is_server)
        print_weights();
    fputs("],\n\"device_traces\":[[", stdout);
    if (is_server)
        write_server(events);
    else
        write_pipeline(events);
    settle(true);
    fputs("]]}\n", stdout);
    return fflush(stdout) == 0 && ferror(stdout) == 0 ? 0 : 1;
}
