#pragma once
/* System calls of Linux that Glibc's module hides behind _GNU_SOURCE, or has no function for. Each
   returns what the call does, with errno where that is -1. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat2(2) that stays below `folder`, follows no symbolic link, and makes no file. */
static inline int ferry_open_beneath(int folder, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/* renameat2(2) within `folder`, which fails with EEXIST where the new name is taken. */
static inline int ferry_rename_new(int folder, const char *from, const char *to) {
    const unsigned int no_replace = 1;
    return (int)syscall(SYS_renameat2, folder, from, folder, to, no_replace);
}
