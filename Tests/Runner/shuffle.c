// Delays some of the jobs that go to the pool of cooperative threads by up to LONGEST, so that what runs side by side comes in
// another order: as on a busy machine, only more so. Preloaded by `run --shuffle SEED`.
//
// Every job passes swift_task_enqueueGlobal_hook if there is one (GlobalExecutor.cpp of Swift 6.3).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ONE_IN 4
#define LONGEST 20000  // microseconds

typedef __attribute__((swiftcall)) void (*enqueue)(void *job);

struct late {
    struct late *next;
    void *job;
    enqueue original;
    uint64_t due;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct late *waiting;
static uint64_t state;

static uint64_t now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec * 1000000ull + moment.tv_nsec / 1000;
}

static void *hand_over(void *nothing) {
    for (;;) {
        usleep(300);
        uint64_t moment = now();
        struct late *due = NULL;
        pthread_mutex_lock(&lock);
        for (struct late **place = &waiting; *place;) {
            struct late *late = *place;
            if (late->due > moment) {
                place = &late->next;
                continue;
            }
            *place = late->next;
            late->next = due;
            due = late;
        }
        pthread_mutex_unlock(&lock);
        for (struct late *next; due; due = next) {
            next = due->next;
            due->original(due->job);
            free(due);
        }
    }
    return nothing;
}

static __attribute__((swiftcall)) void delay(void *job, enqueue original) {
    struct late *late = malloc(sizeof *late);
    pthread_mutex_lock(&lock);
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    uint64_t chance = state;
    if (late && chance % ONE_IN == 0) {
        *late = (struct late){waiting, job, original, now() + (chance >> 20) % LONGEST};
        waiting = late;
        late = NULL;
        job = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(late);
    if (job) original(job);
}

static __attribute__((constructor)) void begin(void) {
    // Programs that the tests start have no such runtime, or no need of this.
    void **hook = dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal_hook");
    const char *seed = getenv("SHUFFLE_SEED");
    pthread_t thread;
    if (!hook || !seed || pthread_create(&thread, NULL, hand_over, NULL) != 0) return;
    state = strtoull(seed, NULL, 10) * 0x9e3779b97f4a7c15ull | 1;
    *hook = (void *)delay;
}
