// Reads one event stream with many connections at once and checks what each was given.
//
//   read_events PORT PATH HEADER READERS PREFIX EXPECTED WINDOW TIMEOUT STREAMS
//
// With STREAMS so many readers share a connection of HTTP/2; 0 gives each one of HTTP/1.1.
// HEADER is one header line, or "-". A line of the stream that starts with PREFIX counts as one
// event; for "id:" its two numbers must grow, and all readers must see the same ones. Prints
// "ready" once every reader's answer has begun, and one line of JSON when every reader has
// EXPECTED events, or TIMEOUT seconds have passed since the last one was ready.
#include "common.h"
#include <nghttp2/nghttp2.h>

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

static void become_ready(void) {
    if (++ready == reader_count) {
        puts("ready");
        fflush(stdout);
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
    become_ready();
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

// HTTP/2

struct connection {
    int descriptor;
    nghttp2_session *session;
};

static int take_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                     size_t count, void *context) {
    (void)flags, (void)context;
    take_body(nghttp2_session_get_stream_user_data(session, id), (const char *)bytes, count);
    return 0;
}

static int take_field(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                      size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                      void *context) {
    (void)session, (void)frame, (void)flags, (void)context;
    if (name_length != 7 || memcmp(name, ":status", 7) != 0) return 0;
    if (value_length != 3 || memcmp(value, "200", 3) != 0)
        fail("the stream answered: %.*s", (int)value_length, value);
    become_ready();
    return 0;
}

static int note_close(nghttp2_session *session, int32_t id, uint32_t code, void *context) {
    (void)session, (void)id, (void)code, (void)context;
    closed++;
    return 0;
}

static void send_frames(struct connection *c) {
    const uint8_t *bytes;
    ssize_t count;
    while ((count = nghttp2_session_mem_send(c->session, &bytes)) > 0)
        send_all(c->descriptor, (const char *)bytes, (size_t)count);
}

static nghttp2_nv field(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0};
}

/// Opens a connection and a stream on it for each of `count` readers.
static void open_streams(struct connection *c, int port, const char *path, char *header,
                         struct reader *readers, int count) {
    char authority[32];
    snprintf(authority, sizeof authority, "127.0.0.1:%d", port);
    nghttp2_nv fields[6] = {field(":method", "GET"), field(":scheme", "http"),
                            field(":authority", authority), field(":path", path),
                            field("accept", "text/event-stream")};
    size_t field_count = 5;
    char *colon = strchr(header, ':');
    char name[64];
    if (colon) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - header), header);
        for (char *c = name; *c; c++) *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
        fields[field_count++] = field(name, colon + 1 + strspn(colon + 1, " "));
    }
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, take_data);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, take_field);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, note_close);
    c->descriptor = connect_loopback(port);
    nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0);
    // As browsers do: the windows of the streams are enough.
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, 15 << 20);
    for (int i = 0; i < count; i++)
        nghttp2_submit_request(c->session, NULL, fields, field_count, NULL, &readers[i]);
    send_frames(c);
}

/// Takes what has arrived on a connection; false once it is closed.
static int take_frames(struct connection *c, const char *bytes, size_t count) {
    if (nghttp2_session_mem_recv(c->session, (const uint8_t *)bytes, count) < 0) return 0;
    send_frames(c);
    return 1;
}

// Both

/// Waits until every reader has all it is to have, or the time is up.
static void run(int poll, double timeout, int (*take_bytes)(void *, const char *, size_t),
                int (*descriptor)(void *), void (*close_)(void *)) {
    char *buffer = malloc(BUFFER);
    if (!buffer) fail("out of memory");
    struct epoll_event events[256];
    double deadline = now() + timeout;
    int was_ready = 0;
    while (finished < reader_count && closed < reader_count) {
        int n = epoll_wait(poll, events, 256, 100);
        moment = now();
        if (moment > deadline) break;
        for (int i = 0; i < n; i++) {
            void *context = events[i].data.ptr;
            ssize_t bytes = recv(descriptor(context), buffer, BUFFER, 0);
            int is_open = bytes < 0 && (errno == EAGAIN || errno == EINTR);
            if (bytes > 0) is_open = take_bytes(context, buffer, (size_t)bytes);
            if (!is_open) {
                epoll_ctl(poll, EPOLL_CTL_DEL, descriptor(context), NULL);
                close_(context);
            }
        }
        if (!was_ready && ready == reader_count) {
            was_ready = 1;
            deadline = now() + timeout;
        }
    }
}

static int reader_descriptor(void *context) { return ((struct reader *)context)->descriptor; }
static int connection_descriptor(void *context) {
    return ((struct connection *)context)->descriptor;
}
static int reader_take(void *context, const char *bytes, size_t count) {
    take(context, bytes, count);
    return 1;
}
static int connection_take(void *context, const char *bytes, size_t count) {
    return take_frames(context, bytes, count);
}
static void close_reader(void *context) {
    ((struct reader *)context)->state = CLOSED;
    closed++;
}
/// Its streams' ends have been counted, or never will be.
static void close_connection(void *context) { (void)context; }

int main(int count, char **words) {
    if (count != 10)
        fail("usage: %s PORT PATH HEADER READERS PREFIX EXPECTED WINDOW TIMEOUT STREAMS", words[0]);
    int port = atoi(words[1]);
    reader_count = atoi(words[4]);
    prefix = words[5];
    prefix_length = strlen(prefix);
    reads_ids = strcmp(prefix, "id:") == 0;
    expected = strtoull(words[6], NULL, 10);
    window = atof(words[7]);
    double timeout = atof(words[8]);
    int streams = atoi(words[9]);

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
    if (poll < 0 || !readers) fail("out of memory or descriptors");
    for (int i = 0; i < reader_count; i++) readers[i].ordered = 1;
    if (streams > 0) {
        int connection_count = (reader_count + streams - 1) / streams;
        struct connection *connections = calloc((size_t)connection_count, sizeof *connections);
        if (!connections) fail("out of memory");
        for (int i = 0; i < connection_count; i++) {
            int left = reader_count - i * streams;
            open_streams(&connections[i], port, words[2], has_header ? words[3] : "",
                         readers + i * streams, left < streams ? left : streams);
            watch(poll, connections[i].descriptor, &connections[i]);
        }
        run(poll, timeout, connection_take, connection_descriptor, close_connection);
    } else {
        for (int i = 0; i < reader_count; i++) {
            readers[i].descriptor = connect_loopback(port);
            watch(poll, readers[i].descriptor, &readers[i]);
            send_all(readers[i].descriptor, request, (size_t)length);
        }
        run(poll, timeout, reader_take, reader_descriptor, close_reader);
    }
    report(readers);
    return 0;
}
