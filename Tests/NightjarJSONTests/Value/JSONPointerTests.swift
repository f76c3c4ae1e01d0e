import NightjarJSON
import NightjarTestSupport
import Testing

@Suite struct JSONPointerTests {
    @Test func emptyPointerSelectsAScalarDocument() throws {
        #expect(try JSONPointer("").value(in: .integer(1)) == .integer(1))
    }

    @Test func randomTextRoundTripsOrIsRejected() throws {
        var random = SeededRandom(seed: 6901)
        let document = try JSONValue(parsing: RFC6901Tests.document)
        let alphabet = Array("/~01a-\u{E9}\0".unicodeScalars)
        for _ in 0..<5000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<10, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            guard let pointer = try? JSONPointer(text) else {
                #expect(!text.hasPrefix("/") || text.contains("~"), "\(text)")
                continue
            }
            #expect(pointer.description == text)
            _ = pointer.value(in: document)
        }
        #expect(JSONPointer().appending("a/b").appending("~").description == "/a~1b/~0")
    }
}
