import NightjarAPI
import NightjarHTTP

/// Fuzzes the loader of API descriptions. Aborts if one of these invariants is violated:
///
/// - Nothing traps, hangs or uses unbounded memory.
/// - Loading ends, and requests each document at most once and none from another origin.
/// - Operation names are unique and contain no control characters, paths begin with a slash, and servers are URLs.
/// - Loading the same input twice gives the same result.
///
/// The rest of the input is documents separated by `%`. The first byte selects their location (files or an origin),
/// whether the first document's name indicates JSON or YAML, and whether it begins with an added `openapi` version.
func fuzzOpenAPI(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1 else { return 0 }
    let choice = start[0]
    var documents = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
        .split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: true).map(Array.init)
    guard !documents.isEmpty else { return 0 }
    if choice & 4 != 0 { documents[0] = Array("openapi: 3.\(choice >> 6 & 1).0\n".utf8) + documents[0] }
    let place = choice & 1 == 0 ? "/apis/v1/" : "https://user:secret@example.com/v1/"
    let name = place + (choice & 2 == 0 ? "api.yaml" : "api.json")
    guard let catalog = load(name, documents) else { return 0 }
    guard let again = load(name, documents) else { fatalError("loaded once, and then not") }
    require(catalog.operations.map(\.name) == again.operations.map(\.name), "other names")
    require(catalog.notes == again.notes, "other notes")
    require(catalog.notes.count < 1100, "\(catalog.notes.count) notes")
    require(!catalog.notes.contains { $0.contains("secret") && !contains(documents, "secret") }, "a secret in a note")
    require(catalog.servers.allSatisfy(isURL), "servers: \(catalog.servers)")
    require(Set(catalog.operations.map(\.name)).count == catalog.operations.count, "a duplicate name")
    for operation in catalog.operations {
        require(operation.path.utf8.first == UInt8(ascii: "/"), "a path: \(operation.path)")
        require(!operation.name.utf8.contains { $0 < 0x20 }, "a name: \(operation.name)")
        require(operation.server.map(isURL) ?? true, "a server: \(operation.server ?? "")")
    }
    for operation in catalog.operations.prefix(8) { use(operation) }
    return 0
}

private func load(_ name: String, _ documents: [[UInt8]]) -> Catalog? {
    var loader = CatalogLoader(name)
    var next = 0
    var requested: Set<String> = []
    while let wanted = loader.missing.first {
        require(requested.insert(wanted).inserted, "\(wanted) is requested twice")
        require(wanted.hasPrefix("/") == name.hasPrefix("/"), "a document at \(wanted)")
        require(
            wanted.hasPrefix("/") || wanted.hasPrefix("https://user:secret@example.com/"), "a document at \(wanted)")
        do throws(NightjarError) {
            guard next < documents.count else {
                try loader.failed(NightjarError(.notFound, "there is none"), for: wanted)
                continue
            }
            defer { next += 1 }
            try documents[next].withUnsafeBytes { bytes in
                Result { () throws(NightjarError) in try loader.received(bytes, for: wanted) }
            }.get()
        } catch {
            require(!error.message.isEmpty, "no message")
            return nil
        }
        require(!loader.missing.contains(wanted), "\(wanted) is still wanted")
    }
    return try? loader.catalog()
}

private func use(_ operation: Operation) {
    var arguments = Arguments()
    for parameter in operation.parameters.prefix(16) {
        let made = (try? parameter.schema?.get())?.example(use: .request)
        if let value = parameter.example ?? made { arguments.values.append((parameter.name, value)) }
    }
    for choice in operation.content?.choices.prefix(4) ?? [] {
        let made = (try? choice.schema?.get())?.example(use: .request)
        if let value = choice.example ?? made { arguments.body = .value(value) }
    }
    for response in operation.responses.prefix(4) {
        for (_, schema) in response.schemas.prefix(4) { _ = try? schema?.get() }
    }
    _ = try? operation.request(arguments)
}

private func isURL(_ text: String) -> Bool { (try? RequestURL(text)) != nil }

private func contains(_ documents: [[UInt8]], _ word: String) -> Bool {
    documents.contains { String(decoding: $0, as: UTF8.self).contains(word) }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
