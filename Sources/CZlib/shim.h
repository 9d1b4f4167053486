#pragma once
#include <zlib.h>

/* A macro that Swift cannot read. */
static inline int czlib_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
