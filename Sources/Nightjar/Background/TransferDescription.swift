import NightjarHTTP

/// The description of a background transfer: the input of its journal entry. It has no secrets except those in its URL.
package struct TransferDescription: Sendable, Equatable {
    package let kind: BackgroundTransfer.Kind
    package let url: String
    /// An absolute path.
    package let path: String
    package let method: Method?
    package let constraints: TransferConstraints
    /// The program that the worker starts after the end, with its arguments. Empty: none.
    package let onComplete: [String]
    /// The options of the client, of the request, and of the download or upload: objects whose members are sorted.
    let client: JSONValue
    let request: JSONValue
    let settings: JSONValue

    init(
        kind: BackgroundTransfer.Kind, url: String, path: String, method: Method?, constraints: TransferConstraints,
        onComplete: [String], client: JSONValue, request: JSONValue, settings: JSONValue
    ) {
        (self.kind, self.url, self.path, self.method) = (kind, url, path, method)
        (self.constraints, self.onComplete) = (constraints, onComplete)
        (self.client, self.request, self.settings) = (client.sorted, request.sorted, settings.sorted)
    }

    // MARK: The journal

    /// The text for the journal. Equal descriptions have equal texts.
    package var bytes: [UInt8] {
        get throws(NightjarError) { Array(try JSONValue.object(members).encoded().readableBytesView) }
    }

    private var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("version", .integer(TransferDescription.version)), .init(kind.rawValue, .string(url)),
            .init("path", .string(path)),
        ]
        if let method { members.append(.init("method", .string("\(method)"))) }
        members += [.init("client", client), .init("request", request), .init("settings", settings)]
        members.append(.init("constraints", .object(constraints.members)))
        if !onComplete.isEmpty { members.append(.init("on_complete", .array(onComplete.map { .string($0) }))) }
        return members
    }

    /// Reads a text from the journal.
    ///
    /// - Throws: `invalid_argument` for the text of a later version, and if the text is damaged.
    package init(bytes: [UInt8]) throws(NightjarError) {
        let value = try JSONValue(parsing: String(decoding: bytes, as: UTF8.self))
        guard value["version"] == .integer(TransferDescription.version) else {
            throw NightjarError(
                .invalidArgument, "the transfer was recorded by another version of nightjar; update nightjar")
        }
        guard
            let kind = value["download"] != nil
                ? BackgroundTransfer.Kind.download : value["upload"] != nil ? .upload : nil,
            case .string(let url)? = value[kind.rawValue], case .string(let path)? = value["path"]
        else {
            throw NightjarError(.invalidArgument, "the description of the transfer is damaged; remove the transfer")
        }
        self.init(
            kind: kind, url: url, path: path, method: try value["method"]?.method("method"),
            constraints: try TransferConstraints.options.applied(
                value["constraints"] ?? .object([]), at: "constraints", to: TransferConstraints()),
            onComplete: try value["on_complete"].map { (words) throws(NightjarError) in try words.words("on_complete") }
                ?? [],
            client: value["client"] ?? .object([]), request: value["request"] ?? .object([]),
            settings: value["settings"] ?? .object([]))
    }

    // MARK: The parts of the transfer

    package func makeConfiguration() throws(NightjarError) -> Configuration {
        var configuration = Configuration()
        try configuration.merge(client)
        // Credentials and header fields of the client are sent only to the server of the transfer.
        configuration.baseURL = try RequestURL(url).origin.description
        configuration.connectivity.allowsMetered =
            configuration.connectivity.allowsMetered && !constraints.needsUnmetered && !constraints.isDiscretionary
        return configuration
    }

    package func makeRequest() throws(NightjarError) -> Request {
        try Request.options.applied(request, to: Request(method ?? (kind == .download ? .get : .post), url))
    }

    package func makeDownloadSettings() throws(NightjarError) -> DownloadSettings {
        let made = try DownloadSettings.options.applied(settings, to: DownloadSettings())
        try made.check()
        return made
    }

    package func makeUploadSettings() throws(NightjarError) -> UploadSettings {
        let made = try UploadSettings.options.applied(settings, to: UploadSettings())
        try made.check()
        return made
    }

    private static let version: Int64 = 1
}

extension JSONValue {
    /// Reads a program and its arguments.
    func words(_ path: String) throws(NightjarError) -> [String] {
        guard case .array = self else {
            throw .mismatch(path, expected: "an array with a program and its arguments", self)
        }
        let words = try texts(path)
        guard let program = words.first, !program.isEmpty, !words.contains(where: { $0.utf8.contains(0) }) else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must have a program and arguments without NUL characters")
        }
        return words
    }

    /// The value with the members of all objects sorted by their names.
    fileprivate var sorted: JSONValue {
        switch self {
        case .object(let members):
            .object(
                members.map { Member($0.name, $0.value.sorted) }
                    .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
        case .array(let items): .array(items.map(\.sorted))
        default: self
        }
    }
}
