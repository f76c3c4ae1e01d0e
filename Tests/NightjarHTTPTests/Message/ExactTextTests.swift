import Glibc
import NIOCore
import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

/// External texts are compared by code points. Swift treats canonically equivalent texts as equal.
@Suite("Canonically equivalent names are different names")
struct ExactTextTests {
    /// Equal for Swift's `String`.
    private static let composed = "caf\u{e9}"
    private static let decomposed = "cafe\u{301}"

    private let one = ExactTextTests.composed
    private let other = ExactTextTests.decomposed

    @Test func swiftTakesThemForEqual() {
        #expect(one == other)
        #expect("K" == "\u{212A}")
        #expect(!one.isExactly(other))
        #expect(!"K".isExactly("\u{212A}"))
        // The same length but different bytes.
        #expect(!"a\u{323}\u{307}".isExactly("a\u{307}\u{323}"))
        #expect("a\u{323}\u{307}" == "a\u{307}\u{323}")
        #expect(one.isExactly("caf" + "\u{e9}"))
        #expect("".isExactly(""))
    }

    @Test func tablesTellThemApart() {
        var table = ExactDictionary<Int>()
        table[one] = 1
        table[other] = 2
        #expect(table.count == 2)
        #expect(table[one] == 1)
        table.removeValue(one)
        #expect(table[one] == nil && table[other] == 2)
        var set = ExactSet([one])
        #expect(!set.contains(other))
        #expect(set.insert(other) && !set.insert(other))
    }

    /// Each accented letter can be written in two ways, so many names can be equivalent. They must not collide.
    @Test func manyEquivalentNamesAreFoundQuickly() {
        let seconds = processorSeconds {
            var set = ExactSet()
            for number in 0..<(1 << 15) {
                set.insert((0..<15).map { number >> $0 & 1 == 0 ? "\u{e9}" : "e\u{301}" }.joined())
            }
        }
        #expect(seconds < 20)
    }

    // MARK: JSON

    @Test func jsonValuesAreCompared() throws {
        #expect(JSONValue.string(one) != .string(other))
        let object = JSONValue.object([.init(one, 1), .init(other, 2)])
        #expect(object[other] == 2)
        #expect(object != .object([.init(other, 1), .init(one, 2)]))
        #expect(JSONPointer(tokens: [one]) != JSONPointer(tokens: [other]))
        #expect(JSONPointer(tokens: [other]).value(in: object) == 2)
        #expect(object.isEquivalent(to: .object([.init(other, 2), .init(one, 1)])))
        #expect(JSONValue.object([.init(one, 1)]).firstDifference(from: .object([.init(other, 1)])) != nil)
    }

    private struct Both: Codable, Equatable {
        var composed: Int
        var decomposed: Int

        enum CodingKeys: String, CodingKey {
            case composed = "caf\u{e9}"
            case decomposed = "cafe\u{301} "
        }
    }

    @Test func typesAreReadByTheExactName() throws {
        let value = JSONValue.object([.init(other, 5), .init(one, 1), .init(other + " ", 2)])
        #expect(try value.decode(Both.self) == Both(composed: 1, decomposed: 2))
        let many = (0..<20).map { JSONValue.Member("m\($0)", .null) }
        guard case .object(let members) = value else { return }
        #expect(try JSONValue.object(many + members).decode(Both.self) == Both(composed: 1, decomposed: 2))
    }

    // MARK: JSON Schema

    /// The schema, a document, and whether it is valid. `C` is the composed name, `D` the decomposed one.
    @Test(arguments: [
        (#"{"required": ["C"]}"#, #"{"C": 1}"#, true),
        (#"{"required": ["C"]}"#, #"{"D": 1}"#, false),
        (#"{"properties": {"C": {"type": "string"}}}"#, #"{"D": 1}"#, true),
        (#"{"properties": {"C": {"type": "string"}, "D": {"type": "integer"}}}"#, #"{"C": "", "D": 1}"#, true),
        (#"{"properties": {"C": {"type": "string"}, "D": {"type": "integer"}}}"#, #"{"C": 1, "D": 1}"#, false),
        (#"{"properties": {"C": true}, "additionalProperties": false}"#, #"{"C": 1}"#, true),
        (#"{"properties": {"C": true}, "additionalProperties": false}"#, #"{"D": 1}"#, false),
        (
            #"{"properties": {"C": true}, "patternProperties": {"^x": true}, "additionalProperties": false}"#,
            #"{"D": 1}"#, false
        ),
        (#"{"properties": {"C": true}, "unevaluatedProperties": false}"#, #"{"D": 1}"#, false),
        (#"{"dependentRequired": {"C": ["a"]}}"#, #"{"D": 1}"#, true),
        (#"{"dependentRequired": {"a": ["C"]}}"#, #"{"a": 1, "D": 1}"#, false),
        (#"{"dependentSchemas": {"C": false}}"#, #"{"D": 1}"#, true),
        (#"{"const": {"C": "C"}}"#, #"{"C": "D"}"#, false),
        (#"{"enum": ["C"]}"#, #""D""#, false),
        (#"{"uniqueItems": true}"#, #"[{"C": 1, "D": 2}, {"D": 2, "C": 1}]"#, false),
        (#"{"uniqueItems": true}"#, #"["C", "D"]"#, true),
        (##"{"$defs": {"C": {"type": "string"}, "D": {"type": "integer"}}, "$ref": "#/$defs/D"}"##, "1", true),
        (##"{"$defs": {"a": {"$anchor": "C", "type": "string"}, "b": {"$anchor": "D"}}, "$ref": "#D"}"##, "1", true),
    ])
    func schemas(schema: String, document: String, isValid: Bool) throws {
        func spelled(_ text: String) -> String {
            text.replacingOccurrences(of: "C", with: one).replacingOccurrences(of: "D", with: other)
        }
        let schema = try JSONSchema(parsing: spelled(schema))
        let document = try JSONValue(parsing: spelled(document))
        #expect((schema.mismatch(in: document) == nil) == isValid)
    }

    /// Duplicate names are found in one pass.
    @Test func repeatedPropertiesAreReadOnceEach() throws {
        let count = 20_000
        func members(_ type: String) -> [JSONValue.Member] {
            (0..<count).map { .init("p\($0)", .object([.init("type", .string(type))])) }
        }
        let text = JSONValue.object([.init("properties", .object(members("string") + members("integer")))])
        var made: JSONSchema?
        #expect(try processorSeconds { made = try JSONSchema(text) } < 20)
        let schema = try #require(made)
        #expect(schema.properties.count == count)
        #expect(schema.mismatch(in: .object([.init("p7", "")])) == nil)
        #expect(schema.mismatch(in: .object([.init("p7", 1)])) != nil)
    }

    // MARK: Requests, cookies, cassettes

    @Test func aRequestIsNotTakenForAnother() throws {
        func request(_ value: String) -> Request {
            var request = Request(.get, "/a")
            request.query = [("q", value)]
            return request
        }
        #expect(RepeatedRequest(request(one)).isSame(as: request(one)))
        #expect(!RepeatedRequest(request(one)).isSame(as: request(other)))
        #expect(!RepeatedRequest(Request(.get, "/" + one)).isSame(as: Request(.get, "/" + other)))
        #expect(try UnixSocket("/run/" + one) != UnixSocket("/run/" + other))
    }

    @Test func eachSpellingOfASecretIsScrubbed() throws {
        var scrubber = SecretScrubber(CassetteSecrets(values: ["secret-" + one, "secret-" + other]), .names(after: 0))
        var response = RecordedExchange.Response(status: 200)
        response.body = .text("secret-\(one) secret-\(other)")
        let exchange = RecordedExchange(.init(method: .get, url: "http://x/"), response)
        #expect(scrubber.scrub(exchange).response?.body == .text("scrubbed-1 scrubbed-2"))
    }

    @Test func aCassetteTellsBodiesApart() throws {
        func exchange(_ text: String) -> RecordedExchange {
            var response = RecordedExchange.Response(status: 200)
            response.body = .text("response to " + text)
            return RecordedExchange(.init(method: .post, url: "http://x/", body: .text(text)), response)
        }
        var player = CassettePlayer(
            Cassette([exchange(one), exchange(other)]), CassetteComparison(), CassetteSecrets(), repeats: false,
            file: "a.json")
        let request = ArrivedRequest(
            method: .post, url: try RequestURL("http://x/"), headers: Headers(), body: ByteBuffer(string: other))
        guard case .play(let played) = player.play(request) else {
            Issue.record("nothing is played")
            return
        }
        #expect(played.response?.body == .text("response to " + other))
    }
}

extension String {
    /// Replaces Unicode scalars. This file does not import Foundation.
    fileprivate func replacingOccurrences(of old: Unicode.Scalar, with new: String) -> String {
        var result = ""
        for scalar in unicodeScalars {
            if scalar == old {
                result.unicodeScalars.append(contentsOf: new.unicodeScalars)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// The processor time of `body` on this thread, in seconds, independent of other threads.
private func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let started = now()
    try body()
    return now() - started
}
