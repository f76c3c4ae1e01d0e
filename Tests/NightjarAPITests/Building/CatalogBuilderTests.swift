import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarAPI

@Suite struct CatalogBuilderTests {
    @Test func titleServersAndTagsAreRead() throws {
        let catalog = try catalog([
            "/api.yaml": """
            openapi: 3.0.3
            info: {title: Pets, version: 1.10, description: All about pets}
            servers:
              - url: https://{host}.example.com:{port}/v1
                variables:
                  host: {default: api}
                  port: {enum: ['8443', '9443'], default: '8443'}
              - url: /v2
              - url: https://{region}.example.com
              - url: wss://example.com
            tags:
              - {name: pets, description: Pets, externalDocs: {url: 'https://docs', description: More}}
              - name: others
            paths: {}
            """
        ])
        #expect(catalog.title == "Pets")
        #expect(catalog.version == "1.10")
        #expect(catalog.documentation == "All about pets")
        #expect(catalog.servers == ["https://api.example.com:8443/v1"])
        #expect(catalog.tags.map(\.name) == ["pets", "others"])
        #expect(catalog.tags.map(\.documentation) == ["Pets\n\nMore: <https://docs>", nil])
        #expect(
            catalog.notes == [
                "servers.1: \"/v2\" is relative, but the description was read from a file; set the base URL",
                "servers.2: ignored: undefined variable \"region\"",
                "servers.3: ignored: the scheme \"wss\" is not http or https; WebSocket is not supported yet",
            ])
    }

    @Test(arguments: [
        ("servers: [{url: v2}]", ["https://h/a/v2"]), ("servers: [{url: /v2}]", ["https://h/v2"]),
        ("", ["https://h/"]), ("servers: []", ["https://h/"]), ("servers: [{url: '//g/'}]", ["https://g/"]),
        ("servers: [{url: ''}]", ["https://h/a/api.yaml"]),
    ])
    func serversAreRelativeToTheDocument(text: String, servers: [String]) throws {
        let catalog = try catalog(["https://me:pw@h/a/api.yaml": "openapi: 3.1.0\n\(text)\npaths: {}\n"])
        #expect(catalog.servers == servers)
    }

    @Test func operationHasItsDescription() throws {
        let catalog = try catalog(
            paths: """
                /pets/{id}:
                  summary: A pet
                  servers: [{url: 'https://pets.example.com'}]
                  parameters:
                    - {name: id, in: path, required: true, schema: {type: integer}}
                    - {name: lang, in: header, schema: {type: string, default: en}}
                  get:
                    operationId: pets/get-one
                    description: Gets it
                    externalDocs: {url: 'https://docs'}
                    tags: [pets]
                    deprecated: true
                    parameters:
                      - {name: lang, in: header, required: true, description: Own}
                      - {name: Authorization, in: header}
                    responses:
                      '200':
                        description: It
                        content:
                          application/json: {schema: {type: object}}
                          text/plain: {}
                      4XX: {description: No}
                      default: {description: Else}
                      x-other: 1
                  put:
                    summary: Own
                    servers: [{url: 'https://other.example.com'}]
                    requestBody:
                      required: true
                      description: The pet
                      content:
                        application/xml: {schema: {type: object}}
                        application/json: {schema: {type: object}, example: {name: Rex}}
                """)
        #expect(catalog.notes == [])
        let get = try catalog.operation("pets/get-one")
        #expect(get.method == .get && get.path == "/pets/{id}" && get.server == "https://pets.example.com/")
        #expect(get.summary == "A pet" && get.documentation == "Gets it\n\n<https://docs>")
        #expect(get.tags == ["pets"] && get.isDeprecated && get.isIdempotent && get.requiresAuth == nil)
        #expect(get.parameters.map(\.name) == ["id", "lang"])
        #expect(get.parameters[1].isRequired && get.parameters[1].defaultValue == nil)
        #expect(get.parameters[1].documentation == "Own")
        #expect(get.responses.map(\.statuses) == [StatusRange(200), StatusRange(400, 499), nil])
        #expect(get.responses[0].schemas.map(\.mediaType) == ["application/json", "text/plain"])
        #expect(get.responses[0].schemas.map { $0.schema == nil } == [false, true])
        #expect(get.responses[2].documentation == "Else")

        let put = try catalog.operation("put_pets_id")
        #expect(put.summary == "Own" && put.server == "https://other.example.com/" && !put.isDeprecated)
        // A default value is not sent, because the server assumes it.
        #expect(put.parameters[1].defaultValue == .string("en") && !put.parameters[1].sendsDefault)
        #expect(put.content?.isRequired == true && put.content?.documentation == "The pet")
        #expect(put.content?.choices.map(\.mediaType) == ["application/json", "application/xml"])
        #expect(put.content?.choices[0].example == .object([.init("name", .string("Rex"))]))
    }

    @Test func uncheckedKeywordsAreNoted() throws {
        let catalog = try catalog(
            paths: "  /a: {get: {parameters: [{name: q, in: query, schema: {type: string, pattern: '('}}]}}")
        guard case .array(let notes) = catalog.operations[0].json["unchecked"], case .string(let note) = notes.first
        else {
            Issue.record("no note: \(catalog.operations[0].json)")
            return
        }
        #expect(note.contains("pattern"), "\(note)")
    }

    @Test func parameterStylesAreRead() throws {
        let catalog = try catalog(
            paths: """
                /a/{m}/{l}:
                  get:
                    parameters:
                      - {name: m, in: path, required: true, style: matrix, explode: true}
                      - {name: l, in: path, required: true, style: label}
                      - {name: q, in: query}
                      - {name: s, in: query, style: spaceDelimited}
                      - {name: d, in: query, style: deepObject, explode: true, allowReserved: true}
                      - {name: h, in: header, allowReserved: true, example: 7}
                      - {name: c, in: cookie, explode: false, deprecated: true}
                      - {name: j, in: query, content: {application/json: {schema: {type: object}, example: {a: 1}}}}
                      - {name: e, in: query, examples: {one: {value: 1}, two: {value: 2}}}
                      - {name: o, in: query, schema: {type: string, examples: [x, y], enum: [x, y]}}
                      - {name: w, in: header, style: form, schema: {default: null}}
                """)
        let parameters = try catalog.operation("get_a_m_l").parameters
        #expect(
            parameters.map(\.style) == [
                .matrix, .label, .form, .spaceDelimited, .deepObject, .simple, .form, .form, .form, .form, .simple,
            ])
        #expect(
            parameters.map(\.explodes) == [
                true, false, true, false, true, false, false, true, true, true, false,
            ])
        #expect(parameters.map(\.allowsReserved).filter { $0 }.count == 1)
        #expect(parameters[4].allowsReserved && parameters[6].isDeprecated)
        #expect(parameters[7].mediaType == "application/json")
        #expect(parameters[5].example == .integer(7))
        #expect(parameters[7].example == .object([.init("a", .integer(1))]))
        #expect(parameters[8].example == .integer(1))
        #expect(parameters[9].example == .string("x"))
        #expect(parameters[10].defaultValue == nil)
        #expect(
            catalog.notes == [
                "paths./a/{m}/{l}.get.parameters.10: the style \"form\" is not allowed in header; using simple"
            ])
    }

    /// Even with URLs of the maximum length, a thousand servers take only 8 MB.
    @Test func serversAreBounded() throws {
        let url = "https://h/" + String(repeating: "a", count: 100)
        let aliases = Array(repeating: "*s", count: 5000).joined(separator: ",")
        let catalog = try catalog([
            "/api.yaml": "openapi: 3.1.0\nx: &s {url: '\(url)'}\nservers: [\(aliases)]\npaths: {}\n"
        ])
        #expect(catalog.servers.count == 1000)
    }

    /// Some descriptions declare header fields that only the client can set.
    @Test func reservedFieldsAreNotParameters() throws {
        let catalog = try catalog(
            paths: """
                /a:
                  put:
                    parameters:
                      - {name: Content-Length, in: header, required: true, schema: {type: integer}}
                      - {name: HOST, in: header, required: true, schema: {type: string, default: evil.example}}
                      - {name: transfer-encoding, in: header, schema: {type: string, default: chunked}}
                      - {name: X-Host, in: header}
                """)
        #expect(catalog.operations[0].parameters.map(\.name) == ["X-Host"])
        #expect(
            catalog.notes == [
                "paths./a.put.parameters.0: the client sets the field \"Content-Length\" itself; ignored",
                "paths./a.put.parameters.1: the client sets the field \"HOST\" itself; ignored",
                "paths./a.put.parameters.2: the client sets the field \"transfer-encoding\" itself; ignored",
            ])
        #expect(try catalog.operations[0].request().headers.count == 0)
    }

    @Test func formEncodingsAreRead() throws {
        let catalog = try catalog(
            paths: """
                /a:
                  post:
                    requestBody:
                      content:
                        multipart/form-data:
                          schema: {type: object}
                          encoding:
                            file: {contentType: 'image/png, image/jpeg', headers: {X: {}}}
                            list: {style: pipeDelimited, explode: false, allowReserved: true}
                """)
        let encodings = try #require(try catalog.operation("post_a").content?.choices[0].encodings)
        #expect(encodings["file"]?.contentType == "image/png, image/jpeg")
        #expect(encodings["list"]?.style == .pipeDelimited)
        #expect(encodings["list"]?.explodes == false && encodings["list"]?.allowsReserved == true)
        #expect(
            catalog.notes == [
                "paths./a.post.requestBody.multipart/form-data.encoding.file: header fields of parts are not supported"
            ])
    }

    @Test func securitySchemesAreRead() throws {
        let catalog = try catalog(
            paths: """
                /a: {get: {operationId: as the document}, put: {operationId: none, security: []}}
                /b: {get: {operationId: either, security: [{}, {bearer: []}]}, put: {operationId: free, security: [{}]}}
                """,
            rest: """
                security: [{bearer: []}]
                components:
                  securitySchemes:
                    bearer: {type: http, scheme: Bearer, description: A token}
                    basic: {type: http, scheme: basic}
                    digest: {type: http, scheme: digest}
                    odd: {type: http, scheme: hoba}
                    key: {type: apiKey, name: X-Key, in: header}
                    open: {type: openIdConnect, openIdConnectUrl: 'https://h'}
                    wrong: {type: apiKey, in: body}
                    oauth:
                      type: oauth2
                      flows:
                        implicit: {authorizationUrl: 'https://h/auth', scopes: {}}
                        authorizationCode:
                          {authorizationUrl: 'https://h/auth', tokenUrl: 'https://h/token', scopes: {read: Reads}}
                """)
        #expect(
            ["as the document", "none", "either", "free"].map { catalog[$0]?.requiresAuth }
                == [true, false, nil, false])
        #expect(catalog["as the document"]?.security == [SecurityRequirement("bearer")])
        #expect(catalog["none"]?.security == [])
        #expect(catalog["either"]?.security == [SecurityRequirement(), SecurityRequirement("bearer")])
        #expect(
            catalog.security.map(\.name) == ["bearer", "basic", "digest", "odd", "key", "open", "oauth", "oauth"])
        #expect(catalog.security[0].documentation == "A token")
        let kinds = catalog.security.map { "\($0.kind)".replacing("NightjarHTTP.", with: "") }
        #expect(kinds[0..<3] == ["bearer", "basic", "digest"])
        guard case .apiKey("X-Key", .header) = catalog.security[4].kind else {
            Issue.record("\(kinds[4])")
            return
        }
        guard
            case .oauth2(.authorizationCode, "https://h/auth", "https://h/token", let scopes) = catalog.security[6].kind
        else {
            Issue.record("\(kinds[6])")
            return
        }
        #expect(scopes.map(\.name) == ["read"] && scopes.map(\.documentation) == ["Reads"])
        #expect(
            catalog.notes == [
                "components.securitySchemes.wrong: ignored: an apiKey scheme requires a name, and \"in\" with the value query, header or cookie"
            ])
    }

    @Test func securityRequirementsAreRead() throws {
        let catalog = try catalog(
            paths: """
                /a: {get: {operationId: a, security: [{key: [], oauth: [read, write]}, {oauth: [admin, 1, [x]]}]}}
                /b: {get: {operationId: b, security: {key: []}}, put: {operationId: c}}
                """,
            rest: "security: [{oauth: [all]}]")
        #expect(
            catalog["a"]?.security == [
                SecurityRequirement([.init("key"), .init("oauth", scopes: ["read", "write"])]),
                SecurityRequirement([.init("oauth", scopes: ["admin", "1"])]),
            ])
        #expect(catalog["b"]?.security == nil)
        #expect(catalog.scopes(of: "oauth") == ["read", "write", "admin", "1", "all"])
    }

    @Test func operationNamesAreUnique() throws {
        let catalog = try catalog(
            paths: """
                /: {get: {}, post: {operationId: ''}}
                /a: {get: {operationId: a}, put: {operationId: a}, post: {operationId: "a\\u0001"}}
                /a-b: {get: {}}
                /a/b: {get: {}}
                /b: {get: {operationId: 42}}
                """)
        #expect(
            catalog.operations.map(\.name) == ["get", "post", "a", "a_2", "post_a", "get_a_b", "get_a_b_2", "42"])
        #expect(
            catalog.notes == [
                "paths./a.put: the operationId \"a\" is already used by another operation; using a_2",
                "paths./a.post: the operationId \"a\\x1\" is not a valid name; using post_a",
            ])
    }

    @Test func callbacksAreNotedOnce() throws {
        let catalog = try catalog(
            paths: """
                /a:
                  get: {callbacks: {x: {}}, responses: {'200': {links: {x: {}}}, '201': {links: {x: {}}}}}
                  put: {callbacks: {x: {}}}
                """, rest: "webhooks: {x: {}}")
        #expect(
            catalog.notes == [
                "webhooks are not supported", "paths./a.get.responses.200: links are not supported",
                "paths./a.get: callbacks are not supported",
            ])
    }

    @Test func invalidPartIsNotedAndSkipped() throws {
        let catalog = try catalog(
            paths: """
                /a/{x}/{y}:
                  get:
                    parameters:
                      - {$ref: '#/components/parameters/none'}
                      - {name: x, in: somewhere}
                      - {in: query}
                      - {name: z, in: path}
                      - {name: q, in: query, schema: {$ref: '#/nowhere'}}
                      - {name: q, in: query}
                    responses: {'200': {$ref: '#/circle'}, 2xx: {}, '20': {}, '200 ': {}}
                  put: {requestBody: {$ref: '#/circle'}}
                  post: []
                  patch: {requestBody: {content: {oh: {}}}}
                  delete: {requestBody: {}}
                relative: {}
                /b: {$ref: '#/none'}
                /c: 5
                /d: {get: {}}
                """, rest: "circle: {$ref: '#/square'}\nsquare: {$ref: '#/circle'}")
        #expect(catalog.operations.map(\.name) == ["get_a_x_y", "delete_a_x_y", "get_d"])
        #expect(catalog.operations[0].parameters.map(\.name) == ["q", "x", "y"])
        #expect(catalog.operations[0].responses.map(\.statuses) == [StatusRange(200, 299)])
        let get = "paths./a/{x}/{y}.get"
        let nowhere = "has no target: /api.yaml has no"
        #expect(
            catalog.notes == [
                "\(get).parameters.0: ignored: the reference \"#/components/parameters/none\" \(nowhere) \"#/components/parameters/none\"",
                "\(get).parameters.1: ignored: the parameter \"x\" is in \"somewhere\"; the allowed places are path, query, header and cookie",
                "\(get).parameters.2: ignored: the parameter has no name",
                "\(get).parameters.3: \"z\" is not in the path; ignored",
                "\(get).parameters.4: its schema is ignored: the reference \"#/nowhere\" \(nowhere) \"#/nowhere\"",
                "\(get).parameters.5: \"q\" is defined twice; the first definition is used",
                "\(get): the path parameter \"x\" is not described; any value is accepted",
                "\(get): the path parameter \"y\" is not described; any value is accepted",
                "\(get).responses.200: the description is ignored: the reference \"#/circle\" is circular or passes through more than 8 references",
                "\(get).responses.20: not a status; write 200, 2XX or default",
                "\(get).responses.200 : not a status; write 200, 2XX or default",
                "paths./a/{x}/{y}.put: the path parameter \"x\" is not described; any value is accepted",
                "paths./a/{x}/{y}.put: the path parameter \"y\" is not described; any value is accepted",
                "paths./a/{x}/{y}.put: ignored: the reference \"#/circle\" is circular or passes through more than 8 references",
                "paths./a/{x}/{y}.post: ignored: expected an object, got an array",
                "paths./a/{x}/{y}.delete: the path parameter \"x\" is not described; any value is accepted",
                "paths./a/{x}/{y}.delete: the path parameter \"y\" is not described; any value is accepted",
                "paths./a/{x}/{y}.delete.requestBody: the request body has no content; the operation takes no body",
                "paths./a/{x}/{y}.patch: the path parameter \"x\" is not described; any value is accepted",
                "paths./a/{x}/{y}.patch: the path parameter \"y\" is not described; any value is accepted",
                "paths./a/{x}/{y}.patch.requestBody: \"oh\" is not a media type; ignored",
                "paths./a/{x}/{y}.patch: ignored: the request body has no usable content type",
                "paths.relative: a path must begin with a slash; ignored",
                "paths./b: ignored: the reference \"#/none\" \(nowhere) \"#/none\"",
                "paths./c: ignored: expected an object, got an integer",
            ])
    }

    @Test func eightReferencesAreFollowed() throws {
        func notes(_ count: Int) throws -> [String] {
            let chain = (1..<count).map { "r\($0): {$ref: '#/r\($0 + 1)'}\n" }.joined()
            return try catalog(
                paths: "/a: {get: {parameters: [{$ref: '#/r1'}]}}\n",
                rest: chain + "r\(count): {name: q, in: query}\n"
            ).notes
        }
        #expect(try notes(8) == [])
        #expect(
            try notes(9) == [
                "paths./a.get.parameters.0: ignored: the reference \"#/r9\" is circular or passes through more than 8 references"
            ])
    }

    @Test(arguments: [
        ("{}", "/api.yaml is not an OpenAPI description: it is an object without the member \"openapi\""),
        ("hello", "/api.yaml is not an OpenAPI description: it is a string without the member \"openapi\""),
        ("", "/api.yaml is not an OpenAPI description: it is null without the member \"openapi\""),
        (
            "swagger: '1.2'",
            """
            /api.yaml uses Swagger "1.2", which is not supported; the supported versions are Swagger 2.0, OpenAPI 3.0 \
            and OpenAPI 3.1
            """
        ),
        (
            "openapi: 4.0.0",
            "/api.yaml line 1 column 10: unsupported OpenAPI version: \"4.0.0\"; the supported versions are 3.0 and 3.1"
        ),
        (
            "openapi: [3]",
            "/api.yaml line 1 column 10: unsupported OpenAPI version: an array; the supported versions are 3.0 and 3.1"
        ),
    ])
    func otherDocumentsAreRejected(text: String, expected: String) {
        #expect(message { _ = try catalog(["/api.yaml": text]) } == expected)
    }

    @Test func laterVersionsAreReadAs31() throws {
        let catalog = try catalog(["/api.yaml": "openapi: 3.2.0\njsonSchemaDialect: 'https://x'\npaths: 5\n"])
        #expect(
            catalog.notes == [
                "openapi: version \"3.2.0\" is read as 3.1",
                "jsonSchemaDialect: schemas are read as JSON Schema 2020-12, not as \"https://x\"",
                "paths: expected an object, got an integer",
            ])
    }

    @Test func operationsShareSchemas() throws {
        let catalog = try catalog(
            paths: """
                /a: {get: {responses: {'200': {content: {a/b: {schema: {$ref: '#/components/schemas/S'}}}}}}}
                /b: {get: {responses: {'200': {content: {a/b: {schema: {$ref: '#/components/schemas/T'}}}}}}}
                """, rest: "components: {schemas: {S: {type: object}, T: {$ref: '#/components/schemas/S'}}}")
        let schemas = catalog.operations.map { $0.responses[0].schemas[0].schema }
        #expect(schemas[0] === schemas[1])
    }

    @Test func textsAndExamplesOfAliasesAreShared() throws {
        let long = String(repeating: "x", count: 100_000)
        var text =
            "openapi: 3.1.0\nx: &d \(long)\ny: &e [*d, *d, *d, *d]\nz: &s [{url: 'https://h/'}, {url: ws://h}]\npaths:\n"
        for number in 0..<2000 {
            text += "  /p\(number): {get: {description: *d, tags: *e, servers: *s, parameters: "
            text += "[{name: q, in: query, description: *d, example: *e}]}}\n"
        }
        let catalog = try catalog(["/api.yaml": text])
        #expect(catalog.operations.count == 2000)
        #expect(catalog.operations[1999].documentation == long)
        #expect(catalog.operations[1999].tags.count == 4)
        #expect(catalog.operations[1999].server == "https://h/")
        // Example values are copied. All copies share one budget.
        #expect(catalog.operations[0].parameters[0].example != nil)
        #expect(catalog.operations[1999].parameters[0].example == nil)
        #expect(
            catalog.notes[0] == "paths./p0.get.servers.1: ignored: the scheme \"ws\" is not http or https; "
                + "WebSocket is not supported yet")
        #expect(
            catalog.notes[1].hasSuffix(
                "its example is ignored: /api.yaml line 3 column 4: the value is too large, including its aliases (*); "
                    + "make it smaller"
            ))
        #expect(catalog.notes[2].hasSuffix("its example is ignored: the examples and defaults have too many values"))
        #expect(catalog.notes.count == 1001)
        #expect(catalog.notes[1000] == "further notes are omitted")
    }

    @Test func longPathsAreReadOrRejected() throws {
        let many = (0..<3000).map { "{\($0)}" }.joined()
        let catalog = try catalog(paths: "? /a/\(many)\n: get: {}\n/b/{x}?y={z}:\n  get: {}\n")
        #expect(catalog.operations.map { $0.parameters.map(\.name) } == [["x"]])
        #expect(catalog.notes[0].hasSuffix("is longer than 8192 bytes; ignored"))
    }

    @Test func aliasesAreBoundedByMemory() {
        let parameters = (0..<1000).map { "{name: p\($0), in: query}" }.joined(separator: ", ")
        var text = "openapi: 3.1.0\nx: &x {get: {parameters: [\(parameters)]}}\npaths:\n"
        for number in 0..<250 { text += "  /p\(number): *x\n" }
        #expect(
            message { _ = try catalog(["/api.yaml": text]) }
                == "/api.yaml describes more than 200000 operations, parameters, contents and responses")
    }

    @Test func truncatedDescriptionsAreReadOrRejected() throws {
        let text = """
            openapi: 3.1.0
            servers: [{url: 'https://{a}/', variables: {a: {default: h}}}]
            paths:
              /a/{b}:
                parameters: [{name: b, in: path, schema: {$ref: '#/components/x'}}]
                get: {requestBody: {content: {a/b: {encoding: {c: {style: form}}}}}, responses: {2XX: {}}}
            components: {x: {default: 1}, securitySchemes: {k: {type: http, scheme: basic}}}
            """
        let bytes = Array(text.utf8)
        for end in 0...bytes.count {
            _ = Result { () throws(NightjarError) in
                try CatalogLoader.load("/api.yaml") { _ throws(NightjarError) in Array(bytes[..<end]) }
            }
        }
    }

    // MARK: One budget for a document

    /// Returns the anchors `a0`, `a1` and so on up to `levels`. Each object refers to the previous anchor ten times, so
    /// the last anchor expands to more than 10^`levels` values.
    private func bomb(_ levels: Int) -> String {
        var text = "  a0: &a0 {type: string}\n"
        for level in 1...levels {
            let aliases = (0..<10).map { "p\($0): *a\(level - 1)" }.joined(separator: ", ")
            text += "  a\(level): &a\(level) {properties: {\(aliases)}}\n"
        }
        return text
    }

    @Test
    func referencesToAliasesShareOneBudget() throws {
        // The target expands to about 200,000 values. Each reference uses a different path to the target.
        var text = "openapi: 3.1.0\nx:\n" + bomb(5)
        text += "  list:\n    properties:\n"
        for number in 0..<300 { text += "      r\(number): {$ref: '#/y/r\(number)'}\n" }
        text += "y:\n"
        for number in 0..<300 { text += "  r\(number): {properties: {a: *a5}}\n" }
        text += "paths: {/a: {get: {parameters: [{name: q, in: query, schema: {$ref: '#/x/list'}}]}}}\n"
        #expect(text.utf8.count < 30_000)
        let catalog = try catalog(["/api.yaml": text])
        let schema = try #require(catalog.operations.first?.parameters.first?.schema)
        #expect(message { _ = try schema.get() }?.contains("aliases (*)") == true)
    }

    @Test
    func aliasedSchemaIsReadOnce() throws {
        var text =
            "openapi: 3.1.0\nx: &x {type: object, properties: {a: {type: integer}, b: {$ref: '#/y5/properties/a'}}}\n"
        for number in 0..<100 { text += "y\(number): *x\n" }
        let branches = (0..<100).map { "{$ref: '#/y\($0)'}" }.joined(separator: ", ")
        text += "paths: {/a: {get: {parameters: [{name: q, in: query, schema: {allOf: [\(branches)]}}]}}}\n"
        let set = try documents(text)
        // An eleventh schema would exceed the maximum.
        var library = SchemaLibrary(set, dialect: .openAPI31, maximum: 10)
        let schema = try library.schema(at: place("/paths/~1a/get/parameters/0/schema"))
        #expect(schema.mismatch(in: try JSONValue(parsing: "{\"a\": \"1\"}")) != nil)
    }

    /// The name of a branch is the last token of its reference, even if the target is an alias.
    @Test func discriminatorNamesItsSchemas() throws {
        let text = """
            openapi: 3.1.0
            s: {Cat: &c {properties: {kind: {type: string}, lives: {type: integer}}, required: [lives]}, Dog: *c}
            one: {oneOf: [{$ref: '#/s/Dog'}], discriminator: {propertyName: kind}}
            """
        var library = SchemaLibrary(try documents(text), dialect: .openAPI31, maximum: 100)
        let schema = try library.schema(at: place("/one"))
        let missing = schema.mismatch(in: try JSONValue(parsing: "{\"kind\": \"Dog\"}"))
        #expect(missing?.path.description == "/lives")
    }

    private func documents(_ text: String) throws -> DocumentSet {
        var set = DocumentSet()
        let location = try DocumentLocation("/api.yaml")
        set.add(try tree(text, "/api.yaml"), at: location, base: location)
        return set
    }

    private func place(_ pointer: String) throws -> SchemaPlace {
        SchemaPlace(document: "/api.yaml", pointer: try JSONPointer(pointer))
    }

    @Test
    func extensionsOfResponsesAreCounted() throws {
        let extensions = (0..<20_000).map { "x-\($0): 1" }.joined(separator: ", ")
        var text = "openapi: 3.1.0\nx: &r {\(extensions)}\npaths:\n"
        for number in 0..<2000 { text += "  /p\(number): {get: {responses: *r}}\n" }
        #expect(text.utf8.count < 400_000)
        #expect(message { _ = try catalog(["/api.yaml": text]) }?.contains("more than 200000") == true)
    }

    @Test
    func longAliasedNamesAreNotCopied() throws {
        let long = String(repeating: "x", count: 200_000)
        var text = """
            openapi: 3.1.0
            x:
              r: &r {? \(long)
            : {description: d}}
              e: &e {? \(long)
            : {style: form}}
              o: &o {$ref: '#/\(long)'}
              d: &d {url: 'https://h/', description: \(long)}
              s: &s {url: 'https://h/\(long)'}
            paths:

            """
        for number in 0..<3000 {
            text += "  /p\(number): {get: {responses: *r, externalDocs: *d, servers: [*s, *s], parameters: [*o], "
            text += "requestBody: {content: {a/b: {encoding: *e}}}}}\n"
        }
        var loaded: Catalog?
        #expect(try processorSeconds { loaded = try catalog(["/api.yaml": text]) } < 20)
        let described = try #require(loaded)
        #expect(described.operations.count == 3000)
        #expect(described.notes.allSatisfy { $0.utf8.count < 16_000 })
    }

    @Test
    func optionsOfExtensionsAreBounded() throws {
        let long = String(repeating: "x", count: 10_000)
        var text = "openapi: 3.1.0\nx: &x [\(long)]\npaths:\n"
        for number in 0..<5000 { text += "  /p\(number): {get: {x-nightjar-pagination: {a: *x}}}\n" }
        let catalog = try catalog(["/api.yaml": text])
        #expect(catalog.operations.first?.paginationOptions != nil)
        #expect(catalog.operations.last?.paginationOptions == nil)
    }

    @Test
    func aliasedKeysOfExamplesAreCounted() throws {
        let long = String(repeating: "k", count: 100_000)
        let uses = Array(repeating: "*o", count: 20_000).joined(separator: ", ")
        let text = """
            openapi: 3.1.0
            x: &o {? \(long)
            : 1}
            paths: {/a: {get: {parameters: [{name: q, in: query, example: [\(uses)]}]}}}
            """
        let catalog = try catalog(["/api.yaml": text])
        #expect(catalog.operations.first?.parameters.first?.example == nil)
        #expect(catalog.notes.first?.contains("aliases (*)") == true)
    }

    @Test
    func emptyMergeKeysAreCounted() throws {
        let empty = Array(repeating: "*e", count: 20_000).joined(separator: ", ")
        var text = "openapi: 3.1.0\ne: &e {}\nl: &l [\(empty)]\nm:\n"
        for _ in 0..<20_000 { text += "  - {<<: *l}\n" }
        #expect(message { _ = try tree(text) }?.contains("merge keys (<<) add more than") == true)
    }

    @Test
    func canonicallyEquivalentNamesAreDifferent() throws {
        let (one, other) = ("caf\u{e9}", "cafe\u{301}")
        let catalog = try catalog(
            paths: """
                /a: {get: {operationId: "\(one)", parameters: [{name: "\(one)", in: query}, {name: "\(other)", in: query}]}}
                /b: {get: {operationId: "\(other)", parameters: [{name: q, in: query, schema: {$ref: '#/components/schemas/\(other)'}}]}}
                """,
            rest: """
                components: {schemas: {"\(one)": {type: integer}, "\(other)": {type: string}}}
                """)
        #expect(catalog.notes == [])
        #expect(catalog.operations.map { Array($0.name.utf8) } == [Array(one.utf8), Array(other.utf8)])
        #expect(catalog.operations[0].parameters.count == 2)
        #expect(catalog["\(other)"]?.path == "/b")
        #expect(try catalog.operations[1].parameters[0].schema?.get().shape == .string)
    }
}
