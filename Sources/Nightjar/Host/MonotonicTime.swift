import NightjarSystem

extension timespec {
    /// Whether the monotonic clock has reached this time.
    var hasPassed: Bool {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return (now.tv_sec, now.tv_nsec) >= (tv_sec, tv_nsec)
    }
}
