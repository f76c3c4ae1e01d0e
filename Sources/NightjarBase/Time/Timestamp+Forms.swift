extension Timestamp {
    /// Formats the timestamp as ISO 8601 with a UTC offset: `2026-01-31T23:59:59.5+02:00`.
    ///
    /// - Parameters:
    ///   - minutesEast: the offset in minutes, between -1439 and 1439. 0 is written as `Z`.
    ///   - fractionDigits: the number of fraction digits, 0 to 9. Further digits are truncated. Nil writes as many
    ///     digits as needed.
    /// - Returns: nil if a parameter is out of range, or if the local year is not from 0 to 9999.
    public func iso8601(minutesEast: Int, fractionDigits: Int? = nil) -> String? {
        guard -1440 < minutesEast, minutesEast < 1440, 0...9 ~= fractionDigits ?? 0,
            let local = later(by: .seconds(60 * Int64(minutesEast)))
        else { return nil }
        var text = CalendarTime.dateAndTime(secondsSince1970: local.seconds)
        var fraction = CalendarTime.padded(Int64(nanoseconds), 9)[...]
        if let fractionDigits {
            fraction = fraction.prefix(fractionDigits)
        } else {
            while fraction.last == "0" { fraction.removeLast() }
        }
        if !fraction.isEmpty { text += "." + fraction }
        guard minutesEast != 0 else { return text + "Z" }
        let distance = Int64(abs(minutesEast))
        return text + (minutesEast < 0 ? "-" : "+") + CalendarTime.padded(distance / 60, 2) + ":"
            + CalendarTime.padded(distance % 60, 2)
    }
}

extension Timestamp {
    /// Milliseconds since 1970, rounded down.
    package var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds / 1_000_000) }
}
