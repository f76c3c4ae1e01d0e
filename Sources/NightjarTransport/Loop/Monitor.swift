import CPlatform
import NightjarSystem

/// A lock with a condition variable, which `Synchronization.Mutex` does not have.
package final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init() {
        pthread_mutex_init(mutex, nil)
        cplatform_init_condition(condition)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    @inline(__always)
    package func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    package func lock() { pthread_mutex_lock(mutex) }
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Waits for a signal. The lock is held before and after. May return without a signal.
    ///
    /// - Parameter deadline: On the monotonic clock; nil: unlimited.
    package func wait(until deadline: timespec?) {
        if var deadline {
            cplatform_wait_until(condition, mutex, &deadline)
        } else {
            pthread_cond_wait(condition, mutex)
        }
    }

    package func signal() { pthread_cond_signal(condition) }
    package func broadcast() { pthread_cond_broadcast(condition) }
}

extension Monitor {
    /// Returns the time after `timeout` on the monotonic clock.
    package static func deadline(after timeout: Duration) -> timespec {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let nanoseconds = now.tv_nsec + Int(timeout.components.attoseconds / 1_000_000_000)
        let (seconds, overflow) = now.tv_sec.addingReportingOverflow(Int(clamping: timeout.components.seconds))
        return timespec(
            tv_sec: overflow ? .max : seconds &+ nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }
}
