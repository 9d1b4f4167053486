// An origin behind a slow line of its own for every connection: serves bodies of LENGTH bytes, with
// ranges, ETag and If-Range, RATE bytes a second to each connection.
//
//   paced_origin FILE LENGTH RATE DELAY
//
// FILE has one body behind the other: `/body/3` is the one behind three others, `/body` the first.
//
// A connection counts as established DELAY seconds after it was accepted, and the head of each
// answer leaves DELAY after its request: a round trip each. A body of n bytes that begins to be
// sent is whole n/RATE later, in pieces that leave when such a line would have brought their last
// byte. A client that does not read loses that time for good; time that this program loses is made
// up for. Nothing is known of slow start.
//
// Prints the port it listens on. `GET /most` answers how many bodies were being sent at once at
// most since it was asked last, `GET /sent` how many bytes of bodies have been sent so far. Ends
// with the process that started it, or when told to.
#include "common.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

enum { PIECE = 1 << 14, ROOM = 8192 };
#define ETAG "\"paced\""

struct client {
    int descriptor;
    double established;  // before it nothing is received
    double begin;        // when the head leaves, 0 while there is no request
    double line;         // what the line has brought by now, in seconds of its time
    int64_t base;        // where the body begins in the file
    int64_t next, end;   // of the body: what is left to send
    int is_sending, is_last;
    size_t request_length, head_length;
    char request[ROOM], head[ROOM];
    struct client *following;
};

static struct client *clients;
static int file, sending, most;
static int64_t length, bodies, sent;
static double rate, delay;

/// The value of a field of the request's head, or NULL. It ends with the line.
static const char *field(const char *request, const char *name) {
    size_t size = strlen(name);
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, size) != 0 || line[size] != ':') continue;
        line += size + 1;
        return line + strspn(line, " \t");
    }
    return NULL;
}

/// Which body a request is about, or -1 where there is no such one.
static int64_t body_number(const char *request) {
    static const char place[] = " /body/";
    const char *path = strchr(request, ' ');
    if (!path || strncmp(path, place, sizeof place - 1) != 0) return 0;
    char *rest;
    int64_t number = strtoll(path + sizeof place - 1, &rest, 10);
    return *rest == ' ' && number >= 0 && number < bodies ? number : -1;
}

/// Reads a Range of one part into first and end. Returns 206, 416, or 200 where none holds
/// (RFC 9110, 14.2: what is not understood is ignored).
static int parse_range(const char *text, int64_t *first, int64_t *end) {
    *first = 0;
    *end = length;
    if (!text || strncasecmp(text, "bytes=", 6) != 0) return 200;
    text += 6;
    char *rest;
    int is_suffix = *text == '-';
    if (is_suffix) text++;
    if (*text < '0' || *text > '9') return 200;
    int64_t number = strtoll(text, &rest, 10), last = length - 1;
    if (!is_suffix) {
        if (*rest++ != '-') return 200;
        if (*rest >= '0' && *rest <= '9') last = strtoll(rest, &rest, 10);
    }
    if (strncmp(rest, "\r\n", 2) != 0) return 200;
    if (is_suffix) {
        if (number == 0) return 416;
        *first = number < length ? length - number : 0;
        return 206;
    }
    if (number >= length) return 416;
    if (last < number) return 200;
    *first = number;
    *end = last < length ? last + 1 : length;
    return 206;
}

/// Writes the head of the answer to the request at the start of the buffer, to leave when its
/// round trip is over.
static void prepare_answer(struct client *c, double moment) {
    const char *request = c->request, *condition = field(request, "If-Range");
    const char *connection = field(request, "Connection");
    int is_get = strncmp(request, "GET ", 4) == 0, is_head = strncmp(request, "HEAD ", 5) == 0;
    int holds = !condition || strncmp(condition, ETAG "\r\n", sizeof ETAG + 1) == 0;
    int64_t first, end;
    int status = parse_range(is_get && holds ? field(request, "Range") : NULL, &first, &end);
    char part[128] = "";
    if (status == 206)
        snprintf(part, sizeof part, "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)first,
                 (long long)end - 1, (long long)length);
    if (status == 416) {
        snprintf(part, sizeof part, "Content-Range: bytes */%lld\r\n", (long long)length);
        first = end = 0;
    }
    if (!is_get && !is_head) {
        status = 405;
        first = end = 0;
        snprintf(part, sizeof part, "Allow: GET, HEAD\r\n");
    }
    int64_t number = body_number(request);
    if (number < 0) {
        status = 404;
        first = end = number = 0;
        part[0] = 0;
    }
    c->base = number * length;
    const char *reason = status == 200   ? "OK"
                         : status == 206 ? "Partial Content"
                         : status == 404 ? "Not Found"
                         : status == 416 ? "Range Not Satisfiable"
                                         : "Method Not Allowed";
    c->is_last = status == 405 || (connection && strncasecmp(connection, "close\r\n", 7) == 0) ||
                 strstr(request, " HTTP/1.1\r\n") == NULL;
    c->head_length = (size_t)snprintf(
        c->head, sizeof c->head,
        "HTTP/1.1 %d %s\r\nContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n"
        "Accept-Ranges: bytes\r\nETag: " ETAG "\r\n%s%s\r\n",
        status, reason, (long long)(end - first), part, c->is_last ? "Connection: close\r\n" : "");
    c->next = first;
    c->end = is_get ? end : first;
    c->begin = (moment > c->established ? moment : c->established) + delay;
}

static void answer_number(struct client *c, int64_t number) {
    char body[32];
    int size = snprintf(body, sizeof body, "%lld\n", (long long)number);
    c->head_length =
        (size_t)snprintf(c->head, sizeof c->head,
                         "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", size, body);
    c->next = c->end = 0;
    c->is_last = 0;
    c->begin = now();
}

/// Takes the request at the start of the buffer, if it is whole and the one before is answered.
/// Returns 0 when its head is too long.
static int take_request(struct client *c) {
    if (c->begin != 0) return 1;
    char *blank = strstr(c->request, "\r\n\r\n");
    if (!blank) return c->request_length < ROOM - 1;
    blank[2] = 0;
    if (strncmp(c->request, "GET /most ", 10) == 0) {
        answer_number(c, most);
        most = sending;
    } else if (strncmp(c->request, "GET /sent ", 10) == 0) {
        answer_number(c, sent);
    } else {
        prepare_answer(c, now());
    }
    size_t used = (size_t)(blank + 4 - c->request);
    memmove(c->request, c->request + used, c->request_length + 1 - used);
    c->request_length -= used;
    return 1;
}

/// Returns 0 when the client has gone or sends what nobody has asked for.
static int read_client(struct client *c) {
    ssize_t n = recv(c->descriptor, c->request + c->request_length, ROOM - 1 - c->request_length,
                     MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    c->request_length += (size_t)n;
    c->request[c->request_length] = 0;
    return take_request(c);
}

static int64_t next_piece(const struct client *c) {
    return c->end - c->next < PIECE ? c->end - c->next : PIECE;
}

/// When the client has to be given something, or infinity.
static double due(const struct client *c) {
    if (c->begin == 0) return 1e300;
    return c->is_sending ? c->line + (double)next_piece(c) / rate : c->begin;
}

/// Gives the client what is due. Returns 0 when the connection has to be closed.
static int serve(struct client *c, double moment) {
    if (!c->is_sending) {
        if (send(c->descriptor, c->head, c->head_length, MSG_NOSIGNAL | MSG_DONTWAIT) !=
            (ssize_t)c->head_length)
            return 0;
        c->is_sending = 1;
        c->line = c->begin;
        if (c->next < c->end && ++sending > most) most = sending;
    }
    while (c->next < c->end && due(c) <= moment) {
        off_t offset = c->base + c->next;
        size_t size = (size_t)next_piece(c);
        ssize_t n = sendfile(c->descriptor, file, &offset, size);
        if (n == 0 || (n < 0 && errno != EAGAIN)) return 0;
        if (n > 0) {
            c->next += n;
            sent += n;
        }
        if (n == (ssize_t)size) c->line += (double)n / rate;
        else c->line = moment;
        if (c->next == c->end) sending--;
    }
    if (c->next < c->end) return 1;
    c->is_sending = 0;
    c->begin = 0;
    return !c->is_last && take_request(c);
}

static void close_client(struct client *c) {
    if (c->is_sending && c->next < c->end) sending--;
    struct client **link = &clients;
    while (*link != c) link = &(*link)->following;
    *link = c->following;
    close(c->descriptor);
    free(c);
}

static void accept_all(int listener, int poll) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EAGAIN) return;
            fail("accept: %s", strerror(errno));
        }
        int one = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct client *c = calloc(1, sizeof *c);
        if (!c) fail("out of memory");
        c->descriptor = descriptor;
        c->established = now() + delay;
        c->following = clients;
        clients = c;
        watch(poll, descriptor, c);
    }
}

/// Serves whoever is due, and returns when the next one is.
static double serve_all(void) {
    double moment = now(), earliest = 1e300;
    for (struct client *c = clients, *following; c; c = following) {
        following = c->following;
        if (due(c) <= moment && !serve(c, moment)) {
            close_client(c);
            continue;
        }
        if (due(c) < earliest) earliest = due(c);
    }
    return earliest;
}

static int listen_anywhere(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        fail("listen: %s", strerror(errno));
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int count, char **words) {
    if (count != 5) fail("usage: %s FILE LENGTH RATE DELAY", words[0]);
    file = open(words[1], O_RDONLY | O_CLOEXEC);
    if (file < 0) fail("%s: %s", words[1], strerror(errno));
    length = strtoll(words[2], NULL, 10);
    rate = atof(words[3]);
    delay = atof(words[4]);
    if (length < 1 || rate < 1 || delay < 0 || (bodies = lseek(file, 0, SEEK_END) / length) < 1)
        fail("the length has to be within the file, the rate above zero");

    prctl(PR_SET_TIMERSLACK, 1000);
    int poll = epoll_create1(EPOLL_CLOEXEC), listener = listen_anywhere();
    if (poll < 0) fail("epoll_create1: %s", strerror(errno));
    watch(poll, listener, &listener);
    struct epoll_event events[64];
    for (;;) {
        double earliest = serve_all(), wait = earliest - now();
        if (wait < 0) wait = 0;
        struct timespec pause = {.tv_nsec = (long)(wait < 0.9 ? wait * 1e9 : 9e8)};
        int n = epoll_pwait2(poll, events, 64, earliest < 1e300 ? &pause : NULL, NULL);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &listener) accept_all(listener, poll);
            else if (!read_client(events[i].data.ptr)) close_client(events[i].data.ptr);
        }
    }
}
