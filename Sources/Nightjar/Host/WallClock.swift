import NightjarHTTP
import NightjarSystem

/// The realtime clock. It is not used to measure durations, because users can set it.
package enum WallClock {
    static func secondsSince1970() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }

    package static func now() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // A clock set beyond the year 9999 is treated as the epoch.
        return Timestamp(secondsSince1970: Int64(now.tv_sec), nanoseconds: Int32(now.tv_nsec)) ?? .epoch
    }
}
