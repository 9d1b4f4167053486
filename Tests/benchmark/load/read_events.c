// Reads one event stream with many connections at once and checks what each was given.
//
//   read_events PORT PATH HEADER READERS PREFIX EXPECTED WINDOW TIMEOUT
//
// HEADER is one header line, or "-". A line of the stream that starts with PREFIX counts as one
// event; for "id:" its two numbers must grow, and all readers must see the same ones. Prints
// "ready" once every reader's answer has begun, and one line of JSON when every reader has
// EXPECTED events, or TIMEOUT seconds have passed since the last one was ready.
#include "common.h"

enum { PREFIX_ROOM = 64, BUFFER = 1 << 18 };

struct reader {
    int descriptor;
    enum { HEAD, CHUNK_SIZE, CHUNK, CHUNK_END, PLAIN, CLOSED } state;
    char head[4096];        // the answer's head, until its blank line
    size_t head_length;
    uint64_t chunk_left;
    char line[PREFIX_ROOM]; // the beginning of the line that is arriving
    size_t line_length;     // its length so far, also beyond the room
    uint64_t events, major, minor, digest;
    int ordered;
};

static const char *prefix;
static size_t prefix_length;
static int reads_ids;
static uint64_t delivered, delivered_in_window, expected;
static double first_at, last_at, moment, window;
static int finished, closed, ready, reader_count;

static void take_event(struct reader *r, const char *line) {
    if (reads_ids) {
        char *rest;
        uint64_t major = strtoull(line + prefix_length, &rest, 10);
        uint64_t minor = (*rest == '.' || *rest == ':') ? strtoull(rest + 1, NULL, 10) : 0;
        if (r->events > 0 && (major < r->major || (major == r->major && minor <= r->minor)))
            r->ordered = 0;
        r->major = major;
        r->minor = minor;
        r->digest = (r->digest ^ major ^ (minor << 20)) * 1099511628211u;
    }
    if (delivered == 0) first_at = moment;
    delivered++;
    if (moment <= first_at + window) delivered_in_window++;
    last_at = moment;
    if (++r->events == expected) finished++;
}

static void take_line_part(struct reader *r, const char *bytes, size_t count) {
    if (r->line_length < PREFIX_ROOM - 1) {
        size_t room = PREFIX_ROOM - 1 - r->line_length;
        memcpy(r->line + r->line_length, bytes, count < room ? count : room);
    }
    r->line_length += count;
}

static void take_body(struct reader *r, const char *bytes, size_t count) {
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) : count;
        take_line_part(r, bytes, length);
        if (!end) return;
        if (r->line_length >= prefix_length && memcmp(r->line, prefix, prefix_length) == 0) {
            size_t last = r->line_length < PREFIX_ROOM - 1 ? r->line_length : PREFIX_ROOM - 1;
            r->line[last] = 0;
            take_event(r, r->line);
        }
        r->line_length = 0;
        bytes = end + 1;
        count -= length + 1;
    }
}

/// Takes bytes of the head; returns how many belonged to it.
static size_t take_head(struct reader *r, const char *bytes, size_t count) {
    size_t room = sizeof r->head - 1 - r->head_length;
    size_t taken = count < room ? count : room;
    size_t before = r->head_length;
    memcpy(r->head + before, bytes, taken);
    r->head_length += taken;
    r->head[r->head_length] = 0;
    char *end = strstr(r->head, "\r\n\r\n");
    if (!end) {
        if (taken == room) fail("an answer's head is longer than %zu bytes", sizeof r->head - 1);
        return taken;
    }
    end[2] = 0;
    if (strncmp(r->head, "HTTP/1.1 200", 12) != 0) fail("the stream answered: %s", r->head);
    r->state = strcasestr(r->head, "\r\ntransfer-encoding: chunked\r\n") ? CHUNK_SIZE : PLAIN;
    r->chunk_left = 0;
    if (++ready == reader_count) {
        puts("ready");
        fflush(stdout);
    }
    return (size_t)(end + 4 - r->head) - before;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void take(struct reader *r, const char *bytes, size_t count) {
    while (count > 0) {
        size_t used = 1;
        switch (r->state) {
        case HEAD:
            used = take_head(r, bytes, count);
            break;
        case PLAIN:
            used = count;
            take_body(r, bytes, used);
            break;
        case CHUNK_SIZE: // hexadecimal digits, CR, LF
            if (*bytes == '\n') r->state = CHUNK;
            else if (*bytes != '\r') {
                int digit = hex_digit(*bytes);
                if (digit < 0) fail("a chunk's size has the byte 0x%02x", *bytes & 0xff);
                r->chunk_left = r->chunk_left * 16 + (uint64_t)digit;
            }
            break;
        case CHUNK:
            used = count < r->chunk_left ? count : (size_t)r->chunk_left;
            take_body(r, bytes, used);
            r->chunk_left -= used;
            if (r->chunk_left == 0) r->state = CHUNK_END;
            break;
        case CHUNK_END:
            if (*bytes == '\n') r->state = CHUNK_SIZE;
            break;
        case CLOSED:
            return;
        }
        bytes += used;
        count -= used;
    }
}

static void report(struct reader *readers) {
    uint64_t least = UINT64_MAX, most = 0;
    int identical = 1, ordered = 1;
    for (int i = 0; i < reader_count; i++) {
        struct reader *r = &readers[i];
        if (r->events < least) least = r->events;
        if (r->events > most) most = r->events;
        ordered &= r->ordered;
        identical &= r->digest == readers[0].digest && r->events == readers[0].events;
    }
    printf("{\"readers\":%d,\"delivered\":%llu,\"deliveredInWindow\":%llu,\"least\":%llu,"
           "\"most\":%llu,\"ordered\":%s,\"identical\":%s,\"closed\":%d,"
           "\"firstAt\":%.6f,\"lastAt\":%.6f}\n",
           reader_count, (unsigned long long)delivered, (unsigned long long)delivered_in_window,
           (unsigned long long)least, (unsigned long long)most, ordered ? "true" : "false",
           identical ? "true" : "false", closed, first_at, last_at);
}

int main(int count, char **words) {
    if (count != 9)
        fail("usage: %s PORT PATH HEADER READERS PREFIX EXPECTED WINDOW TIMEOUT", words[0]);
    int port = atoi(words[1]);
    reader_count = atoi(words[4]);
    prefix = words[5];
    prefix_length = strlen(prefix);
    reads_ids = strcmp(prefix, "id:") == 0;
    expected = strtoull(words[6], NULL, 10);
    window = atof(words[7]);
    double timeout = atof(words[8]);

    char request[2048];
    int has_header = strcmp(words[3], "-") != 0;
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                          "Accept: text/event-stream\r\n%s%s\r\n",
                          words[2], port, has_header ? words[3] : "", has_header ? "\r\n" : "");
    if (reader_count < 1 || length < 0 || (size_t)length >= sizeof request)
        fail("the request is too long, or there is no reader");

    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct reader *readers = calloc((size_t)reader_count, sizeof *readers);
    char *buffer = malloc(BUFFER);
    if (poll < 0 || !readers || !buffer) fail("out of memory or descriptors");
    for (int i = 0; i < reader_count; i++) {
        readers[i].descriptor = connect_loopback(port);
        readers[i].ordered = 1;
        watch(poll, readers[i].descriptor, &readers[i]);
        send_all(readers[i].descriptor, request, (size_t)length);
    }

    struct epoll_event events[256];
    double deadline = now() + timeout;
    int was_ready = 0;
    while (finished < reader_count && closed < reader_count) {
        int n = epoll_wait(poll, events, 256, 100);
        moment = now();
        if (moment > deadline) break;
        for (int i = 0; i < n; i++) {
            struct reader *r = events[i].data.ptr;
            ssize_t bytes = recv(r->descriptor, buffer, BUFFER, 0);
            if (bytes > 0) {
                take(r, buffer, (size_t)bytes);
            } else if (bytes == 0 || (errno != EAGAIN && errno != EINTR)) {
                epoll_ctl(poll, EPOLL_CTL_DEL, r->descriptor, NULL);
                r->state = CLOSED;
                closed++;
            }
        }
        if (!was_ready && ready == reader_count) {
            was_ready = 1;
            deadline = now() + timeout;
        }
    }
    report(readers);
    return 0;
}
