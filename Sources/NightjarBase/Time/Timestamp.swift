/// A point in time in the years 0 to 9999, with nanosecond resolution.
///
/// Leap seconds are not counted, as in POSIX: 23:59:60 equals 00:00:00 of the next day.
public struct Timestamp: Sendable, Hashable {
    /// Seconds since 1970-01-01T00:00:00Z, rounded down.
    public let seconds: Int64
    /// Nanoseconds after ``seconds``, 0 to 999,999,999.
    public let nanoseconds: Int32

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Timestamp(0)

    private init(_ seconds: Int64) {
        self.seconds = seconds
        nanoseconds = 0
    }

    /// Creates a timestamp. Returns nil if the time is outside the years 0 to 9999 or `nanoseconds` is out of range.
    public init?(secondsSince1970 seconds: Int64, nanoseconds: Int32 = 0) {
        guard Timestamp.range.contains(seconds), 0..<1_000_000_000 ~= nanoseconds else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Creates a timestamp, rounded to microseconds, which is about the precision of a double for current times.
    public init?(secondsSince1970 seconds: Double) {
        let whole = seconds.rounded(.down)
        let microseconds = ((seconds - whole) * 1e6).rounded()
        guard let exact = Int64(exactly: whole) else { return nil }
        let carry: Int64 = microseconds == 1e6 ? 1 : 0
        let (sum, overflow) = exact.addingReportingOverflow(carry)
        guard !overflow else { return nil }
        self.init(secondsSince1970: sum, nanoseconds: carry == 1 ? 0 : Int32(microseconds) * 1000)
    }

    public init?(millisecondsSince1970 milliseconds: Int64) {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        self.init(
            secondsSince1970: rest < 0 ? seconds - 1 : seconds,
            nanoseconds: Int32(rest < 0 ? rest + 1000 : rest) * 1_000_000)
    }

    /// Creates a timestamp, rounded to microseconds.
    public init?(millisecondsSince1970 milliseconds: Double) {
        let seconds = (milliseconds / 1000).rounded(.down)
        let microseconds = ((milliseconds - seconds * 1000) * 1000).rounded()
        guard let exact = Int64(exactly: seconds), Timestamp.range.contains(exact) else { return nil }
        let carry: Int64 = microseconds >= 1e6 ? 1 : 0
        self.init(secondsSince1970: exact + carry, nanoseconds: carry == 1 ? 0 : Int32(max(microseconds, 0)) * 1000)
    }

    /// Returns the timestamp after `duration`, or nil if the result is outside the years 0 to 9999.
    public func later(by duration: Duration) -> Timestamp? {
        let (whole, attoseconds) = duration.components
        let sum = Int64(nanoseconds) + attoseconds / 1_000_000_000
        let carry: Int64 = sum >= 1_000_000_000 ? 1 : sum < 0 ? -1 : 0
        let (later, overflow) = seconds.addingReportingOverflow(whole)
        let (total, overflowToo) = later.addingReportingOverflow(carry)
        guard !overflow, !overflowToo else { return nil }
        return Timestamp(secondsSince1970: total, nanoseconds: Int32(sum - carry * 1_000_000_000))
    }

    /// Returns the timestamp `count` nanoseconds earlier. Returns this timestamp if `count` is negative or if the
    /// result would be before the year 0.
    public func earlier(byNanoseconds count: Int64) -> Timestamp {
        let (whole, rest) = max(count, 0).quotientAndRemainder(dividingBy: 1_000_000_000)
        let difference = Int64(nanoseconds) - rest
        let borrow: Int64 = difference < 0 ? 1 : 0
        return Timestamp(
            secondsSince1970: seconds - whole - borrow, nanoseconds: Int32(difference + borrow * 1_000_000_000)) ?? self
    }

    public var secondsSince1970: Double { Double(seconds) + Double(nanoseconds) / 1e9 }

    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
}

extension Timestamp: Comparable {
    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}

// MARK: As text

extension Timestamp: CustomStringConvertible {
    /// Parses RFC 3339 (section 5.6): `2026-01-31T23:59:59Z`. Fraction digits after the ninth are ignored.
    public init?(rfc3339 text: String) { self.init(text, isStrict: true) }

    /// Parses RFC 3339 and the other ISO 8601 forms that APIs use: a space instead of `T`, a comma as the decimal
    /// separator, and offsets such as `+0200` and `+02`. Returns nil if the text has no offset.
    public init?(iso8601 text: String) { self.init(text, isStrict: false) }

    private init?(_ text: String, isStrict: Bool) {
        var reader = FieldReader(text.utf8)
        guard let day = reader.date(), reader.take(isStrict ? "Tt" : "Tt ") != nil,
            let hour = reader.number(2), hour < 24, reader.take(":") != nil,
            let minute = reader.number(2), minute < 60, reader.take(":") != nil,
            let second = reader.number(2), second <= 60
        else { return nil }
        var nanoseconds = 0
        if reader.take(isStrict ? "." : ".,") != nil {
            guard let fraction = reader.billionths() else { return nil }
            nanoseconds = fraction
        }
        guard let offset = Timestamp.offset(&reader, isStrict: isStrict), reader.isAtEnd else { return nil }
        let minuteOfDay = hour * 60 + minute - offset
        // A leap second is the last second of a UTC day. RFC 3339 section 5.7.
        guard second < 60 || (minuteOfDay + 2 * 1440) % 1440 == 1439 else { return nil }
        self.init(
            secondsSince1970: day * 86_400 + Int64(minuteOfDay) * 60 + Int64(second),
            nanoseconds: Int32(second < 60 ? nanoseconds : 0))
    }

    /// Reads a UTC offset in minutes east of UTC.
    private static func offset(_ reader: inout FieldReader, isStrict: Bool) -> Int? {
        if reader.take("Zz") != nil { return 0 }
        guard let sign = reader.take("+-"), let hours = reader.number(2), hours < 24 else { return nil }
        var minutes = 0
        let hasColon = reader.take(":") != nil
        if isStrict, !hasColon { return nil }
        if hasColon || !reader.isAtEnd {
            guard let number = reader.number(2), number < 60 else { return nil }
            minutes = number
        }
        return (hours * 60 + minutes) * (sign == UInt8(ascii: "+") ? 1 : -1)
    }

    /// The timestamp as RFC 3339 in UTC with 0, 3, 6 or 9 fraction digits, as many as needed.
    public var description: String {
        let fraction =
            switch nanoseconds {
            case 0: ""
            case let number where number % 1_000_000 == 0: "." + CalendarTime.padded(Int64(number) / 1_000_000, 3)
            case let number where number % 1000 == 0: "." + CalendarTime.padded(Int64(number) / 1000, 6)
            default: "." + CalendarTime.padded(Int64(nanoseconds), 9)
            }
        return CalendarTime.dateAndTime(secondsSince1970: seconds) + fraction + "Z"
    }
}
