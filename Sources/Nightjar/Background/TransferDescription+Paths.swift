import NightjarHTTP

extension TransferDescription {
    /// Returns the options of a client with absolute paths, because the worker has another working folder.
    ///
    /// - Throws: `storage` if the working folder does not exist any more.
    static func withAbsolutePaths(client: JSONValue) throws(NightjarError) -> JSONValue {
        guard case .object(var members) = client else { return client }
        for index in members.indices where ["auth", "tls"].contains(members[index].name) {
            members[index] = .init(members[index].name, try absolute(members[index].value))
        }
        return .object(members)
    }

    private static func absolute(_ options: JSONValue) throws(NightjarError) -> JSONValue {
        guard case .object(var members) = options else { return options }
        for index in members.indices {
            let name = members[index].name
            let value: JSONValue =
                switch members[index].value {
                case .string(let text) where paths.contains(name): .string(try absolute(text))
                case .string(let text) where name == "store": .string(try absolute(store: text))
                default: try absolute(members[index].value)
                }
            members[index] = .init(name, value)
        }
        return .object(members)
    }

    /// - Parameter path: An empty path is an error elsewhere.
    private static func absolute(_ path: String) throws(NightjarError) -> String {
        path.isEmpty ? path : try FilePath.absolute(path)
    }

    private static func absolute(store: String) throws(NightjarError) -> String {
        for kind in ["file:", "sqlite:"] where store.hasPrefix(kind) {
            return kind + (try absolute(String(store.dropFirst(kind.count))))
        }
        return store
    }

    /// The options of `auth` and `tls` that are paths.
    private static let paths: Set<String> = [
        "ca_file", "key_log_file", "file", "key", "pkcs12", "sqlite", "key_file",
    ]
}
