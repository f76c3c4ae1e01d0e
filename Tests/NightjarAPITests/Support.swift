import NightjarHTTP

@testable import NightjarAPI

func tree(_ text: String, _ name: String = "api.yaml") throws -> DocumentTree {
    try Array(text.utf8).withUnsafeBytes { bytes in
        Result { () throws(NightjarError) in try DocumentTree.reading(bytes, name: name) }
    }.get()
}

/// Converts a document to JSON.
func json(_ text: String, _ name: String = "api.yaml") throws -> JSONValue { try tree(text, name).root.json() }

/// Returns the message of the error that `body` throws, or nil.
func message(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return (error as? NightjarError)?.message ?? "\(error)"
    }
}

/// Loads the first file as a description. The keys are the paths of the files.
func catalog(_ files: KeyValuePairs<String, String>) throws -> Catalog {
    try CatalogLoader.load(files[0].key) { path throws(NightjarError) in
        guard let file = files.first(where: { $0.key == path }) else {
            throw NightjarError(.storage, "there is no \(path)")
        }
        return Array(file.value.utf8)
    }
}

/// Loads a description with these paths.
func catalog(paths: String, version: String = "3.1.0", rest: String = "") throws -> Catalog {
    let indented = paths.split(separator: "\n", omittingEmptySubsequences: false).map { "  " + $0 }.joined(
        separator: "\n")
    return try catalog([
        "/api.yaml": "openapi: \(version)\ninfo: {title: T, version: 1.10}\n\(rest)\npaths:\n\(indented)\n"
    ])
}
