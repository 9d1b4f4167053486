#include "heap.h"

/*
 * What a thread has freed it keeps for itself up to this size, a few blocks of each size: up to
 * 32 KiB by default, and each transfer would ask all threads' heap for libcurl's buffer of 64 KiB.
 * MALLOC_CONF in the environment comes after this.
 */
__attribute__((visibility("default"), used)) const char *malloc_conf = "tcache_max:131072";
