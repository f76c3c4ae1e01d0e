import Synchronization
import Testing

@testable import NightjarJSON

@Suite struct SchemaLibraryTests {
    private static let text = ##"""
        {"User": {"type": "object", "required": ["id"], "pattern": "(",
                  "properties": {"id": {"type": "integer"}, "friends": {"items": {"$ref": "#/User"}}}},
         "one": {"properties": {"user": {"$ref": "#/User"}}}, "two": {"items": {"$ref": "#/User"}, "format": 1},
         "broken": {"properties": {"user": {"$ref": "#/User"}, "other": {"allOf": [{"$ref": "#/Late"}, {"$ref": "#/no"}]}}},
         "Late": {"type": "string", "requried": 1}}
        """##

    private final class Shared: Sendable {
        let library: Mutex<SchemaLibrary>

        init(_ library: consuming SchemaLibrary) { self.library = Mutex(library) }
    }

    private func library(_ text: String = text, maximum: Int = 100) throws -> SchemaLibrary {
        SchemaLibrary(SuiteDocument(root: try JSONValue(parsing: text)), dialect: .openAPI31, maximum: maximum)
    }

    private func place(_ pointer: String) throws -> SchemaPlace {
        SchemaPlace(document: "", pointer: try JSONPointer(pointer))
    }

    @Test func sharedSchemaIsReadOnce() throws {
        var library = try library()
        let one = try library.schema(at: place("/one"))
        #expect(library.count == 2 + 4)
        let two = try library.schema(at: place("/two"))
        #expect(library.count == 2 + 5)
        let user = try library.schema(at: place("/User"))
        #expect(library.count == 2 + 5)
        #expect(one.properties.first?.schema.root == user.root)
        #expect(two.elements?.root == user.root)
        #expect(
            two.mismatch(in: try JSONValue(parsing: #"[{"id":1,"friends":[{}]}]"#))?.path.description
                == "/0/friends/0/id")
    }

    @Test func notesCoverReachableSchemas() throws {
        var library = try library()
        let user = try library.schema(at: place("/User"))
        let one = try library.schema(at: place("/one"))
        let two = try library.schema(at: place("/two"))
        let late = try library.schema(at: place("/Late"))
        #expect(
            user.notes == [
                ##"the schema at "/User": the pattern "(" is invalid at offset 1: missing closing parenthesis"##
            ])
        #expect(one.notes == user.notes)
        #expect(two.notes == [##"the schema at "/two": "format" must be a string, found an integer"##] + user.notes)
        #expect(late.notes == [##"the schema at "/Late": unknown keyword "requried"; did you mean "required"?"##])
    }

    @Test func failedSchemaLeavesNoEntries() throws {
        var library = try library()
        for _ in 0..<2 {
            do throws(NightjarError) {
                _ = try library.schema(at: SchemaPlace(document: "", pointer: JSONPointer(tokens: ["broken"])))
                Issue.record("it was read")
            } catch {
                #expect(error.message == "no schema at #/no")
            }
            #expect(library.count == 2)
        }
        _ = try library.schema(at: place("/one"))
        let late = try library.schema(at: place("/Late"))
        #expect(late.mismatch(in: .integer(1))?.description == "expected a string, found an integer")
    }

    @Test func libraryIsBounded() throws {
        var library = try library(maximum: 7)
        _ = try library.schema(at: place("/one"))
        _ = try library.schema(at: place("/two"))
        do throws(NightjarError) {
            _ = try library.schema(at: SchemaPlace(document: "", pointer: JSONPointer(tokens: ["Late"])))
            Issue.record("it was read")
        } catch {
            #expect(error.kind == .invalidArgument)
            #expect(error.message == ##"the schema at "/Late": the documents contain more than 7 schemas"##)
        }
        _ = try library.schema(at: place("/User"))
    }

    /// The arena grows by adding chunks. An index refers to the same schema before and after the arena grows.
    @Test func schemasKeepTheirIndexes() throws {
        let members = (0..<5000).map { #""s\#($0)":{"const":\#($0)}"# }.joined(separator: ",")
        var library = try library("{\(members)}", maximum: 10_000)
        var schemas: [JSONSchema] = []
        for number in 0..<5000 { schemas.append(try library.schema(at: place("/s\(number)"))) }
        for (number, schema) in schemas.enumerated() {
            #expect(schema.mismatch(in: .integer(Int64(number))) == nil)
            #expect(schema.mismatch(in: .integer(Int64(number) + 1)) != nil)
        }
        #expect(library.count == 5002)
    }

    /// Validation reads the arena while other threads add schemas.
    @Test func schemasAreUsedWhileOthersAreRead() async throws {
        let members = (0..<2000).map { ##""s\##($0)":{"items":{"$ref":"#/s0"},"maxItems":\##($0)}"## }.joined(
            separator: ",")
        let shared = Shared(try library("{\(members)}", maximum: 10_000))
        let document = try JSONValue(parsing: "[[],[]]")
        let wrong = await withTaskGroup(of: Int.self) { group in
            for start in 0..<4 {
                group.addTask {
                    var wrong = 0
                    for number in stride(from: start, to: 2000, by: 2) {
                        let place = SchemaPlace(document: "", pointer: JSONPointer(tokens: ["s\(number)"]))
                        guard let schema = try? shared.library.withLock({ try $0.schema(at: place) }) else {
                            wrong += 1
                            continue
                        }
                        if (schema.mismatch(in: document) == nil) != (number >= 2) { wrong += 1 }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        #expect(shared.library.withLock { $0.count } == 2002)
    }
}
