// Makes every write to a content take 20 ms longer, as on a disk that many share.
//
//   LD_PRELOAD=slow_writes.so ferry serve …
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/// Whether a descriptor is of a file in the folder of contents.
static int is_content(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "/content/") != NULL;
}

static ssize_t (*next_pwrite)(int, const void *, size_t, off_t);

__attribute__((constructor)) static void find_next(void) {
    next_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (is_content(descriptor)) {
        struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
        while (nanosleep(&pause, &pause) != 0) {}
    }
    return next_pwrite(descriptor, bytes, count, offset);
}
