#include "heap.h"

/*
 * What a thread has freed it keeps for itself up to this size, of each size some few: without that
 * each transfer would ask all threads' heap for libcurl's buffer of 64 KiB.
 */
__attribute__((visibility("default"), used)) const char *malloc_conf = "tcache_max:131072";
