import NightjarTestSupport
import Testing

@testable import NightjarJSON

/// Random documents round-trip, and decoding them never traps.
@Suite struct JSONRoundTripTests {
    private struct Everything: Codable, Equatable {
        var a: Int?
        var b: UInt8?
        var c: Double?
        var d: [String: [Int64]]?
        var e: Timestamp?
        var f: [Everything]?
        var g: JSONValue?
        var h: Bool?
    }

    private func document(_ random: inout SeededRandom, _ depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 4 ? 9 : 7), using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: .integer(Int64.random(in: -300...300, using: &random))
        case 4: .unsigned(UInt64.random(in: (1 << 63) ... .max, using: &random))
        case 5: .number(finite(&random))
        case 6: .string(["", "2024-02-29T23:59:59Z", "é\u{0}\"\\\n", "1", "~/"].randomElement(using: &random) ?? "")
        case 7: .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in document(&random, depth + 1) })
        default:
            .object(
                (0..<Int.random(in: 0..<12, using: &random)).map { _ in
                    .init(String("abcdefgh".randomElement(using: &random) ?? "a"), document(&random, depth + 1))
                })
        }
    }

    private func finite(_ random: inout SeededRandom) -> Double {
        let bits = Double(bitPattern: UInt64.random(in: .min ... .max, using: &random))
        return bits.isFinite ? bits : 0.5
    }

    @Test func randomDocumentsRoundTripWithoutTraps() throws {
        var random = SeededRandom(seed: 11)
        let formats: [Timestamp.Format] = [.iso8601, .secondsSince1970, .millisecondsSince1970]
        for _ in 0..<3000 {
            let made = document(&random)
            let read = try made.encoded().withUnsafeReadableBytes { try JSONValue(parsing: $0) }
            #expect(read == made)
            for format in formats {
                let options = JSONDecodingOptions(names: .convertFromSnakeCase).timestamps(format)
                if let value = try? read.decode(Everything.self, options) {
                    let writing = JSONEncodingOptions(names: .convertToSnakeCase).timestamps(.iso8601)
                    let reading = JSONDecodingOptions(names: .convertFromSnakeCase)
                    // Timestamps are written as ISO 8601, because a double may not represent their fraction exactly.
                    #expect(try JSONValue(encoding: value, writing).decode(Everything.self, reading) == value)
                }
                _ = try? read.decode([Everything?].self, options)
                _ = try? read.decode([Timestamp].self, options)
                _ = try? read.decode([String: Int8].self, options)
                _ = try? read.decode(Float.self, options)
                _ = try? read.decode(Int128.self, options)
            }
        }
    }
}
