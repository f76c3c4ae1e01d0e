// Tells ThreadSanitizer of the waits of Swift's Synchronization.Mutex, which are futex calls that it cannot see.
//
// An uncontended lock or unlock is an atomic operation inlined into our code, which is instrumented. A contended one is
// done inside libswiftSynchronization.so, which is not: without these, what a Mutex guards would be reported as raced for.
// scripts/sanitize preloads this, so that these functions take the place of the library's: each calls the library's own
// and says before or after it what the mutex orders. The lock's word is the mutex's address, as it is for the inlined half.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

typedef __attribute__((swiftcall)) void (*lock_slow)(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) uint8_t (*try_lock_slow)(__attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void (*unlock_slow)(__attribute__((swift_context)) void *mutex);

// Of the sanitizer, which is linked into the program alone: a program without it is left as it is.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

// Synchronization._MutexHandle._lockSlow(UInt32)
__attribute__((swiftcall)) void mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
__attribute__((swiftcall)) void mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
  static lock_slow original;
  lock_slow call = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
  if (!call) {
    call = (lock_slow)next("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    __atomic_store_n(&original, call, __ATOMIC_RELEASE);
  }
  call(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

// Synchronization._MutexHandle._tryLockSlow() -> Bool
__attribute__((swiftcall)) uint8_t mutex_try_lock_slow(__attribute__((swift_context)) void *mutex)
    __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
__attribute__((swiftcall)) uint8_t mutex_try_lock_slow(__attribute__((swift_context)) void *mutex) {
  static try_lock_slow original;
  try_lock_slow call = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
  if (!call) {
    call = (try_lock_slow)next("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
    __atomic_store_n(&original, call, __ATOMIC_RELEASE);
  }
  uint8_t locked = call(mutex);
  if ((locked & 1) && __tsan_acquire) __tsan_acquire(mutex);
  return locked;
}

// Synchronization._MutexHandle._unlockSlow()
__attribute__((swiftcall)) void mutex_unlock_slow(__attribute__((swift_context)) void *mutex)
    __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
__attribute__((swiftcall)) void mutex_unlock_slow(__attribute__((swift_context)) void *mutex) {
  static unlock_slow original;
  unlock_slow call = __atomic_load_n(&original, __ATOMIC_ACQUIRE);
  if (!call) {
    call = (unlock_slow)next("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    __atomic_store_n(&original, call, __ATOMIC_RELEASE);
  }
  if (__tsan_release) __tsan_release(mutex);
  call(mutex);
}
