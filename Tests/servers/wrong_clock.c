/* Preloaded, it puts a process's wall clock wrong by WRONG_CLOCK seconds. Clocks that measure how
   long something takes stay right. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset;

__attribute__((constructor)) static void readOffset(void) {
    const char *text = getenv("WRONG_CLOCK");
    if (text) offset = atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset;
    return result;
}

int gettimeofday(struct timeval *time, void *zone) {
    int result = (int)syscall(SYS_gettimeofday, time, zone);
    if (!result) time->tv_sec += offset;
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
