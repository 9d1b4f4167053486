#include "assets.h"

/* Package.swift says it, by the environment's FERRY_COMMIT: another commit compiles this file and
   links, and nothing else. */
#ifndef FERRY_COMMIT
#define FERRY_COMMIT "unknown"
#endif

const char *ferry_commit(void) { return FERRY_COMMIT; }
