import NightjarHTTP
import Testing

@testable import NightjarAPI

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The folder with published descriptions, next to the repository, or one level higher for a worktree.
let corpus: String = {
    let repository = #filePath.split(separator: "/").dropLast(4)
    for parent in [repository.dropLast(), repository.dropLast(2)] {
        let folder = "/" + parent.joined(separator: "/") + "/shared/openapi"
        if access(folder, R_OK) == 0 { return folder }
    }
    return "../shared/openapi"
}()

func contents(_ path: String) throws(NightjarError) -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw NightjarError(.storage, "\(path) cannot be opened") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&chunk, 1, chunk.count, file)
        if count == 0 { return bytes }
        bytes += chunk[..<count]
    }
}

@Suite(.enabled(if: access(corpus, R_OK) == 0, "there is no ../shared/openapi beside the repository"))
struct CorpusTests {
    /// Each file, its number of operations (counted by another program), and the notes about unsupported parts.
    static let descriptions: [(file: String, operations: Int, notes: [String])] = [
        ("openai.yaml", 288, ["webhooks are not supported"]), ("discord.json", 242, []),
        (
            "digitalocean/specification/DigitalOcean-public.v2.yaml", 659,
            [
                "paths./v2/account/keys.post.responses.201: links are not supported",
                "paths./api/v1/chat/completions.post.servers.0: ignored: \"{\" is not allowed in a host name",
                "paths./<upload_url>.put.servers.0: ignored: the URL has no host; add one, as in http://host",
            ]
        ),
        ("examples/v3.0-api-with-examples.json", 2, []),
        (
            "examples/v3.0-callback-example.yaml", 1, ["paths./streams.post: callbacks are not supported"]
        ),
        (
            "examples/v3.0-link-example.json", 6,
            ["paths./2.0/users/{username}.get.responses.200: links are not supported"]
        ),
        ("examples/v3.0-petstore-expanded.yaml", 4, []), ("examples/v3.0-petstore.yaml", 3, []),
        ("examples/v3.0-uspto.json", 3, []), ("examples/v3.1-non-oauth-scopes.json", 1, []),
        (
            "examples/v3.1-tictactoe.yaml", 3,
            [
                "webhooks are not supported",
                "paths./board/{row}/{column}.get.responses.200: links are not supported",
                "paths./board/{row}/{column}.put: callbacks are not supported",
            ]
        ),
        ("examples/v3.1-webhook-example.json", 0, ["webhooks are not supported"]),
    ]

    @Test(arguments: descriptions)
    func everyOperationIsRead(file: String, operations: Int, notes: [String]) throws {
        let catalog = try CatalogLoader.load("\(corpus)/\(file)", read: contents)
        #expect(catalog.operations.count == operations)
        #expect(Set(catalog.operations.map(\.name)).count == operations)
        #expect(catalog.operations.allSatisfy { !$0.name.isEmpty && $0.path.hasPrefix("/") })
        #expect(catalog.title?.isEmpty == false)
        #expect(catalog.notes == notes)

        var problems: [String] = []
        for schema in catalog.schemas {
            do throws(NightjarError) {
                _ = try schema.get()
            } catch {
                problems.append(error.message)
            }
        }
        #expect(problems == [])

        problems = []
        for operation in catalog.operations {
            do throws(NightjarError) {
                let request = try operation.request(try operation.exampleArguments)
                if request.method != operation.method {
                    problems.append("\(operation.name) is sent as \(request.method)")
                }
            } catch {
                problems.append(error.message)
            }
        }
        #expect(problems == [])
    }
}

extension Catalog {
    /// The schemas without duplicates.
    fileprivate var schemas: [DeferredSchema] {
        var seen: Set<ObjectIdentifier> = []
        return operations.flatMap { operation in
            operation.parameters.compactMap(\.schema) + (operation.content?.choices.compactMap(\.schema) ?? [])
                + operation.responses.flatMap { $0.schemas.compactMap(\.schema) }
        }.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
}

extension Operation {
    /// A value for each parameter and for the body: the example of the description, or a generated value if the example
    /// violates its schema.
    fileprivate var exampleArguments: Arguments {
        get throws(NightjarError) {
            var arguments = Arguments()
            for parameter in parameters {
                if let value = try Operation.example(parameter.example, parameter.schema) {
                    arguments.values.append(("\(parameter.place.rawValue).\(parameter.name)", value))
                }
            }
            for choice in content?.choices ?? [] {
                guard let value = try Operation.example(choice.example, choice.schema) else { continue }
                arguments.body = .value(value)
                break
            }
            if arguments.body == nil, let body = Operation.bodies[name] { arguments.body = .value(body) }
            return arguments
        }
    }

    /// Bodies that have no example and cannot be generated, such as a list of distinct strings that match a pattern.
    private static let bodies: [String: JSONValue] = [
        "bulk_delete_messages": .object([.init("messages", .array([.string("1"), .string("2")]))])
    ]

    private static func example(_ own: JSONValue?, _ schema: DeferredSchema?) throws(NightjarError) -> JSONValue? {
        guard let schema = try schema?.get() else { return own ?? .string("text") }
        if let own, schema.mismatch(in: own, use: .request) == nil { return own }
        return schema.example(use: .request)
    }
}
