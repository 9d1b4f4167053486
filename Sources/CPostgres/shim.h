#pragma once
#include <libpq-fe.h>
#include <sys/eventfd.h>

/* Drops what the server would like to say beside its answers; libpq's own default writes it to standard error. */
static inline void cpostgres_ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}
static inline void cpostgres_ignore_notices(PGconn *connection) {
    PQsetNoticeReceiver(connection, cpostgres_ignore_notice, 0);
}

/* A descriptor that can be read once 8 bytes, a number, have been written to it; -1 with errno. */
static inline int cpostgres_make_event(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}
