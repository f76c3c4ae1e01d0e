import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarAPI

@Suite struct ReferenceTraversalTests {
    @Test func onlyUsedReferencesAreFetched() throws {
        var requested: [String] = []
        let files = [
            "/a/api.yaml": """
            openapi: 3.0.0
            info: {title: T, description: {$ref: 'text.yml#/hello'}}
            x-other: {$ref: 'no1.yml'}
            paths:
              /p: {$ref: 'paths/p.yml'}
            components: {schemas: {Unused: {$ref: 'no2.yml'}}}
            """,
            "/a/text.yml": "hello: Hi\n",
            "/a/paths/p.yml": """
            get:
              $ref: '../ops/get.yml#/deep/operation'
            x-samples: [{$ref: 'no3.yml'}]
            """,
            "/a/ops/get.yml": """
            deep:
              operation:
                operationId: p
                parameters: [{$ref: '../shared.yml#/parameters/limit'}]
                requestBody:
                  content:
                    application/json:
                      schema: {$ref: 'body.json'}
                      example: {$ref: 'no4.yml'}
                responses: {'200': {$ref: '#/ok'}}
            ok:
              content:
                application/json:
                  schema: {type: object, properties: {default: {$ref: '../shared.yml#/item'}}, default: {$ref: no5}}
                  examples: {x: {$ref: 'no6.yml'}}
            """,
            "/a/shared.yml": """
            parameters: {limit: {name: limit, in: query, schema: {$ref: '#/item'}}}
            item: {type: integer, default: 5}
            """,
            "/a/ops/body.json": "{\"allOf\": [{\"$ref\": \"leaf%20one.yml#\"}]}",
            "/a/ops/leaf one.yml": "{type: object}",
        ]
        let catalog = try CatalogLoader.load("/a/api.yaml") { path throws(NightjarError) in
            requested.append(path)
            guard let file = files[path] else { throw NightjarError(.storage, "there is no \(path)") }
            return Array(file.utf8)
        }
        #expect(requested.sorted() == files.keys.sorted())
        #expect(catalog.notes == [])
        #expect(catalog.documentation == "Hi")
        let operation = try catalog.operation("p")
        #expect(operation.parameters.map(\.name) == ["limit"])
        #expect(operation.parameters[0].defaultValue == .integer(5))
        #expect(operation.content?.choices[0].example == .object([.init("$ref", .string("no4.yml"))]))
        #expect(operation.responses[0].schemas.count == 1)
    }

    @Test func loaderReportsTheMissingDocuments() throws {
        var loader = CatalogLoader("https://h/api.yaml")
        #expect(message { _ = try loader.catalog() } == "1 document has not been received yet")
        try receive(
            "openapi: 3.1.0\npaths: {/a: {$ref: 'a.yml'}, /b: {$ref: 'b.yml#/x'}, /c: {$ref: 'a.yml'}}",
            "https://h/api.yaml", &loader)
        #expect(loader.missing.sorted() == ["https://h/a.yml", "https://h/b.yml"])
        #expect(message { _ = try loader.catalog() } == "2 documents have not been received yet")
        try receive("get: {}", "https://h/a.yml", &loader)
        #expect(loader.missing == ["https://h/b.yml"])
        try loader.failed(NightjarError(.notFound, "the status is 404"), for: "https://h/b.yml")
        #expect(loader.missing == [])
        let catalog = try loader.catalog()
        #expect(catalog.operations.map(\.name) == ["get_a", "get_c"])
        #expect(
            catalog.notes == [
                "paths./b: ignored: the reference \"b.yml#/x\" points to https://h/b.yml, which could not be loaded: the status is 404"
            ])
    }

    @Test func temporaryErrorFailsTheLoad() throws {
        let load = { (kind: ErrorKind) in
            try CatalogLoader.load("/api.yaml") { path throws(NightjarError) in
                guard path == "/api.yaml" else { throw NightjarError(kind, "\(kind.name) of \(path)") }
                return Array("openapi: 3.1.0\npaths: {/a: {$ref: 'a.yml'}, /b: {get: {}}}".utf8)
            }
        }
        #expect(message { _ = try load(.timeout) } == "timeout of /a.yml")
        #expect(message { _ = try load(.cancelled) } == "cancelled of /a.yml")
        #expect(try load(.notFound).operations.map(\.name) == ["get_b"])
    }

    @Test func discriminatorMappingsAreFetched() throws {
        var loader = CatalogLoader("/api.yaml")
        try receive(
            """
            openapi: 3.1.0
            paths:
              /a: {get: {parameters: [{name: a, in: query, schema: {$ref: 's.yml'}}]}}
            """, "/api.yaml", &loader)
        try receive("discriminator: {propertyName: k, mapping: {x: x.yml, y: '#/y'}}\ny: {}\n", "/s.yml", &loader)
        #expect(loader.missing == ["/x.yml"])
    }

    @Test func schemasReferToOtherDocuments() throws {
        let catalog = try catalog([
            "/v/api.yaml": """
            openapi: 3.0.0
            paths:
              /a: {get: {parameters: [{name: a, in: query, schema: {$ref: 's/list.yml#/List'}}]}}
            """,
            "/v/s/list.yml": "List: {type: array, items: {$ref: '../item.json#/$defs/Item'}}\n",
            "/v/item.json": "{\"$defs\": {\"Item\": {\"type\": \"integer\", \"maximum\": 5}}}",
        ])
        let schema = try #require(try catalog.operations[0].parameters[0].schema?.get())
        #expect(schema.mismatch(in: .array([.integer(5)])) == nil)
        #expect(schema.mismatch(in: .array([.integer(6)]))?.path.description == "/0")
    }

    @Test func danglingSchemaReferenceFailsWhenRead() throws {
        let catalog = try catalog([
            "/api.yaml": """
            openapi: 3.0.0
            paths:
              /a: {get: {parameters: [{name: a, in: query, schema: {items: {$ref: '#/none'}}}]}}
            """
        ])
        let schema = try #require(catalog.operations[0].parameters[0].schema)
        #expect(message { _ = try schema.get() }?.contains("the reference \"#/none\" has no target") == true)
    }

    @Test func referencesAreRelativeToTheRedirectedURL() throws {
        var loader = CatalogLoader("https://h/api.yaml")
        try receive(
            "openapi: 3.1.0\npaths: {/a: {$ref: 'a.yml'}}", "https://h/api.yaml", from: "https://g/v1/api.yaml", &loader
        )
        #expect(loader.missing == ["https://g/v1/a.yml"])
    }

    @Test func otherOriginsAreRejected() throws {
        let files: KeyValuePairs = [
            "https://h/api.yaml": "openapi: 3.1.0\npaths: {/a: {$ref: 'https://g/a.yml'}, /b: {$ref: '/b.yml'}}",
            "https://g/a.yml": "get: {}", "https://h/b.yml": "get: {}",
        ]
        let rejected = try catalog(files)
        #expect(rejected.operations.map(\.name) == ["get_b"])
        #expect(
            rejected.notes == [
                "paths./a: ignored: the reference \"https://g/a.yml\" points to https://g, but a document may refer only to its own origin; load the document and its parts from one place"
            ])
    }

    @Test func filesReferToFiles() throws {
        let catalog = try catalog([
            "/api.yaml": "openapi: 3.1.0\npaths: {/a: {$ref: 'https://g/a.yml'}, /b: {$ref: 'file:///b'}}"
        ])
        #expect(
            catalog.notes == [
                "paths./a: ignored: the reference \"https://g/a.yml\" points to https://g, but a file may refer only to files; load the document and its parts from one place",
                "paths./b: ignored: the scheme \"file\" of the reference \"file:///b\" is not http or https",
            ])
    }

    @Test func invalidDocumentIsNotedAndSkipped() throws {
        let catalog = try catalog([
            "/api.yaml": "openapi: 3.1.0\npaths: {/a: {$ref: 'a.yml'}, /b: {get: {}}}", "/a.yml": "get: [",
        ])
        #expect(catalog.operations.map(\.name) == ["get_b"])
        #expect(catalog.notes.count == 1)
        #expect(
            catalog.notes[0].hasPrefix(
                "paths./a: ignored: the reference \"a.yml\" points to /a.yml, which could not be loaded: /a.yml line 2 column 1: not YAML: "
            ))
    }

    @Test func documentsMayReferToTheMainDocument() throws {
        let catalog = try catalog([
            "/api.yaml": "openapi: 3.1.0\npaths: {/a: {$ref: 'x/a.yml'}}\nq: {name: q, in: query}",
            "/x/a.yml": "get: {parameters: [{$ref: '../api.yaml#/q'}]}",
        ])
        #expect(catalog.notes == [])
        #expect(catalog.operations[0].parameters.map(\.name) == ["q"])
    }

    @Test func documentsAreBounded() throws {
        var loader = CatalogLoader("/api.yaml")
        let paths = (0..<10_000).map { "/\($0): {$ref: '\($0).yml'}" }.joined(separator: ", ")
        #expect(
            message { try receive("openapi: 3.1.0\npaths: {\(paths)}", "/api.yaml", &loader) }
                == "/api.yaml refers to more than 10000 documents")
    }

    @Test func anchorsOfSchemasAreFound() throws {
        let set = try documents(["/api.yaml": "openapi: 3.1.0\nx: {y: {$anchor: here, type: object}}\n$anchor: 5\n"])
        #expect(try set.place(of: "#here", in: "/api.yaml").pointer.description == "/x/y")
        #expect(message { _ = try set.place(of: "#there", in: "/api.yaml") } != nil)
    }

    private func documents(_ files: KeyValuePairs<String, String>) throws -> DocumentSet {
        var set = DocumentSet()
        for (path, text) in files {
            let location = try DocumentLocation(path)
            set.add(try tree(text, path), at: location, base: location)
        }
        return set
    }

    private func receive(
        _ text: String, _ location: String, from base: String? = nil, _ loader: inout CatalogLoader
    ) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try loader.received(bytes, for: location, from: base) }
        }.get()
    }

    @Test
    func aliasedReferenceIsFollowedIntoAnotherFile() throws {
        let catalog = try catalog([
            "/api.yaml": """
            openapi: 3.1.0
            x: &where 'part.yml#/op'
            paths: {/a: {get: {$ref: *where}}}
            """,
            "/part.yml": "op: {operationId: found}\n",
        ])
        #expect(catalog.notes == [])
        #expect(catalog.operations.map(\.name) == ["found"])
    }

    @Test
    func sharedMappingIsTraversedOnce() throws {
        let names = (0..<3000).map { "m\($0): '#/s'" }.joined(separator: ", ")
        var text =
            "openapi: 3.1.0\ns: {}\nm: &m {\(names)}\npaths:\n  /a: {get: {responses: {'200': {content: {a/b: {schema: {\n"
        text += "    $ref: 'other.yml', properties: {\n"
        for number in 0..<3000 { text += "      p\(number): {discriminator: {propertyName: k, mapping: *m}},\n" }
        text += "    }}}}}}}}\n"
        var loaded: Catalog?
        #expect(try processorSeconds { loaded = try catalog(["/api.yaml": text, "/other.yml": "{}"]) } < 20)
        #expect(loaded?.operations.count == 1)
    }

    @Test
    func tooLongReferenceIsRejectedWhereItIsUsed() throws {
        let long = String(repeating: "a/", count: 10_000)
        let catalog = try catalog(paths: "/a: {$ref: '#/\(long)'}\n/b: {get: {}}")
        #expect(catalog.operations.map(\.name) == ["get_b"])
        #expect(catalog.notes.first?.hasSuffix("is longer than 16384 bytes") == true)
    }
}
