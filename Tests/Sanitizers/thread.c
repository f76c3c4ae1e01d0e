// Annotations for ThreadSanitizer about the synchronization in Swift's and Lua's code. scripts/sanitize links this
// file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// Synchronization.Mutex. An uncontended lock or unlock is an inlined atomic operation in our instrumented code. A
// contended lock or unlock calls libswiftSynchronization.so, which is not instrumented, so the sanitizer would report
// races. The functions below replace those of the library, call them, and report the ordering before or after the call.
// They use the address of the mutex's word, as the inlined operations do.

typedef __attribute__((swiftcall)) void (*lock_slow)(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) uint8_t (*try_lock_slow)(__attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void (*unlock_slow)(__attribute__((swift_context)) void *mutex);

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static void *library(const char *name, void **known) {
  void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);
  if (found) return found;
  found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  __atomic_store_n(known, found, __ATOMIC_RELEASE);
  return found;
}

__attribute__((swiftcall)) void mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex)
    __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
  static void *known;
  ((lock_slow)library(LOCK_SLOW, &known))(thread, mutex);
  __tsan_acquire(mutex);
}

__attribute__((swiftcall)) uint8_t mutex_try_lock_slow(__attribute__((swift_context)) void *mutex) __asm__(TRY_LOCK_SLOW);
__attribute__((swiftcall)) uint8_t mutex_try_lock_slow(__attribute__((swift_context)) void *mutex) {
  static void *known;
  uint8_t locked = ((try_lock_slow)library(TRY_LOCK_SLOW, &known))(mutex);
  if (locked & 1) __tsan_acquire(mutex);
  return locked;
}

__attribute__((swiftcall)) void mutex_unlock_slow(__attribute__((swift_context)) void *mutex) __asm__(UNLOCK_SLOW);
__attribute__((swiftcall)) void mutex_unlock_slow(__attribute__((swift_context)) void *mutex) {
  static void *known;
  __tsan_release(mutex);
  ((unlock_slow)library(UNLOCK_SLOW, &known))(mutex);
}

// Accesses to inout values. For a value without members, such as SystemRandomNumberGenerator, generic code passes an
// address that was never set, and the sanitizer crashes (swiftlang/swift issues 61244 and 66099). The linker's --wrap
// redirects these calls to this file, which drops calls with an address that the program cannot write. The address is
// either outside of the application's memory (compiler-rt's tsan_platform.h), or in code or constants. The sanitizer has
// mapped the shadow of these read-only and filled it with a marker (MapRodata of tsan_platform_linux.cpp).

void __real___tsan_external_write(void *address, void *caller, void *tag);

#if defined(__x86_64__)
static int is_writable(uintptr_t at) {
  enum { CONSTANT = 1 << 30 };
  int is_memory = (at >= 0x1000 && at < 0x020000000000) || (at >= 0x550000000000 && at < 0x5a0000000000) ||
                  (at >= 0x720000000000 && at < 0x740000000000) || (at >= 0x7a0000000000 && at < 0x800000000000);
  if (!is_memory) return 0;
  const uint32_t *shadow = (const uint32_t *)((at & ~(uintptr_t)0x700000000007) * 2 + 0x100000000000);
  return __atomic_load_n(shadow, __ATOMIC_RELAXED) != CONSTANT;
}
#else
static int is_writable(uintptr_t at) {
  (void)at;
  return 0;
}
#endif

void __wrap___tsan_external_write(void *address, void *caller, void *tag) {
  if (!is_writable((uintptr_t)address)) return;
  __attribute__((musttail)) return __real___tsan_external_write(address, caller, tag);
}

// Errors and yields of Lua. Debian builds liblua5.4 with _FORTIFY_SOURCE, so it calls __longjmp_chk, which the
// sanitizer does not intercept (it intercepts _setjmp, longjmp, _longjmp and siglongjmp). Each jump over our functions
// would leave them on the sanitizer's call stack. When its 65536 entries are full, an arbitrary later call crashes. This
// replacement omits glibc's check that the jump goes up the stack.

__attribute__((noreturn)) void __longjmp_chk(jmp_buf place, int value);
__attribute__((noreturn)) void __longjmp_chk(jmp_buf place, int value) { longjmp(place, value); }
