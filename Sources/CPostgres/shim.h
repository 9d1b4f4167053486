#pragma once
#include <libpq-fe.h>

/* Drops what the server would like to say beside its answers; libpq's own default writes it to standard error. */
static inline void cpostgres_ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}
static inline void cpostgres_ignore_notices(PGconn *connection) {
    PQsetNoticeReceiver(connection, cpostgres_ignore_notice, 0);
}
