#pragma once

/* jemalloc's options, which it reads before the program begins. https://jemalloc.net/jemalloc.3.html */
extern const char *malloc_conf;
