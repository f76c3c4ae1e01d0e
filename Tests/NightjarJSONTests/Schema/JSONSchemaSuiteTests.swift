import Foundation
import Testing

@testable import NightjarJSON

/// Runs all files of Tests/Vectors/json-schema/draft2020-12.
@Suite struct JSONSchemaSuiteTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Vectors/json-schema/draft2020-12").standardizedFileURL

    private static var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    @Test func vectorsExist() { #expect(JSONSchemaSuiteTests.files.count >= 40) }

    @Test(arguments: JSONSchemaSuiteTests.files)
    func vectorsHold(_ file: String) throws {
        let text = try Data(contentsOf: JSONSchemaSuiteTests.folder.appending(path: file))
        let groups = try text.withUnsafeBytes { try JSONValue(parsing: $0) }
        guard case .array(let groups) = groups else { return }
        for group in groups {
            let what = "\(file): \(group["description"] ?? .null)"
            let source = SuiteDocument(root: group["schema"] ?? .null)
            let place = SchemaPlace(document: "suite.json", pointer: JSONPointer())
            let schema = try JSONSchema(at: place, in: source, dialect: .openAPI31)
            guard case .array(let tests) = group["tests"] else { continue }
            for test in tests {
                let document = test["data"] ?? .null
                let mismatch = schema.mismatch(in: document)
                let reported = mismatch.map { $0.description } ?? "nothing"
                #expect(
                    (mismatch == nil) == (test["valid"] == .bool(true)),
                    "\(what): \(test["description"] ?? .null): \(reported)")
            }
            // A generated example must match its schema.
            if let example = schema.example() { #expect(schema.mismatch(in: example) == nil, "\(what): \(example)") }
        }
    }
}

/// A source with one document. All references stay in this document.
struct SuiteDocument: SchemaSource {
    let root: JSONValue

    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let schema = place.pointer.value(in: root) else {
            throw NightjarError(.invalidArgument, "no schema at \(place)")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard reference.hasPrefix("#") else {
            throw NightjarError(.invalidArgument, "the reference \(reference) leads to another document")
        }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8.dropFirst()), as: UTF8.self)
        if !fragment.hasPrefix("/"), let pointer = JSONPointer(anchor: fragment, in: root) {
            return SchemaPlace(document: document, pointer: pointer)
        }
        return SchemaPlace(document: document, pointer: try JSONPointer(fragment))
    }
}
