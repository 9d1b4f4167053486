#pragma once
/* First: libevent's event-config.h defines _GNU_SOURCE, which would give fd_set another layout of
   names than the one that Swift's Glibc module saw. */
#include <features.h>
#include <sys/select.h>

#include <event2/event.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

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
