import Foundation
import NightjarTestSupport
import Testing

@testable import NightjarDemo

/// The demo's API description is complete. LoopbackTests compares it with responses.
@Suite struct DescriptionTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    // MARK: Content

    @Test func exactlyTheRoutesAreDescribed() throws {
        let routes = try #require(demo.curl("/").json["routes"] as? [[String: String]])
        let served = try Set(
            routes.map { try "\(#require($0["method"])) \(#require($0["path"]))" }.filter { $0.contains(" /v1/") })
        let described = try Set(operations().map { "\($0.method.uppercased()) \($0.path)" })
        // For a route that accepts any method, the description names the method that a client would use.
        #expect(Set(described.map { served.contains($0) ? $0 : "*" + $0.drop { $0 != " " } }) == served)
        #expect(described.count == served.count)
    }

    @Test func operationNamesAreUnique() throws {
        let operations = try operations()
        let names = operations.compactMap { $0.description["operationId"] as? String }
        #expect(names.count == operations.count)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "_" } })
        #expect(
            operations.filter { $0.description["deprecated"] as? Bool == true }.map { "\($0.method) \($0.path)" }
                == ["put /v1/comments/{id}"])
    }

    @Test func referencesResolve() throws {
        let document = try demo.curl("/openapi.json").json
        var references: Set<String> = []
        collect(document, into: &references)
        #expect(references.contains("#/components/schemas/Article"))
        for reference in references {
            let names = reference.split(separator: "/").dropFirst()
            let found = names.reduce(document as Any?) { ($0 as? [String: Any])?[String($1)] }
            #expect(found != nil, "\(reference)")
        }
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        #expect(Set(schemas.keys).isSubset(of: Set(references.map { String($0.split(separator: "/").last ?? "") })))

        let schemes = try Set(#require(components["securitySchemes"] as? [String: Any]).keys)
        let tags = try #require(document["tags"] as? [[String: String]]).compactMap { $0["name"] }
        for operation in try operations() {
            let security = operation.description["security"] as? [[String: Any]] ?? []
            #expect(schemes.isSuperset(of: security.flatMap(\.keys)))
            #expect(Set(tags).isSuperset(of: try #require(operation.description["tags"] as? [String])))
        }
    }

    @Test func listsDescribeTheirPagination() throws {
        let paged = try operations().filter { $0.description["x-nightjar-pagination"] != nil }
        let lists = try operations().filter { operation in
            let id = operation.description["operationId"] as? String ?? ""
            return id.hasPrefix("list_")
        }
        #expect(paged.map(\.path) == lists.map(\.path))
        let styles = paged.compactMap { ($0.description["x-nightjar-pagination"] as? [String: String])?["style"] }
        #expect(Set(styles) == ["page", "offset", "cursor", "link", "next", "header"])
        #expect(styles.count == paged.count)
    }

    @Test func limitMatchesTheServer() throws {
        let list = try #require(operations().first { $0.path == "/v1/lists/{set}/cursor" })
        let parameters = try #require(list.description["parameters"] as? [[String: Any]])
        let limit = try #require(parameters.first { $0["name"] as? String == "limit" }?["schema"] as? [String: Any])
        let most = try #require(limit["maximum"] as? Int)
        #expect(try demo.curl("/v1/lists/a/cursor?limit=\(most)").status == 200)
        #expect(try demo.curl("/v1/lists/a/cursor?limit=\(most + 1)").status == 400)
    }

    @Test func queryParametersOfListsAreDescribed() throws {
        for operation in try operations() where operation.path.hasPrefix("/v1/lists/{set}/") {
            let parameters = operation.description["parameters"] as? [[String: Any]] ?? []
            let names = parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String }
            // The parameters that all styles share are tested with one style.
            for name in operation.path.hasSuffix("/cursor") ? names : Array(names.prefix(1)) {
                let response = try demo.fetch("\(operation.path.replacing("{set}", with: "a"))?\(name)=~")
                let errors = try response.json["errors"] as? [[String: Any]]
                #expect(errors?.first?["parameter"] as? String == name, "\(operation.path)")
            }
        }
    }

    // MARK: Delivery

    @Test(arguments: [("/openapi.json", "application/json"), ("/openapi.yaml", "application/yaml")])
    func descriptionIsCachedAndRevalidated(path: String, type: String) throws {
        let first = try demo.curl(path)
        #expect(first["Content-Type"] == type)
        #expect(first["Cache-Control"] == "public, max-age=60")
        let tag = try #require(first["ETag"])
        let second = try demo.curl(path, ["-H", "If-None-Match: \(tag)"])
        #expect(second.status == 304)
        #expect(second.body == [])
        #expect(try demo.curl("\(path)?max_age=0")["Cache-Control"] == "public, max-age=0")
        #expect(try demo.curl("\(path)?max_age=-1").status == 400)
        #expect(try Demo().curl(path)["ETag"] == tag)
    }

    @Test func yamlBeginsLikeJSON() throws {
        let lines = try demo.curl("/openapi.yaml").text.split(separator: "\n").prefix(6)
        #expect(
            lines == [
                "openapi: \"3.1.0\"", "info:", "  title: Nightjar demo API", "  version: \"1.0.0\"",
                "  description: Articles, users and comments, and the situations that an API client must handle.",
                "servers:",
            ])
    }

    @Test func documentsAreWrittenAsYAML() {
        let document: JSON = [
            "a": .int(1), "200": ["x-b": .null, "empty": [], "none": [:]],
            "list": [
                "plain text", "no", "a: b", " a", "a ", "-1", "", "ä\n",
                ["in": .bool(true), "of": [["deep": .number(0.5)]]],
            ],
            "/v1/{id}": [["first", "second"], []],
        ]
        #expect(
            document.yaml == """
                a: 1
                "200":
                  x-b: null
                  empty: []
                  none: {}
                list:
                  - plain text
                  - "no"
                  - "a: b"
                  - " a"
                  - "a "
                  - "-1"
                  - ""
                  - "ä\\n"
                  - in: true
                    of:
                      - deep: 0.5
                /v1/{id}:
                  -
                    - first
                    - second
                  - []

                """)
        #expect(JSON.array([]).yaml == "[]\n")
        #expect(JSON.string("a").yaml == "a\n")
    }

    private struct Described {
        let method: String
        let path: String
        let description: [String: Any]
    }

    /// The operations in the order of the paths.
    private func operations() throws -> [Described] {
        let paths = try #require(demo.curl("/openapi.json").json["paths"] as? [String: [String: [String: Any]]])
        return paths.sorted { $0.key < $1.key }.flatMap { path, methods in
            methods.sorted { $0.key < $1.key }.map { Described(method: $0.key, path: path, description: $0.value) }
        }
    }

    private func collect(_ value: Any, into references: inout Set<String>) {
        if let object = value as? [String: Any] {
            if let reference = object["$ref"] as? String { references.insert(reference) }
            for member in object.values { collect(member, into: &references) }
        } else if let list = value as? [Any] {
            for element in list { collect(element, into: &references) }
        }
    }
}
