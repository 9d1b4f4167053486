// Sends the same request at a fixed pace and measures from when each was due, so that a stall of
// the server counts for every request that was due in it.
//
//   paced PORT METHOD PATH HEADER BODY CONNECTIONS RATE SECONDS
//
// Prints one line of JSON with the latencies in microseconds.
#include "common.h"

#include <sys/prctl.h>

enum { BUFFER = 1 << 16 };

struct connection {
    int descriptor;
    int is_busy;
    double due;
    char answer[BUFFER];
    size_t length;
};

static uint32_t *latencies;
static size_t answered, refused;

/// The length of the whole answer at the start of the buffer, or 0 while its head is arriving.
static size_t answer_length(const char *answer) {
    const char *end = strstr(answer, "\r\n\r\n");
    const char *field = strcasestr(answer, "\r\ncontent-length:");
    if (!end) return 0;
    if (!field || field > end) fail("an answer has no Content-Length: %s", answer);
    return (size_t)(end + 4 - answer) + strtoull(field + 17, NULL, 10);
}

static void read_answer(struct connection *c) {
    ssize_t n = recv(c->descriptor, c->answer + c->length, BUFFER - 1 - c->length, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("the server closed a connection");
    if (n < 0) return;
    c->length += (size_t)n;
    c->answer[c->length] = 0;
    size_t whole = answer_length(c->answer);
    if (whole == 0 || c->length < whole) {
        if (c->length == BUFFER - 1) fail("an answer is longer than %d bytes", BUFFER - 1);
        return;
    }
    if (strncmp(c->answer, "HTTP/1.1 20", 11) != 0) refused++;
    double micro = (now() - c->due) * 1e6;
    latencies[answered++] = micro < 0 ? 0 : (uint32_t)micro;
    c->is_busy = 0;
    c->length = 0;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/// In turn, so that none rests until the server closes it.
static struct connection *idle_one(struct connection *all, int count) {
    static int last = 0;
    for (int i = 1; i <= count; i++) {
        struct connection *next = &all[(last + i) % count];
        if (next->is_busy) continue;
        last = (int)(next - all);
        return next;
    }
    return NULL;
}

int main(int count, char **words) {
    if (count != 9)
        fail("usage: %s PORT METHOD PATH HEADER BODY CONNECTIONS RATE SECONDS", words[0]);
    int port = atoi(words[1]), connection_count = atoi(words[6]);
    const char *body = words[5];
    double rate = atof(words[7]), seconds = atof(words[8]);
    size_t total = (size_t)(rate * seconds), begun = 0;
    char request[2048];
    int length = snprintf(request, sizeof request,
                          "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          words[2], words[3], port, words[4], strlen(body), body);
    if (connection_count < 1 || total < 100 || length < 0 || (size_t)length >= sizeof request)
        fail("no connection, fewer than 100 requests, or a request that is too long");

    prctl(PR_SET_TIMERSLACK, 1000);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = calloc((size_t)connection_count, sizeof *connections);
    latencies = calloc(total, sizeof *latencies);
    if (poll < 0 || !connections || !latencies) fail("out of memory or descriptors");
    for (int i = 0; i < connection_count; i++) {
        connections[i].descriptor = connect_loopback(port);
        watch(poll, connections[i].descriptor, &connections[i]);
    }

    double start = now() + 0.01;
    struct epoll_event events[64];
    while (answered < total) {
        double moment = now();
        if (moment > start + seconds + 30) fail("%zu answers did not come", total - answered);
        struct connection *c;
        while (begun < total && start + (double)begun / rate <= moment &&
               (c = idle_one(connections, connection_count))) {
            c->due = start + (double)begun++ / rate;
            c->is_busy = 1;
            send_all(c->descriptor, request, (size_t)length);
        }
        double wait = begun < total ? start + (double)begun / rate - moment : 0.1;
        if (wait <= 0 || wait > 0.1) wait = 0.1; // overdue: all are busy, the next answer wakes us
        struct timespec pause = {.tv_nsec = (long)(wait * 1e9)};
        int n = epoll_pwait2(poll, events, 64, &pause, NULL);
        for (int i = 0; i < n; i++) read_answer(events[i].data.ptr);
    }

    qsort(latencies, total, sizeof *latencies, ascending);
    printf("{\"requests\":%zu,\"refused\":%zu,\"p50\":%u,\"p90\":%u,\"p99\":%u,"
           "\"max\":%u}\n", total,
           refused, latencies[total / 2], latencies[total * 9 / 10], latencies[total * 99 / 100],
           latencies[total - 1]);
    return 0;
}
