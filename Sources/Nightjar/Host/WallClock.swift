import Glibc

/// The clock that dates are told by: it may be set, so lengths of time are not measured with it.
enum WallClock {
    static func secondsSince1970() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
