import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// Charsets and error formats.
@Suite struct TextTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    @Test(arguments: [
        ("latin1", "ISO-8859-1", "Naïve façade, Übergröße: ½ £, señor."),
        ("windows-1252", "windows-1252", "“Naïve” façade… costs 5 €—señor Žižka™."),
        ("utf-8", "utf-8", "Naïve façade 🐦 Ελλάδα."), ("utf-16", "utf-16", "Naïve façade 🐦 Ελλάδα."),
        ("utf-16be-bom", "utf-16", "Naïve façade 🐦 Ελλάδα."), ("utf-16le", "utf-16le", "Naïve façade 🐦 Ελλάδα."),
        ("utf-16be", "utf-16be", "Naïve façade 🐦 Ελλάδα."),
    ])
    func charsetsAreReadByIconv(name: String, label: String, text: String) throws {
        let response = try demo.curl("/text/\(name)")
        #expect(response["Content-Type"] == "text/plain; charset=\(label)")
        let converted = try run("iconv", ["-f", label, "-t", "utf-8"], input: Bytes(response.body))
        #expect(converted.text == text)
    }

    @Test func oddTextIsSent() throws {
        #expect(try demo.curl("/text/latin1?quoted=true")["Content-Type"] == "text/plain; charset=\"ISO-8859-1\"")
        #expect(try demo.curl("/text/unlabelled")["Content-Type"] == "text/plain")
        #expect(try demo.curl("/text/utf-8-bom").body.starts(with: [0xEF, 0xBB, 0xBF]))
        #expect(String(validating: try demo.curl("/text/broken-utf-8").body, as: UTF8.self) == nil)
        #expect(try demo.curl("/text/ebcdic").status == 404)
    }

    @Test(arguments: [
        ("problem", "detail"), ("error-text", "error"), ("error-object", "error"), ("message", "message"),
        ("errors-texts", "errors"), ("errors-objects", "errors"), ("errors-by-field", "errors"),
        ("oauth", "error_description"), ("json-api", "errors"), ("graphql", "errors"), ("mislabelled", "error"),
        ("unlabelled", "error"),
    ])
    func errorShapesAreSent(shape: String, member: String) throws {
        for (method, status) in [("GET", 422), ("POST", 503)] {
            let response = try demo.curl("/errors/\(shape)?status=\(status)", ["-X", method])
            #expect(response.status == status)
            #expect(try response.json[member] != nil)
        }
    }

    @Test func errorsNeedNotBeJSON() throws {
        #expect(try demo.curl("/errors/problem")["Content-Type"] == "application/problem+json")
        #expect(try demo.curl("/errors/problem-empty").text == "{}")
        #expect(try demo.curl("/errors/html?status=502").text.contains("<h1>502 Bad Gateway</h1>"))
        #expect(try demo.curl("/errors/text").text == "The title must not be empty.")
        #expect(try demo.curl("/errors/empty").body == [])
        #expect(throws: (any Error).self) { try demo.curl("/errors/broken-json").json }
        #expect(try demo.curl("/errors/nothing").status == 404)
        #expect(try demo.curl("/errors/problem?status=200").status == 400)
    }
}
