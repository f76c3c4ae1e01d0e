import NightjarHTTP
import Testing

@testable import NightjarOpenAPI

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Published descriptions, beside the repository.
private let corpus: String = {
    var folder = #filePath.split(separator: "/").dropLast(4).map(String.init)
    // A worktree is a level deeper.
    while !folder.isEmpty, access("/" + folder.joined(separator: "/") + "/shared/openapi", R_OK) != 0 {
        folder.removeLast()
    }
    return "/" + folder.joined(separator: "/") + (folder.isEmpty ? "shared/openapi" : "/shared/openapi")
}()

private func contents(_ path: String) throws(NightjarError) -> [UInt8] {
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
    @Test(arguments: [
        ("openai.yaml", 288), ("discord.json", 242), ("digitalocean/specification/DigitalOcean-public.v2.yaml", 659),
        ("examples/v3.0-api-with-examples.json", 2), ("examples/v3.0-callback-example.yaml", 1),
        ("examples/v3.0-link-example.json", 6), ("examples/v3.0-petstore-expanded.yaml", 4),
        ("examples/v3.0-petstore.yaml", 3), ("examples/v3.0-uspto.json", 3), ("examples/v3.1-non-oauth-scopes.json", 1),
        ("examples/v3.1-tictactoe.yaml", 3), ("examples/v3.1-webhook-example.json", 0),
    ])
    func everyOperationIsThere(file: String, count: Int) throws {
        let catalog = try CatalogLoader.load("\(corpus)/\(file)", read: contents)
        #expect(catalog.operations.count == count)
        #expect(Set(catalog.operations.map(\.name)).count == count)
        #expect(catalog.operations.allSatisfy { !$0.name.isEmpty && $0.path.hasPrefix("/") })
        #expect(catalog.title?.isEmpty == false)
    }
}
