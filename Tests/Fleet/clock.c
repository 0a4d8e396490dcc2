// A clock that is wrong by CLOCK_AHEAD seconds, for one process: preloaded before the C library. What people set is wrong, what
// measures durations is right. Once the file CLOCK_SLEPT is there, the machine has been suspended for an hour, which
// CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not (clock_gettime(2)). (libfaketime 0.9.10 also moves CLOCK_BOOTTIME and not the timers that count by it, so that a
// program that sleeps by it never wakes, or at once.)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead(void) {
    const char *text = getenv("CLOCK_AHEAD");
    return text ? (time_t)strtol(text, NULL, 10) : 0;
}

static bool slept(void) {
    const char *file = getenv("CLOCK_SLEPT");
    int before = errno;
    bool is_there = file && access(file, F_OK) == 0;
    errno = before;
    return is_there;
}

int clock_gettime(clockid_t clock, struct timespec *moment) {
    int result = (int)syscall(SYS_clock_gettime, clock, moment);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) moment->tv_sec += ahead();
    if (result == 0 && clock == CLOCK_BOOTTIME && slept()) moment->tv_sec += 3600;
    return result;
}

int gettimeofday(struct timeval *restrict moment, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    moment->tv_sec = now.tv_sec;
    moment->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *moment) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
    if (moment) *moment = now.tv_sec;
    return now.tv_sec;
}

// Those who wait until a moment of that clock name it to the kernel, whose clock is right. Moments of the others are seconds since
// the machine was started.
static const struct timespec *shifted(const struct timespec *end, struct timespec *copy) {
    if (end->tv_sec < 1000000000) return end;
    *copy = *end;
    copy->tv_sec -= ahead();
    return copy;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
    struct timespec copy;
    int (*wait)(sem_t *, const struct timespec *) = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    return wait(semaphore, shifted(end, &copy));
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict end) {
    struct timespec copy;
    int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *) =
        (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return wait(condition, mutex, shifted(end, &copy));
}
