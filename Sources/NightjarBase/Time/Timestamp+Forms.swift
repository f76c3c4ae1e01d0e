extension Timestamp {
    /// ISO 8601, as a clock so many minutes east of UTC shows it: `2026-01-31T23:59:59.5+02:00`.
    ///
    /// - Parameters:
    ///   - minutesEast: less than a day in either direction; 0 is written as `Z`.
    ///   - fractionDigits: 0 to 9, what is behind them dropped; nil: as many as it has.
    /// - Returns: nil for other numbers, and where that clock shows no year from 0 to 9999.
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
    /// Rounded down. The years 0 to 9999 fit many times over.
    package var milliseconds: Int64 { seconds * 1000 + Int64(nanoseconds / 1_000_000) }
}
