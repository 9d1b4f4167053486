// What webhooks are posted to: answers every message at once with 200, and keeps what it was told.
//
//   webhook_receiver
//
// A message to a path that begins with `/silent` is read and never answered.
//
// Prints the port it listens on. `GET /counts` answers how many messages were answered since they
// were fetched, and how many were not answered at all. `GET /messages` hands them out, in the order
// in which they were whole: a line each, with the instant by CLOCK_MONOTONIC, the event's position
// (the end of its webhook-id), and its task, or "-". They are forgotten then. Ends with the process
// that started it, or when told to.
#include "common.h"

#include <strings.h>

enum { ROOM = 1 << 16, ID_ROOM = 32, LINE_ROOM = 96 };

struct client {
    int descriptor;
    int is_silent;
    size_t length;
    char *request; // as much as has come; of a silent one nothing is kept
};

struct message {
    double at;
    long long position;
    char task[ID_ROOM];
};

static struct message *messages;
static size_t message_count, message_room, silent_count;

static void close_client(struct client *c) {
    close(c->descriptor);
    free(c->request);
    free(c);
}

/// The value of a field of the head that ends at `end`, or NULL. It ends with its line.
static const char *field(const char *head, const char *end, const char *name) {
    size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line < end; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, size) != 0 || line[size] != ':') continue;
        line += size + 1;
        return line + strspn(line, " \t");
    }
    return NULL;
}

/// Copies what is quoted at the start of the text, as far as there is room.
static void copy_quoted(char *target, const char *text) {
    size_t length = strcspn(text, "\"");
    if (length >= ID_ROOM) fail("an id is longer than %d bytes", ID_ROOM - 1);
    memcpy(target, text, length);
    target[length] = 0;
}

static void keep_message(const char *head, const char *body) {
    static const char member[] = "\"task\":\"";
    const char *id = field(head, body, "webhook-id");
    if (!id) fail("a message has no webhook-id: %s", head);
    const char *end = id + strcspn(id, "\r"), *position = end;
    while (position > id && position[-1] >= '0' && position[-1] <= '9') position--;
    if (position == end) fail("a webhook-id ends without a position: %s", id);
    if (message_count == message_room) {
        message_room = message_room ? message_room * 2 : 1 << 14;
        messages = realloc(messages, message_room * sizeof *messages);
        if (!messages) fail("out of memory");
    }
    struct message *m = &messages[message_count++];
    m->at = now();
    m->position = strtoll(position, NULL, 10);
    const char *task = strstr(body, member);
    copy_quoted(m->task, task ? task + sizeof member - 1 : "-");
}

/// Answers with a text, however long it is.
static void answer_text(int descriptor, const char *text, size_t length) {
    char head[96];
    int size =
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", length);
    send_all(descriptor, head, (size_t)size);
    while (length > 0) {
        ssize_t n = send(descriptor, text, length, MSG_NOSIGNAL);
        if (n <= 0) fail("send: %s", strerror(errno));
        text += n;
        length -= (size_t)n;
    }
}

static void answer_counts(int descriptor) {
    char text[64];
    int size = snprintf(text, sizeof text, "%zu %zu\n", message_count, silent_count);
    answer_text(descriptor, text, (size_t)size);
}

static void answer_messages(int descriptor) {
    char *text = malloc(message_count * LINE_ROOM + 1);
    if (!text) fail("out of memory");
    size_t length = 0;
    for (size_t i = 0; i < message_count; i++)
        length += (size_t)snprintf(text + length, LINE_ROOM, "%.6f %lld %s\n", messages[i].at,
                                   messages[i].position, messages[i].task);
    answer_text(descriptor, text, length);
    free(text);
    message_count = 0;
}

/// Takes the request at the start of the buffer, if it is whole.
///
/// Returns how long it is, or 0 while it is not whole.
static size_t take_request(struct client *c) {
    static const char taken[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    char *body = strstr(c->request, "\r\n\r\n");
    if (!body) return 0;
    body += 4;
    const char *length = field(c->request, body, "Content-Length");
    size_t size = (size_t)(body - c->request) + (length ? strtoull(length, NULL, 10) : 0);
    if (c->length < size) return 0;
    if (strncmp(c->request, "GET /counts ", 12) == 0) {
        answer_counts(c->descriptor);
    } else if (strncmp(c->request, "GET /messages ", 14) == 0) {
        answer_messages(c->descriptor);
    } else if (strncmp(c->request, "POST ", 5) != 0) {
        fail("this is no message: %s", c->request);
    } else if (strncmp(c->request, "POST /silent", 12) == 0) {
        silent_count++;
        c->is_silent = 1;
    } else {
        keep_message(c->request, body);
        send_all(c->descriptor, taken, sizeof taken - 1);
    }
    return size;
}

/// Returns 0 when the client has gone.
static int read_client(struct client *c) {
    if (c->is_silent) c->length = 0;
    ssize_t n = recv(c->descriptor, c->request + c->length, ROOM - 1 - c->length, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    if (c->is_silent) return 1;
    c->length += (size_t)n;
    c->request[c->length] = 0;
    size_t used = take_request(c);
    if (used == 0 && c->length == ROOM - 1) fail("a message is longer than %d bytes", ROOM - 1);
    memmove(c->request, c->request + used, c->length + 1 - used);
    c->length -= used;
    return 1;
}

static void accept_all(int listener, int poll) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EAGAIN) return;
            fail("accept: %s", strerror(errno));
        }
        int one = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct client *c = calloc(1, sizeof *c);
        if (!c || !(c->request = malloc(ROOM))) fail("out of memory");
        c->descriptor = descriptor;
        watch(poll, descriptor, c);
    }
}

int main(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        fail("listen: %s", strerror(errno));
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0) fail("epoll_create1: %s", strerror(errno));
    watch(poll, listener, &listener);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct epoll_event events[64];
    for (;;) {
        int n = epoll_wait(poll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            void *context = events[i].data.ptr;
            if (context == &listener) accept_all(listener, poll);
            else if (!read_client(context)) close_client(context);
        }
    }
}
