import Testing

@testable import NightjarJSON

@Suite struct TimestampJSONTests {
    private func read(_ text: String, _ format: Timestamp.Format) -> String {
        do {
            let moments = try JSONValue(parsing: text).decode(
                [Timestamp].self, JSONDecodingOptions().timestamps(format))
            return moments.map(\.description).joined(separator: " ")
        } catch let error as NightjarError {
            return error.message.replacing("the JSON is not as expected: ", with: "")
        } catch {
            return "another error: \(error)"
        }
    }

    @Test(arguments: [
        ("[1709251199]", Timestamp.Format.secondsSince1970, "2024-02-29T23:59:59Z"),
        ("[1709251199.0, -0.5]", .secondsSince1970, "2024-02-29T23:59:59Z 1969-12-31T23:59:59.500Z"),
        ("[1700000000.123]", .secondsSince1970, "2023-11-14T22:13:20.123Z"),
        ("[0.9999999]", .secondsSince1970, "1970-01-01T00:00:01Z"),
        ("[1700000000123]", .millisecondsSince1970, "2023-11-14T22:13:20.123Z"),
        ("[1700000000123.456, -1]", .millisecondsSince1970, "2023-11-14T22:13:20.123456Z 1969-12-31T23:59:59.999Z"),
        ("[-0.5]", .millisecondsSince1970, "1969-12-31T23:59:59.999500Z"),
        (
            "[9223372036854775807]", .millisecondsSince1970,
            #"at "/0": expected a timestamp in the years 0 to 9999, found one out of range"#
        ),
        (
            "[-9223372036854775808]", .millisecondsSince1970,
            #"at "/0": expected a timestamp in the years 0 to 9999, found one out of range"#
        ),
        (
            "[1e300]", .secondsSince1970,
            #"at "/0": expected a timestamp in the years 0 to 9999, found one out of range"#
        ),
        (
            "[-1e300]", .millisecondsSince1970,
            #"at "/0": expected a timestamp in the years 0 to 9999, found one out of range"#
        ),
        (#"["1709251199"]"#, .secondsSince1970, #"at "/0": expected a number, found a string"#),
        (#"["2024-02-29T23:59:59.5+00:00"]"#, .iso8601, "2024-02-29T23:59:59.500Z"),
        (
            #"["yesterday"]"#, .iso8601,
            #"at "/0": expected a timestamp like 2024-02-29T23:59:59Z, found another string"#
        ),
        ("[1709251199]", .iso8601, #"at "/0": expected a string, found an integer"#),
    ])
    func everyFormatIsRead(text: String, format: Timestamp.Format, outcome: String) {
        #expect(read(text, format) == outcome)
    }

    @Test func everyFormatIsWritten() throws {
        func write(_ moment: Double, _ format: Timestamp.Format) throws -> String {
            let options = JSONEncodingOptions().timestamps(format)
            return String(buffer: try JSONValue(encoding: [Timestamp(secondsSince1970: moment)], options).encoded())
        }
        #expect(try write(1_709_251_199, .iso8601) == #"["2024-02-29T23:59:59Z"]"#)
        #expect(try write(1_709_251_199, .secondsSince1970) == "[1709251199]")
        #expect(try write(1_709_251_199.5, .secondsSince1970) == "[1709251199.5]")
        #expect(try write(1_709_251_199.5, .millisecondsSince1970) == "[1709251199500]")
        #expect(try write(0.0005, .millisecondsSince1970) == "[0.5]")
    }
}
