import FoundationEssentials
import NightjarFoundation
import NightjarHTTP
import Testing

@Suite struct JSONDatesTests {
    struct Event: Codable, Equatable {
        var createdAt: Date
        var endedAt: Date?
    }

    private let moment = Date(timeIntervalSince1970: 1_700_000_000.5)

    @Test(arguments: [
        (#"{"created_at": "2023-11-14T22:13:20.500Z", "ended_at": null}"#, Timestamp.Format.iso8601),
        (#"{"created_at": "2023-11-15T00:13:20.5+02:00"}"#, .iso8601),
        (#"{"created_at": 1700000000.5}"#, .secondsSince1970),
        (#"{"created_at": 1700000000500}"#, .millisecondsSince1970),
    ])
    func datesAreRead(text: String, format: Timestamp.Format) throws {
        let options = JSONDecodingOptions(names: .convertFromSnakeCase).dates(format)
        #expect(try JSONValue(parsing: text).decode(Event.self, options) == Event(createdAt: moment, endedAt: nil))
    }

    @Test func customFormatIsRead() throws {
        let options = JSONDecodingOptions().dates { decoder in
            Date(timeIntervalSince1970: 86_400 * Double(try decoder.singleValueContainer().decode(Int.self)))
        }
        #expect(try JSONValue(parsing: "[1]").decode([Date].self, options) == [Date(timeIntervalSince1970: 86_400)])
    }

    @Test func invalidDateIsReportedWithItsPath() {
        #expect {
            try JSONValue(parsing: #"[{"createdAt": "soon"}]"#).decode(
                [Event].self, JSONDecodingOptions().dates(.iso8601))
        } throws: { error in
            (error as? NightjarError)?.message
                == #"the JSON is not as expected: at "/0/createdAt": expected a timestamp like 2024-02-29T23:59:59Z, found another string"#
        }
    }

    @Test(arguments: [
        (Timestamp.Format.iso8601, #"{"created_at":"2023-11-14T22:13:20.500Z"}"#),
        (.secondsSince1970, #"{"created_at":1700000000.5}"#),
        (.millisecondsSince1970, #"{"created_at":1700000000500}"#),
    ])
    func datesAreWritten(format: Timestamp.Format, text: String) throws {
        let options = JSONEncodingOptions(names: .convertToSnakeCase).dates(format)
        let written = try JSONValue(encoding: Event(createdAt: moment, endedAt: nil), options).encoded()
        #expect(String(buffer: written) == text)
    }

    @Test func dateBeyondTheCalendarIsRejected() {
        #expect(throws: NightjarError.self) {
            try JSONValue(encoding: [Date(timeIntervalSince1970: 1e18)], JSONEncodingOptions().dates(.iso8601))
        }
    }

    @Test func datesAgreeWithFoundation() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let date = Date(
                timeIntervalSince1970: Double(Int64.random(in: -12_219_292_800...253_402_300_799, using: &generator)))
            #expect(Timestamp(iso8601: date.ISO8601Format()).map(Date.init) == date)
            #expect(Timestamp(date)?.description == date.ISO8601Format())
        }
    }
}
