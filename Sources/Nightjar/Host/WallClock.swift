import Glibc
import NightjarHTTP

/// The clock that dates are told by: it may be set, so lengths of time are not measured with it.
enum WallClock {
    static func secondsSince1970() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }

    static func now() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // A clock that is set beyond the year 9999 tells no time.
        return Timestamp(secondsSince1970: Int64(now.tv_sec), nanoseconds: Int32(now.tv_nsec)) ?? .epoch
    }
}
