#pragma once
#include <sqlite3.h>

/* Of variable arguments, which Swift does not see: whether SQLite counts the memory that it takes.
   Has an effect before its first other call only. https://sqlite.org/c3ref/c_config_covering_index_scan.html */
static inline int csqlite_count_memory(int counts) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, counts);
}
