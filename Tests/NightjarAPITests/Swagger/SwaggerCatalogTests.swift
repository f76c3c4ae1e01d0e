import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarAPI

/// Catalogs of complete Swagger 2.0 documents, and documents with random mistakes.
@Suite struct SwaggerCatalogTests {
    static let store = """
        swagger: "2.0"
        info: {title: Pet Store, version: 1.0.7, description: Pets and orders}
        host: pets.example.com
        basePath: /v2
        schemes: [http, https]
        tags: [{name: pet, description: All about pets}]
        consumes: [application/json, application/xml]
        produces: [application/json, application/xml]
        securityDefinitions:
          key: {type: apiKey, name: api_key, in: header}
          login:
            type: oauth2
            flow: implicit
            authorizationUrl: https://pets.example.com/oauth/dialog
            scopes: {write_pets: Change pets, read_pets: Read pets}
        parameters:
          petId: {name: petId, in: path, required: true, type: integer, format: int64}
        responses:
          NotFound: {description: There is no such pet, schema: {$ref: '#/definitions/Problem'}}
        paths:
          /pet:
            post:
              tags: [pet]
              operationId: addPet
              parameters: [{in: body, name: pet, required: true, schema: {$ref: '#/definitions/Pet'}}]
              responses: {201: {description: Created, schema: {$ref: '#/definitions/Pet'}}}
              security: [{login: [write_pets]}]
          /pet/findByStatus:
            get:
              operationId: findPets
              parameters:
                - name: status
                  in: query
                  required: true
                  type: array
                  items: {type: string, enum: [available, pending, sold], default: available}
                  collectionFormat: multi
                - {name: tags, in: query, type: array, items: {type: string}}
              responses:
                200: {description: The pets, schema: {type: array, items: {$ref: '#/definitions/Pet'}}}
          /pet/{petId}:
            parameters: [{$ref: '#/parameters/petId'}]
            get:
              operationId: pet
              produces: [application/json]
              responses: {200: {description: The pet, schema: {$ref: '#/definitions/Pet'}}, 404: {$ref: '#/responses/NotFound'}}
              security: [{key: []}]
            post:
              operationId: renamePet
              consumes: [application/x-www-form-urlencoded]
              parameters: [{name: name, in: formData, type: string}, {name: status, in: formData, type: string}]
              responses: {204: {description: Renamed}}
          /pet/{petId}/picture:
            post:
              operationId: addPicture
              consumes: [multipart/form-data]
              parameters:
                - {$ref: '#/parameters/petId'}
                - {name: note, in: formData, type: string}
                - {name: file, in: formData, type: file, required: true}
              responses: {200: {description: OK, schema: {$ref: '#/definitions/Problem'}}}
        definitions:
          Category: {type: object, properties: {id: {type: integer, format: int64}, name: {type: string}}}
          Pet:
            type: object
            required: [name]
            discriminator: kind
            properties:
              id: {type: integer, format: int64}
              kind: {type: string}
              name: {type: string, example: Rex}
              category: {$ref: '#/definitions/Category'}
              owner: {type: string, x-nullable: true}
              tags: {type: array, items: {type: string}}
          Problem: {type: object, properties: {code: {type: integer}, message: {type: string}}}
        """

    @Test func storeHasItsOperations() throws {
        let store = try catalog(["/api.yaml": SwaggerCatalogTests.store])
        #expect(store.notes == [])
        #expect(store.title == "Pet Store" && store.version == "1.0.7")
        #expect(store.servers == ["https://pets.example.com/v2", "http://pets.example.com/v2"])
        #expect(store.tags.map(\.name) == ["pet"])
        #expect(store.operations.map(\.name) == ["addPet", "findPets", "pet", "renamePet", "addPicture"])
        let add = try #require(store["addPet"])
        #expect(add.content?.choices.map(\.mediaType) == ["application/json", "application/xml"])
        #expect(add.content?.isRequired == true)
        #expect(add.security?.first?.schemes.map(\.name) == ["login"])
        let find = try #require(store["findPets"])
        #expect(find.parameters.map(\.name) == ["status", "tags"])
        #expect(find.parameters.map(\.explodes) == [true, false] && find.parameters.map(\.style) == [.form, .form])
        #expect(find.content == nil)
        let pet = try #require(store["pet"])
        #expect(pet.parameters.map(\.name) == ["petId"] && pet.parameters.first?.isRequired == true)
        #expect(pet.responses.map { $0.schemas.map(\.mediaType) } == [["application/json"], ["application/json"]])
        #expect(store["renamePet"]?.content?.choices.map(\.mediaType) == ["application/x-www-form-urlencoded"])
        #expect(store["addPicture"]?.content?.choices.map(\.mediaType) == ["multipart/form-data"])
        #expect(store["addPicture"]?.parameters.map(\.name) == ["petId"])
        #expect(store.security.map(\.name) == ["key", "login"])
    }

    @Test func schemasOfTheStoreAreChecked() throws {
        let store = try catalog(["/api.yaml": SwaggerCatalogTests.store])
        let add = try #require(store["addPet"])
        let schema = try #require(add.content?.choices.first?.schema)
        let accepted = #"{"name":"Rex","kind":"dog","owner":null,"category":{"id":1}}"#
        #expect(try accepts(schema, accepted))
        for rejected in [
            #"{"kind":"dog","owner":"Ada"}"#, #"{"name":"Rex","kind":"dog","category":{"id":"one"}}"#,
            #"{"name":null,"kind":"dog"}"#,
        ] {
            #expect(try !accepts(schema, rejected), "\(rejected)")
        }
    }

    private func accepts(_ schema: DeferredSchema, _ text: String) throws -> Bool {
        let schema = try schema.get()
        return message { try schema.check(try json(text, "x.json")) } == nil
    }

    /// JSON gives the same catalog as YAML.
    @Test func storeMayBeJSON() throws {
        let text = String(decoding: try json(SwaggerCatalogTests.store).encoded().readableBytesView, as: UTF8.self)
        let store = try catalog(["/api.json": text])
        #expect(store.notes == [])
        #expect(store.operations.map(\.name) == ["addPet", "findPets", "pet", "renamePet", "addPicture"])
    }

    @Test func documentMayReferToSchemasInOtherDocuments() throws {
        let store = try catalog([
            "/api.yaml": """
            swagger: '2.0'
            host: h
            schemes: [https]
            paths:
              /a:
                post:
                  operationId: a
                  parameters: [{name: b, in: body, schema: {$ref: 'pets.yaml#/definitions/Pet'}}]
                  responses: {200: {description: OK, schema: {$ref: plain.json}}}
            """,
            "/pets.yaml": "swagger: '2.0'\ndefinitions: {Pet: {type: string, x-nullable: true}}",
            "/plain.json": #"{"type": "integer"}"#,
        ])
        #expect(store.notes == [])
        let operation = try #require(store["a"])
        let body = try #require(operation.content?.choices.first?.schema)
        #expect(try accepts(body, "null") && !accepts(body, "1"))
        let response = try #require(operation.responses.first?.schemas.first?.schema)
        #expect(try accepts(response, "1") && !accepts(response, "\"1\""))
    }

    /// Replaces, removes and repeats parts of the document. No mistake may trap, and each gives an error or a catalog.
    @Test func randomMistakesAreHandled() throws {
        let lines = SwaggerCatalogTests.store.split(separator: "\n").map(String.init)
        let values = [
            "7", "null", "[]", "{}", "[[]]", "{$ref: '#'}", "{$ref: '#/paths'}", "{$ref: 'x.yaml#/a'}", "true", "''",
        ]
        var random = SeededRandom(seed: 7)
        var loaded = 0
        for _ in 0..<500 {
            var text = lines
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let line = Int.random(in: 1..<text.count, using: &random)
                let value = values.randomElement(using: &random) ?? "7"
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text[line] = text[line].replacingFirst("{", with: "{swagger: \(value), ")
                case 1: text.remove(at: line)
                case 2:
                    if let colon = text[line].firstIndex(of: ":") {
                        text[line] = String(text[line][...colon]) + " " + value
                    }
                default: text.insert(text[Int.random(in: 0..<text.count, using: &random)], at: line)
                }
            }
            let document = text.joined(separator: "\n")
            do {
                let catalog = try catalog(["/api.yaml": document])
                loaded += 1
                #expect(catalog.operations.allSatisfy { $0.path.hasPrefix("/") })
            } catch {
                #expect((error as? NightjarError)?.message.isEmpty == false)
            }
        }
        #expect(loaded > 100)
    }

    @Test func deepDocumentsAreRejectedOrRead() throws {
        for depth in [100, 240, 300, 5000] {
            let schema = String(repeating: "{items: ", count: depth) + "1" + String(repeating: "}", count: depth)
            let text = "swagger: '2.0'\npaths: {}\ndefinitions: {A: \(schema)}"
            _ = message { _ = try catalog(["/api.yaml": text]) }
            let body = "swagger: '2.0'\npaths: {/a: {post: {parameters: [{name: b, in: body, schema: \(schema)}]}}}"
            _ = message { _ = try catalog(["/api.yaml": body]) }
        }
    }
}

extension String {
    fileprivate func replacingFirst(_ character: Character, with text: String) -> String {
        guard let place = firstIndex(of: character) else { return self }
        return self[..<place] + text + self[index(after: place)...]
    }
}
