// What the load tools share: errors, the clock, loopback sockets.
#pragma once
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/// Ends the tool with a sentence on standard error and status 1.
static inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/// Seconds on CLOCK_MONOTONIC, the clock of Python's time.monotonic().
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline struct sockaddr_in loopback(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/// A connected, non-blocking socket to a port on 127.0.0.1.
static inline int connect_loopback(int port) {
    int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) fail("socket: %s", strerror(errno));
    struct sockaddr_in address = loopback(port);
    if (connect(socket_, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect to port %d: %s", port, strerror(errno));
    int one = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int mode = 1;
    if (ioctl(socket_, FIONBIO, &mode) != 0) fail("ioctl: %s", strerror(errno));
    return socket_;
}

static inline void watch(int poll, int descriptor, void *context) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = context};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("epoll_ctl: %s", strerror(errno));
}

/// Writes a short message whole; the socket's buffer always has room for it.
static inline void send_all(int descriptor, const char *bytes, size_t count) {
    if (send(descriptor, bytes, count, MSG_NOSIGNAL) != (ssize_t)count)
        fail("send: %s", strerror(errno));
}
