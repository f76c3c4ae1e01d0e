import Glibc

/// Returns the processor time, in seconds, that this thread spends in `body`.
public func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let started = now()
    try body()
    return now() - started
}
