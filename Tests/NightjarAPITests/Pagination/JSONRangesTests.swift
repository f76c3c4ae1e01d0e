import NightjarTestSupport
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct JSONRangesTests {
    /// Compares the scanner with the parser for each value of a text.
    private func compare(_ text: String) throws {
        let bytes = Array(text.utf8)
        let value = try JSONValue(parsing: text)
        bytes.withUnsafeBytes { buffer in
            let ranges = JSONRanges(buffer)
            compare(ranges, ranges.document, value)
        }
    }

    private func compare(_ ranges: JSONRanges, _ range: Range<Int>, _ value: JSONValue) {
        #expect(ranges.value(of: range) == value)
        switch value {
        case .array(let elements):
            let found = ranges.elements(of: range) ?? []
            #expect(found.count == elements.count)
            for (index, pair) in zip(found, elements).enumerated() {
                #expect(ranges.value(at: JSONPointer(tokens: [String(index)]), in: range) == pair.0)
                compare(ranges, pair.0, pair.1)
            }
            #expect(ranges.value(at: JSONPointer(tokens: [String(elements.count)]), in: range) == nil)
        case .object(let members):
            let found = ranges.members(of: range, limit: .max) ?? []
            #expect(found.map(\.name) == members.map(\.name))
            for (a, b) in zip(found, members) { compare(ranges, a.value, b.value) }
        case .string(let text): #expect(ranges.text(of: range) == text)
        default: #expect(ranges.elements(of: range) == nil && ranges.members(of: range, limit: 1) == nil)
        }
    }

    @Test(arguments: [
        "1", " [ ] ", "{}", "[[],{},[[]]]", #"{"a":{"b":[1,2,{"c":null}]},"a":2,"":3}"#,
        #"["\"","\\","]","},{",":","\u005d"]"#,
        #" { "k\u0065y" : [ -1.5e3 , true,false , null ,"é" ] , "x" : "" } "#, "\t[\r\n1\n,\t2 ]\n",
    ])
    func rangesAgreeWithTheParser(text: String) throws { try compare(text) }

    @Test func firstOfDuplicateMembersCounts() {
        let bytes = Array(#"{"a":1,"\u0061":2}"#.utf8)
        bytes.withUnsafeBytes { buffer in
            let ranges = JSONRanges(buffer)
            #expect(ranges.value(at: JSONPointer(tokens: ["a"]), in: ranges.document) == 5..<6)
        }
    }

    @Test func deepTextsUseNoStack() {
        let bytes = Array((String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)).utf8)
        bytes.withUnsafeBytes { buffer in
            let ranges = JSONRanges(buffer)
            #expect(ranges.document == 0..<400_000)
            #expect(ranges.elements(of: ranges.document)?.count == 1)
        }
    }

    @Test func randomBytesAreReadWithinBounds() {
        var random = SeededRandom(seed: 11)
        let alphabet = Array(#"{}[]:,"\ 0ae"#.utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<24, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            bytes.withUnsafeBytes { buffer in
                let ranges = JSONRanges(buffer)
                let document = ranges.document
                #expect(document.upperBound <= bytes.count)
                for range in ranges.elements(of: document) ?? [] {
                    #expect(range.upperBound <= bytes.count)
                    _ = ranges.text(of: range)
                }
                for member in ranges.members(of: document, limit: 9) ?? [] {
                    #expect(member.value.upperBound <= bytes.count)
                    _ = ranges.value(at: JSONPointer(tokens: ["a", "0"]), in: member.value)
                }
            }
        }
    }
}
