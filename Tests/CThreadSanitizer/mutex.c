// Shows the thread sanitizer what Swift's Mutex does when two threads want it at once.
//
// An uncontended Mutex is locked by an atomic operation that the compiler places in our own code, which the sanitizer
// sees. A contended one is locked inside libswiftSynchronization, which is not instrumented: the sanitizer then takes every
// access under the lock for a race. These two functions stand in front of the library's own, call them, and say what
// happened. They exist only in a build with --sanitize=thread.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void (*lock_function)(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void (*unlock_function)(__attribute__((swift_context)) void *mutex);

static void *original(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

__attribute__((swiftcall)) void rankfs_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) __asm__(LOCK);
__attribute__((swiftcall)) void rankfs_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
    ((lock_function)original(LOCK))(thread, mutex);
    __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void rankfs_unlock_slow(__attribute__((swift_context)) void *mutex) __asm__(UNLOCK);
__attribute__((swiftcall)) void rankfs_unlock_slow(__attribute__((swift_context)) void *mutex) {
    __tsan_release(mutex);
    ((unlock_function)original(UNLOCK))(mutex);
}

#endif
#endif

// A file that is empty otherwise is not C.
typedef int rankfs_not_empty;
