#pragma once
/* First: libevent's event-config.h defines _GNU_SOURCE, which would give fd_set another layout of
   names than the one that Swift's Glibc module saw. */
#include <features.h>
#include <sys/select.h>

#include <event2/event.h>
#include <event2/listener.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The thread that asks. pthread_self() is declared const, so a compiler may keep its result over an
   `await`, after which another thread may be running; the barrier forbids that. */
static __attribute__((noinline)) unsigned long cevent_thread(void) {
    __asm__ volatile("" ::: "memory");
    return (unsigned long)pthread_self();
}

/* Names the calling thread for debuggers and profilers; prctl is variadic, which Swift cannot call. */
static inline void cevent_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* pread(2) of what is in the page cache: -1 where the disk would have to be asked. By its number, since the C library
   declares preadv2 under _GNU_SOURCE only; 8 is RWF_NOWAIT. */
static inline long cevent_pread_nowait(int descriptor, void *buffer, size_t count, long long offset) {
    struct iovec part = {buffer, count};
    return syscall(
        SYS_preadv2, descriptor, &part, 1UL, (unsigned long)offset,
        (unsigned long)((unsigned long long)offset >> 32), 8);
}

/* jemalloc's mallctl(3), in a process that has its heap from there. */
extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));

/* Gives what is free of the heap back to the system. 4096 stands for all arenas (MALLCTL_ARENAS_ALL). */
static inline void cevent_trim_heap(void) {
    if (mallctl)
        mallctl("arena.4096.purge", 0, 0, 0, 0);
    else
        malloc_trim(0);
}

/* fallocate(2) with FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, which the C library declares under _GNU_SOURCE only. */
static inline int cevent_punch_hole(int descriptor, long long start, long long count) {
    return (int)syscall(SYS_fallocate, descriptor, 3, start, count);
}

/* A socket that gets a message for each change of an interface, an address or a route; -1 where there is none. */
static inline int cevent_route_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl name = {.nl_family = AF_NETLINK};
    name.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR |
                     RTMGRP_IPV6_ROUTE;
    if (descriptor >= 0 && bind(descriptor, (struct sockaddr *)&name, sizeof(name)) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}
