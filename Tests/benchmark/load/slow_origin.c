// An origin that never hurries: every download is promised 10 MiB and given 100 bytes a second.
//
//   slow_origin
//
// Prints the port it listens on. `GET /active` answers how many downloads are being served.
// Ends with the process that started it, or when told to.
#include "common.h"

#include <sys/timerfd.h>

enum { PIECE = 100, REQUEST_ROOM = 4096 };

struct client {
    int descriptor;
    int is_served;
    size_t request_length;
    char *request;       // until its blank line has come
    struct client *previous, *next;
};

static struct client served = {.previous = &served, .next = &served};
static int active;
static char piece[PIECE];

static void close_client(struct client *c) {
    if (c->is_served) {
        c->previous->next = c->next;
        c->next->previous = c->previous;
        active--;
    }
    close(c->descriptor);
    free(c->request);
    free(c);
}

static void answer_active(struct client *c) {
    char body[32], answer[128];
    int length = snprintf(body, sizeof body, "%d\n", active);
    length = snprintf(answer, sizeof answer,
                      "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, body);
    send_all(c->descriptor, answer, (size_t)length);
    c->request_length = 0;
}

static void begin_download(struct client *c) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                               "Content-Length: 10485760\r\nETag: \"slow\"\r\n\r\n";
    send_all(c->descriptor, head, sizeof head - 1);
    free(c->request);
    c->request = NULL;
    c->is_served = 1;
    c->previous = served.previous;
    c->next = &served;
    served.previous->next = c;
    served.previous = c;
    active++;
}

/// Returns 0 when the client has gone.
static int read_client(struct client *c) {
    char drain[512];
    if (c->is_served) {
        ssize_t n = recv(c->descriptor, drain, sizeof drain, MSG_DONTWAIT);
        return n > 0 || (n < 0 && errno == EAGAIN);
    }
    ssize_t n = recv(c->descriptor, c->request + c->request_length,
                     REQUEST_ROOM - 1 - c->request_length, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    c->request_length += (size_t)n;
    c->request[c->request_length] = 0;
    if (!strstr(c->request, "\r\n\r\n")) return c->request_length < REQUEST_ROOM - 1;
    if (strncmp(c->request, "GET /active ", 12) == 0) answer_active(c);
    else begin_download(c);
    return 1;
}

static void accept_all(int listener, int poll) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EAGAIN) return;
            fail("accept: %s", strerror(errno));
        }
        struct client *c = calloc(1, sizeof *c);
        if (!c || !(c->request = malloc(REQUEST_ROOM))) fail("out of memory");
        c->descriptor = descriptor;
        watch(poll, descriptor, c);
    }
}

static void send_pieces(int timer) {
    uint64_t ticks;
    if (read(timer, &ticks, sizeof ticks) < 0) return;
    for (struct client *c = served.next; c != &served; c = c->next)
        send(c->descriptor, piece, PIECE, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int main(void) {
    memset(piece, '.', PIECE);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        fail("listen: %s", strerror(errno));

    int poll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct itimerspec every_second = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
    if (poll < 0 || timer < 0 || timerfd_settime(timer, 0, &every_second, NULL) != 0)
        fail("epoll or timer: %s", strerror(errno));
    watch(poll, listener, &listener);
    watch(poll, timer, &timer);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct epoll_event events[256];
    for (;;) {
        int n = epoll_wait(poll, events, 256, -1);
        for (int i = 0; i < n; i++) {
            void *context = events[i].data.ptr;
            if (context == &listener) accept_all(listener, poll);
            else if (context == &timer) send_pieces(timer);
            else if (!read_client(context)) close_client(context);
        }
    }
}
