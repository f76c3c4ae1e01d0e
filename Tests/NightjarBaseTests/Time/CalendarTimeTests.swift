import Foundation
import NightjarTestSupport
import Testing

@testable import NightjarBase

@Suite struct CalendarTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
            (951_782_399.9996, "2000-02-28T23:59:59.999Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"), (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (-62_135_596_800, "0001-01-01T00:00:00.000Z"), (253_402_300_799, "9999-12-31T23:59:59.000Z"),
            (1e300, "9999-12-31T23:59:59.999Z"), (-.infinity, "0001-01-01T00:00:00.000Z"),
            (.nan, "0001-01-01T00:00:00.000Z"),
        ] as [(Double, String)])
    func timeIsWrittenAsISO8601(seconds: Double, expected: String) {
        #expect(CalendarTime.iso8601(secondsSince1970: seconds) == expected)
    }

    @Test func textAgreesWithFoundation() {
        var random = SeededRandom(seed: 3)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for _ in 0..<5000 {
            let seconds = Double(Int64.random(in: -12_219_292_800...253_402_300_799, using: &random))
            #expect(
                CalendarTime.iso8601(secondsSince1970: seconds)
                    == Date(timeIntervalSince1970: seconds).formatted(format))
        }
    }
}
