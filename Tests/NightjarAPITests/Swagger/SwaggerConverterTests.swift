import NightjarHTTP
import Testing

@testable import NightjarAPI

/// Each rule of the conversion, as the JSON form of the converted document.
@Suite struct SwaggerConverterTests {
    private func converted(
        _ text: String, at location: String = "https://h/api.yaml"
    ) throws -> (root: JSONValue, notes: [String]) {
        let source = try tree(text)
        #expect(SwaggerConverter.applies(to: source))
        let (result, notes) = try SwaggerConverter.convert(source, at: DocumentLocation(location))
        return (try result.root.json(), notes)
    }

    /// Returns the value at a pointer of the converted document.
    private func value(_ pointer: String, of text: String, at location: String = "https://h/api.yaml") throws
        -> JSONValue?
    {
        try JSONPointer(pointer).value(in: converted("swagger: '2.0'\n" + text, at: location).root)
    }

    private func expect(
        _ pointer: String, of text: String, is expected: String?, at location: String = "https://h/api.yaml",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let found = try value(pointer, of: text, at: location)
        #expect(try found == expected.map { try json($0, "x.json") }, sourceLocation: sourceLocation)
    }

    // MARK: Servers

    @Test(arguments: [
        ("host: api.test\nschemes: [https]", #"[{"url":"https://api.test"}]"#),
        (
            "host: api.test:8080\nbasePath: /v1/\nschemes: [http, https]",
            #"[{"url":"https://api.test:8080/v1"},{"url":"http://api.test:8080/v1"}]"#
        ),
        ("host: api.test\nbasePath: v1", #"[{"url":"https://api.test/v1"}]"#),
        ("host: api.test\nbasePath: /\nschemes: [ws, http]", #"[{"url":"http://api.test"}]"#),
        ("basePath: /v2", #"[{"url":"/v2"}]"#), ("info: {}", #"[{"url":"/"}]"#),
        ("host: api.test\nschemes: [wss]", "[]"), ("host: 7\nschemes: 3", #"[{"url":"https://7"}]"#),
    ])
    func serversComeFromHostBasePathAndSchemes(text: String, expected: String) throws {
        try expect("/servers", of: text, is: expected)
    }

    @Test func schemeOfTheDocumentIsTheDefault() throws {
        try expect("/servers/0/url", of: "host: a.test", is: "\"http://a.test\"", at: "http://h/api.yaml")
        let (root, notes) = try converted("swagger: 2.0\nhost: a.test", at: "/api.yaml")
        #expect(try JSONPointer("/servers/0/url").value(in: root) == .string("https://a.test"))
        #expect(notes == ["schemes: there is no list of schemes, so https is used"])
    }

    @Test func operationMayHaveItsOwnSchemes() throws {
        let text = "host: a.test\nbasePath: /v1\nschemes: [https]\npaths: {/a: {get: {schemes: [http]}}}"
        try expect("/paths/~1a/get/servers", of: text, is: #"[{"url":"http://a.test/v1"}]"#)
    }

    // MARK: Parameters

    private func parameter(_ text: String) -> String { "paths: {/a: {get: {parameters: [{name: p, \(text)}]}}}" }

    @Test(arguments: [
        ("in: query, type: string", #"{"name":"p","in":"query","schema":{"type":"string"}}"#),
        (
            "in: query, type: integer, format: int32, default: 1, minimum: 0, maximum: 9, enum: [1, 2], required: true",
            #"{"name":"p","in":"query","required":true,"schema":{"type":"integer","format":"int32","default":1,"maximum":9,"minimum":0,"enum":[1,2]}}"#
        ),
        (
            "in: path, required: true, description: D, type: string, pattern: a, x-nullable: true, x-mine: 1",
            #"{"name":"p","in":"path","description":"D","required":true,"schema":{"type":"string","pattern":"a","nullable":true},"x-mine":1}"#
        ),
        (
            "in: query, type: array, items: {type: string}",
            #"{"name":"p","in":"query","style":"form","explode":false,"schema":{"type":"array","items":{"type":"string"}}}"#
        ),
        (
            "in: query, type: array, items: {type: string}, collectionFormat: multi",
            #"{"name":"p","in":"query","style":"form","explode":true,"schema":{"type":"array","items":{"type":"string"}}}"#
        ),
        (
            "in: query, type: array, items: {type: string}, collectionFormat: ssv",
            #"{"name":"p","in":"query","style":"spaceDelimited","explode":false,"schema":{"type":"array","items":{"type":"string"}}}"#
        ),
        (
            "in: query, type: array, items: {type: string}, collectionFormat: pipes",
            #"{"name":"p","in":"query","style":"pipeDelimited","explode":false,"schema":{"type":"array","items":{"type":"string"}}}"#
        ),
        (
            "in: header, type: array, items: {type: string}, collectionFormat: csv, x-example: [a]",
            #"{"name":"p","in":"header","example":["a"],"schema":{"type":"array","items":{"type":"string"}}}"#
        ),
        ("in: query, type: string, collectionFormat: tsv", #"{"name":"p","in":"query","schema":{"type":"string"}}"#),
    ])
    func parameterHasASchemaAndAStyle(text: String, expected: String) throws {
        try expect("/paths/~1a/get/parameters/0", of: parameter(text), is: expected)
    }

    @Test(arguments: [("query", "tsv"), ("path", "multi"), ("header", "ssv"), ("path", "pipes"), ("query", "x")])
    func unknownFormatIsLeftOut(place: String, format: String) throws {
        let text = parameter("in: \(place), type: array, items: {type: string}, collectionFormat: \(format)")
        let (root, notes) = try converted("swagger: '2.0'\n" + text)
        #expect(try JSONPointer("/paths/~1a/get/parameters").value(in: root) == .array([]))
        #expect(
            notes == [
                "paths./a.get.parameters.0: the collectionFormat \"\(format)\" in \"\(place)\" does not exist in "
                    + "OpenAPI 3",
                "paths./a.get.parameters.0: the parameter cannot be converted; ignored",
            ])
    }

    @Test func referencesToParametersAreFollowed() throws {
        let text = """
            parameters:
              limit: {name: limit, in: query, type: integer}
              body: {name: b, in: body, required: true, schema: {$ref: '#/definitions/Pet'}}
              again: {$ref: '#/parameters/limit'}
            definitions: {Pet: {type: object}}
            paths:
              /a:
                parameters: [{$ref: '#/parameters/again'}]
                post: {parameters: [{$ref: '#/parameters/body'}, {$ref: '#/parameters/limit'}]}
                put: {parameters: [{$ref: 'other.yaml#/p'}, {$ref: '#/parameters/none'}, {$ref: '#/parameters'}]}
            """
        let limit = #"{"name":"limit","in":"query","schema":{"type":"integer"}}"#
        try expect("/paths/~1a/parameters", of: text, is: "[\(limit)]")
        try expect("/paths/~1a/post/parameters", of: text, is: "[\(limit)]")
        try expect(
            "/paths/~1a/post/requestBody", of: text,
            is: ##"{"required":true,"content":{"application/json":{"schema":{"$ref":"#/definitions/Pet"}}}}"##)
        // The schema of a parameter can be the target of a reference.
        try expect("/parameters/body/schema", of: text, is: ##"{"$ref":"#/definitions/Pet"}"##)
        let notes = try converted("swagger: '2.0'\n" + text).notes
        #expect(
            notes.first
                == "paths./a.put.parameters.0: the reference \"other.yaml#/p\" has no target in this document; a Swagger "
                + "2.0 document can refer to other documents only for schemas")
        #expect(notes.count == 2)
    }

    @Test func circularReferenceIsANote() throws {
        let text =
            "parameters: {a: {$ref: '#/parameters/b'}, b: {$ref: '#/parameters/a'}}\n"
            + "paths: {/a: {get: {parameters: [{$ref: '#/parameters/a'}]}}}"
        #expect(try converted("swagger: '2.0'\n" + text).notes.count == 1)
    }

    // MARK: Request bodies

    @Test func bodyHasTheTypesOfConsumes() throws {
        let body = "parameters: [{name: b, in: body, description: D, schema: {type: string}}]"
        let text =
            "consumes: [application/xml, application/json, application/xml]\npaths:\n  /a:\n    post: {\(body)}\n"
            + "    put: {consumes: [text/plain], \(body)}\n    patch: {consumes: [], \(body)}"
        let media = #"{"schema":{"type":"string"}}"#
        try expect(
            "/paths/~1a/post/requestBody", of: text,
            is: #"{"description":"D","content":{"application/xml":\#(media),"application/json":\#(media)}}"#)
        try expect("/paths/~1a/put/requestBody/content", of: text, is: #"{"text/plain":\#(media)}"#)
        try expect("/paths/~1a/patch/requestBody/content", of: text, is: #"{"application/json":\#(media)}"#)
    }

    @Test func fieldsOfAFormAreAnObject() throws {
        let text = """
            paths:
              /a:
                post:
                  parameters:
                    - {name: n, in: formData, type: string, required: true, description: D}
                    - {name: l, in: formData, type: array, items: {type: integer}, collectionFormat: multi}
                    - {name: n, in: formData, type: integer}
                    - {name: q, in: query, type: string}
            """
        try expect(
            "/paths/~1a/post/requestBody", of: text,
            is: """
                {"required":true,"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{
                "n":{"description":"D","type":"string"},"l":{"type":"array","items":{"type":"integer"}}},
                "required":["n"]},"encoding":{"l":{"style":"form","explode":true}}}}}
                """)
        try expect(
            "/paths/~1a/post/parameters", of: text, is: #"[{"name":"q","in":"query","schema":{"type":"string"}}]"#)
        #expect(
            try converted("swagger: '2.0'\n" + text).notes == [
                "paths./a.post.parameters.2: \"n\" is defined twice; the first definition is used"
            ])
    }

    @Test(arguments: [
        ("", "string", ["application/x-www-form-urlencoded"]), ("", "file", ["multipart/form-data"]),
        ("consumes: [multipart/form-data]", "string", ["multipart/form-data"]),
        (
            "consumes: [multipart/form-data, application/x-www-form-urlencoded]", "string",
            ["application/x-www-form-urlencoded", "multipart/form-data"]
        ),
        ("consumes: [multipart/form-data, application/x-www-form-urlencoded]", "file", ["multipart/form-data"]),
        ("consumes: [application/json]", "string", ["application/x-www-form-urlencoded"]),
    ])
    func fileRequiresMultipart(consumes: String, type: String, expected: [String]) throws {
        let text = consumes + "\npaths: {/a: {post: {parameters: [{name: f, in: formData, type: \(type)}]}}}"
        guard case .object(let members) = try value("/paths/~1a/post/requestBody/content", of: text) else {
            throw NightjarError(.decoding, "no content")
        }
        #expect(members.map(\.name) == expected)
        if type == "file" {
            let pointer = "/paths/~1a/post/requestBody/content/multipart~1form-data/schema/properties/f"
            try expect(pointer, of: text, is: #"{"type":"string","format":"binary"}"#)
        }
    }

    @Test func operationOverridesTheBodyOfItsPath() throws {
        let text = """
            paths:
              /a:
                parameters:
                  - {name: b, in: body, schema: {type: string}}
                get: {}
                post: {parameters: [{name: b, in: body, schema: {type: integer}}]}
                put: {parameters: [{name: f, in: formData, type: string}]}
              /b:
                parameters: [{name: x, in: formData, type: string}, {name: y, in: formData, type: string}]
                post: {parameters: [{name: y, in: formData, type: integer}]}
            """
        let json = "/requestBody/content/application~1json/schema/type"
        try expect("/paths/~1a/get" + json, of: text, is: "\"string\"")
        try expect("/paths/~1a/post" + json, of: text, is: "\"integer\"")
        let form = "/requestBody/content/application~1x-www-form-urlencoded/schema/properties"
        try expect("/paths/~1a/put" + form, of: text, is: #"{"f":{"type":"string"}}"#)
        try expect("/paths/~1b/post" + form, of: text, is: #"{"x":{"type":"string"},"y":{"type":"integer"}}"#)
    }

    // MARK: Responses

    @Test func responsesHaveTheTypesOfProduces() throws {
        let text = """
            produces: [application/json, application/xml]
            responses: {Gone: {description: Gone, schema: {type: string}}}
            paths:
              /a:
                get:
                  responses:
                    200: {description: OK, schema: {type: array, items: {$ref: '#/definitions/Pet'}}, headers: {X: {type: string}}}
                    410: {$ref: '#/responses/Gone'}
                    default: {description: None}
                    404: {$ref: 'errors.yaml#/NotFound'}
                put:
                  produces: [text/csv]
                  responses: {410: {$ref: '#/responses/Gone'}}
            """
        let pets = ##"{"schema":{"type":"array","items":{"$ref":"#/definitions/Pet"}}}"##
        try expect(
            "/paths/~1a/get/responses/200", of: text,
            is: #"{"description":"OK","content":{"application/json":\#(pets),"application/xml":\#(pets)}}"#)
        let gone = #"{"schema":{"type":"string"}}"#
        try expect(
            "/paths/~1a/get/responses/410/content", of: text,
            is: #"{"application/json":\#(gone),"application/xml":\#(gone)}"#)
        try expect("/paths/~1a/put/responses/410/content", of: text, is: #"{"text/csv":\#(gone)}"#)
        try expect("/paths/~1a/get/responses/default", of: text, is: #"{"description":"None"}"#)
        try expect("/paths/~1a/get/responses/404", of: text, is: nil)
        #expect(try converted("swagger: '2.0'\n" + text).notes.count == 1)
    }

    // MARK: Schemas

    @Test(arguments: [
        ("{discriminator: kind, type: object}", #"{"discriminator":{"propertyName":"kind"},"type":"object"}"#),
        ("{discriminator: {propertyName: kind}}", #"{"discriminator":{"propertyName":"kind"}}"#),
        ("{type: string, x-nullable: true}", #"{"type":"string","nullable":true}"#),
        ("{x-nullable: true, nullable: false}", #"{"nullable":false}"#),
        ("{type: file}", #"{"type":"string","format":"binary"}"#),
        (
            "{properties: {type: {type: file, format: x}, discriminator: {x-nullable: false}}}",
            #"{"properties":{"type":{"type":"string","format":"x"},"discriminator":{"nullable":false}}}"#
        ),
        (
            "{allOf: [{$ref: '#/definitions/B'}, {items: {x-nullable: true}}], additionalProperties: {type: file}}",
            ##"{"allOf":[{"$ref":"#/definitions/B"},{"items":{"nullable":true}}],"additionalProperties":{"type":"string","format":"binary"}}"##
        ),
        (
            "{example: {x-nullable: true, type: file}, enum: [{type: file}], x-any: {discriminator: a}}",
            #"{"example":{"x-nullable":true,"type":"file"},"enum":[{"type":"file"}],"x-any":{"discriminator":"a"}}"#
        ),
        ("[1, {type: file}]", #"[1,{"type":"file"}]"#), ("null", "null"),
    ])
    func schemasAreConverted(text: String, expected: String) throws {
        try expect("/definitions/A", of: "definitions: {A: \(text)}", is: expected)
    }

    // MARK: Security

    @Test(arguments: [
        ("{type: basic, description: D}", #"{"description":"D","type":"http","scheme":"basic"}"#),
        ("{type: apiKey, name: k, in: header}", #"{"type":"apiKey","name":"k","in":"header"}"#),
        (
            "{type: oauth2, flow: implicit, authorizationUrl: 'https://a', scopes: {r: Read}}",
            #"{"type":"oauth2","flows":{"implicit":{"authorizationUrl":"https://a","scopes":{"r":"Read"}}}}"#
        ),
        (
            "{type: oauth2, flow: password, tokenUrl: 'https://t'}",
            #"{"type":"oauth2","flows":{"password":{"tokenUrl":"https://t"}}}"#
        ),
        (
            "{type: oauth2, flow: application, tokenUrl: 'https://t'}",
            #"{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://t"}}}"#
        ),
        (
            "{type: oauth2, flow: accessCode, tokenUrl: 'https://t', authorizationUrl: 'https://a'}",
            #"{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t"}}}"#
        ),
        ("{type: oauth2, flow: new}", #"{"type":"oauth2"}"#), ("7", "{}"),
    ])
    func securitySchemesAreConverted(text: String, expected: String) throws {
        try expect("/components/securitySchemes/S", of: "securityDefinitions: {S: \(text)}", is: expected)
    }

    // MARK: Versions and bounds

    @Test(arguments: [
        ("swagger: '2.0'", true), ("swagger: 2.0", true), ("swagger: 2", true), (#"{"swagger": "2.0"}"#, true),
        (#"{"swagger": 2.0}"#, true), ("swagger: '1.2'", false), ("swagger: '2.0'\nopenapi: 3.0.0", false),
        ("[]", false),
    ])
    func versionIsRecognized(text: String, applies: Bool) throws {
        #expect(SwaggerConverter.applies(to: try tree(text)) == applies)
    }

    @Test func aliasesAreNotExpanded() throws {
        var text = "swagger: '2.0'\nx-0: &a0 {a: b}\n"
        for level in 1...40 { text += "x-\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        text += "definitions: {A: {enum: *a40}}\n"
        let source = try tree(text)
        let (result, _) = try SwaggerConverter.convert(source, at: DocumentLocation("/a.yaml"))
        #expect(result.nodes.count < 2 * source.nodes.count)
    }

    /// Operations that share a path item through aliases do not multiply the document.
    @Test func sharedFormsAreBounded() throws {
        let fields = (0..<400).map { "{name: f\($0), in: formData, type: string}" }.joined(separator: ", ")
        var text = "swagger: '2.0'\nx-form: &form [\(fields)]\npaths:\n"
        for number in 0..<4000 { text += "  /p\(number): {post: {parameters: *form}}\n" }
        let error = #expect(throws: NightjarError.self) {
            try SwaggerConverter.convert(try tree(text), at: DocumentLocation("/a.yaml"))
        }
        #expect(error == nil || error?.kind == .tooLarge)
    }

    @Test func positionsAreThoseOfTheOriginal() throws {
        for (name, text) in [
            ("a.yaml", "swagger: '2.0'\ndefinitions:\n  é: {type: string}\n"),
            ("a.json", "{\"swagger\": \"2.0\",\n \"definitions\": {\n  \"é\": {\"type\": \"string\"}}}"),
        ] {
            let source = try tree(text, name)
            let (result, _) = try SwaggerConverter.convert(source, at: DocumentLocation("/" + name))
            for pointer in ["/definitions/é", "/definitions/é/type"] {
                let pointer = try JSONPointer(pointer)
                #expect(result.root.value(at: pointer)?.position == source.root.value(at: pointer)?.position)
            }
        }
    }

    @Test func positionsOfAJSONDocumentAreFoundInOnePass() throws {
        let text = Array("{\"a\": [1, \"é\\\"x\", true],\n\"ü\":null, \"c\": {\n  \"d\": -1.5e3}}\n".utf8)
        let places = JSONPosition.all(in: text, count: 100)
        #expect(places.count == 12)
        for (number, place) in places.enumerated() {
            let (line, column) = JSONPosition.find(number, in: text)
            #expect(Int(place.line) == line && Int(place.column) == column, "\(number)")
        }
        #expect(JSONPosition.all(in: text, count: 3).count == 3)
    }
}
