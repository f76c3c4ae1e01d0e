import Foundation
import Testing

@testable import NightjarHTTP

/// Cookie dates (RFC 6265bis section 5.1.1).
@Suite struct CookieDateTests {
    /// Compares every 13th day from 1601 to 2408 with Foundation's calendar.
    @Test func daysAgreeWithFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        var day = -134_774  // 1601-01-01
        while day < 160_000 {
            let date = Date(timeIntervalSince1970: Double(day) * 86400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let text = "\(parts.day ?? 0) \(months[(parts.month ?? 0) - 1]) \(parts.year ?? 0) 12:34:56"
            guard parse(text) == Int64(day) * 86400 + 45296 else {
                Issue.record("\(text) is read as \(String(describing: parse(text)))")
                return
            }
            day += 13
        }
    }

    private func parse(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { CookieDate.parse(UnsafeRawBufferPointer($0)) }
    }
}
