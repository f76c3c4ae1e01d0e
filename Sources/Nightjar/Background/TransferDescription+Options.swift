import NightjarHTTP
import NightjarStorage

extension TransferDescription {
    /// Reads the options of a background transfer: `{download = URL, to = PATH}` or `{upload = URL, from = PATH}`, with
    /// `method`, `client`, the options of requests and of downloads or uploads, and the constraints. An upload can have
    /// `body`, `body_base64`, `json`, `form` or `multipart` in place of `from`.
    ///
    /// - Parameter place: Returns the path at which a content of the options will be written. The caller writes it.
    /// - Throws: `invalid_argument` for an unknown name (with the nearest known name) or an invalid value, and for an option
    ///   that another process cannot use, such as a password; `decoding` if the text is not JSON; `storage` if the folder
    ///   of the file does not exist; other errors for invalid values, such as `invalid_url`.
    package init(
        json: UnsafeRawBufferPointer, spooling place: (TransferBody) throws(NightjarError) -> String
    ) throws(NightjarError) {
        let value = try JSONValue(parsing: json)
        guard case .object(let members) = value else { throw .mismatch("", expected: "a table of options", value) }
        let kind: BackgroundTransfer.Kind
        switch (value["download"], value["upload"]) {
        case (.some, nil): kind = .download
        case (nil, .some): kind = .upload
        default:
            throw NightjarError(.invalidArgument, "a transfer needs one of the options download and upload: its URL")
        }
        let body = kind == .upload ? try TransferBody(value) : nil
        var parts = try Parts(members, kind)
        if let type = body?.type {
            if !parts.settings.contains(where: { $0.name == "type" }) {
                parts.settings.append(.init("type", .string(type)))
            } else if value["multipart"] != nil {
                throw NightjarError(
                    .invalidArgument,
                    "the option type cannot be used with multipart, whose type has the boundary; remove it")
            }
        }
        self.init(
            kind: kind, url: try (value[kind.rawValue] ?? .null).text(kind.rawValue),
            path: try TransferDescription.path(
                value, kind, try body.map { (body) throws(NightjarError) in try place(body) }),
            method: try value["method"]?.method("method"),
            constraints: try TransferConstraints.options.applied(
                .object(parts.constraints), to: TransferConstraints()),
            onComplete: try value["on_complete"].map { (words) throws(NightjarError) in try words.words("on_complete") }
                ?? [],
            client: try TransferDescription.withAbsolutePaths(client: value["client"] ?? .object([])),
            request: .object(parts.request), settings: .object(parts.settings))
        try checkSecrets()
        try checkParts()
    }

    /// The options by the value to which they belong.
    private struct Parts {
        var request: [JSONValue.Member] = []
        var settings: [JSONValue.Member] = []
        var constraints: [JSONValue.Member] = []

        init(_ members: [JSONValue.Member], _ kind: BackgroundTransfer.Kind) throws(NightjarError) {
            let own =
                [kind.rawValue, "method", "client", "on_complete"]
                + (kind == .download ? ["to"] : ["from"] + TransferBody.options)
            let ofSettings =
                (kind == .download
                ? DownloadSettings.options.options.map(\.name) : UploadSettings.options.options.map(\.name))
                .filter { !["id", "resume"].contains($0) }
            let ofConstraints = TransferConstraints.options.options.map(\.name)
            let ofRequest = Request.options.options.map(\.name).filter { !Parts.refused.contains($0) }
            for member in members where !own.contains(member.name) {
                if ofSettings.contains(member.name) {
                    settings.append(member)
                } else if ofConstraints.contains(member.name) {
                    constraints.append(member)
                } else if ofRequest.contains(member.name) {
                    request.append(member)
                } else {
                    throw Parts.unknown(member.name, own + ofSettings + ofConstraints + ofRequest, kind)
                }
            }
        }

        private static func unknown(
            _ name: String, _ known: [String], _ kind: BackgroundTransfer.Kind
        ) -> NightjarError {
            let known = known.sorted()
            let hint = nearestName(to: name, among: known).map { "; did you mean \"\($0)\"?" }
            return NightjarError(
                .invalidArgument,
                "unknown option \(quoted(name)) of a background \(kind.rawValue)"
                    + (hint ?? "; the known options are \(known.joined(separator: ", "))"))
        }

        /// The options of requests that need the process of the caller, or that have no meaning for a transfer.
        private static let refused = [
            "auth", "schema", "expect", "cache", "coalesce", "limit_group", "invalidates", "max_body",
        ]
    }

    /// - Parameter spooled: The path of a content of the options. Nil: there is none.
    private static func path(
        _ options: JSONValue, _ kind: BackgroundTransfer.Kind, _ spooled: String?
    ) throws(NightjarError) -> String {
        let name = kind == .download ? "to" : "from"
        switch (options[name], spooled) {
        case (let path?, nil): return try absolute(try path.text(name), kind)
        case (nil, let spooled?): return spooled
        case (.some, .some):
            throw NightjarError(
                .invalidArgument,
                "an upload needs the option from, or one of body, json, form and multipart, but not both")
        case (nil, nil):
            throw NightjarError(.invalidArgument, "option \(quoted(name)) is missing: the path of the file")
        }
    }

    /// The worker has another working folder.
    private static func absolute(
        _ path: String, _ kind: BackgroundTransfer.Kind
    ) throws(NightjarError) -> String {
        switch kind {
        case .download:
            let target = try DownloadTarget(path)
            return target.name.map { target.path(of: $0) } ?? target.folder + "/"
        case .upload: return try FilePath.absolute(path)
        }
    }

    // MARK: Checks

    /// Builds the parts of the transfer, so that their errors are reported at the start.
    private func checkParts() throws(NightjarError) {
        let request = try makeRequest()
        _ = try makeConfiguration()
        let url = try RequestURL(self.url)
        if url.userInfo != nil { throw TransferDescription.secret(kind.rawValue) }
        switch kind {
        case .download:
            _ = try makeDownloadSettings()
            guard request.method == .get else {
                throw NightjarError(
                    .invalidArgument, "a background download needs a GET request, got \(request.method)")
            }
        case .upload: _ = try makeUploadSettings()
        }
    }

    /// Rejects the options with secrets: the journal must not have them, and the worker reads them from a credential store.
    private func checkSecrets() throws(NightjarError) {
        guard case .object(let options) = client else {
            throw .mismatch("client", expected: "a table of options", client)
        }
        for option in options {
            let path = "client.\(option.name)"
            guard TransferDescription.clientOptions.contains(option.name) else {
                throw NightjarError(
                    .invalidArgument, "option \(quoted(path)) cannot be used by a background transfer; remove it")
            }
            switch option.name {
            case "auth": try TransferDescription.check(auth: option.value, path)
            case "headers": try TransferDescription.check(headers: option.value, path)
            case "tls", "proxy": try TransferDescription.check(texts: option.value, path)
            default: break
            }
        }
        for word in onComplete where TransferDescription.hasUserInfo(word) {
            throw TransferDescription.secret("on_complete")
        }
        if let headers = request["headers"] { try TransferDescription.check(headers: headers, "headers") }
    }

    private static func check(auth: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let members) = auth else { return }
        for member in members where !loginOptions.contains(member.name) { throw secret("\(path).\(member.name)") }
        try check(texts: auth, path)
        guard auth["type"] == .string("oauth2"), let store = auth["store"], isLasting(store) else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) of a background transfer must be a login of the type oauth2 with a store, so that the worker can read and refresh the token"
            )
        }
    }

    /// Whether the worker can read the logins of a store.
    private static func isLasting(_ store: JSONValue) -> Bool {
        guard case .object = store else { return store != .string("memory") }
        return ["file", "sqlite", "keyring"].contains { store[$0] != nil }
    }

    private static func check(headers: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let members) = headers else { return }
        for member in members {
            // A header with another value is an error of its own.
            guard case .string(var text) = member.value else { continue }
            var name = member.name
            let isSecret = name.withUTF8 { name in
                text.withUTF8 { SecretNames.isSecret(field: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
            }
            if isSecret { throw secret("\(path).\(member.name)") }
        }
    }

    /// Rejects the names of secrets, the user info of URLs, and the keys of certificates.
    private static func check(texts value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .object(let members):
            for member in members {
                let inner = "\(path).\(member.name)"
                if secretOptions.contains(member.name) { throw secret(inner) }
                try check(texts: member.value, inner)
            }
        case .array(let items): for item in items { try check(texts: item, path) }
        case .string(let text):
            if hasUserInfo(text) || text.contains("PRIVATE KEY-----") { throw secret(path) }
        default: break
        }
    }

    /// Whether a text is a URL with a user name or a password. It need not be an http URL.
    private static func hasUserInfo(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else { return false }
        return text[scheme.upperBound...].prefix { !"/?#".contains($0) }.contains("@")
    }

    private static func secret(_ path: String) -> NightjarError {
        NightjarError(
            .invalidArgument,
            "option \(quoted(path)) has a secret, which a background transfer must not record; use a login of the type oauth2 with a store"
        )
    }

    private static let clientOptions: Set<String> = [
        "headers", "user_agent", "timeout", "redirect", "tls", "proxy", "unix_socket", "retry", "respect_retry_after",
        "auth", "max_connections_per_host", "decompress", "allow_metered", "allow_constrained", "resolve", "ip_family",
        "local_address", "interface", "address_filter", "https_only",
    ]
    private static let loginOptions: Set<String> = [
        "type", "token_url", "client_id", "client_auth", "grant", "device_url", "authorize_url", "issuer", "scope",
        "store", "skew", "refresh_timeout", "refresh_limit",
    ]
    private static let secretOptions: Set<String> = ["key_pem", "pkcs12_base64", "password", "user"]
}

extension TransferConstraints {
    static let options = OptionTable<TransferConstraints>([
        Option(name: "not_before") { value, path, constraints throws(NightjarError) in
            let seconds = try value.number(path)
            guard let time = Timestamp(secondsSince1970: seconds) else {
                throw NightjarError(
                    .invalidArgument, "option \(quoted(path)) must be a time in seconds since 1970, got \(seconds)")
            }
            constraints.notBefore = time
        },
        Option(name: "unmetered") { value, path, constraints throws(NightjarError) in
            constraints.needsUnmetered = try value.flag(path)
        },
        Option(name: "discretionary") { value, path, constraints throws(NightjarError) in
            constraints.isDiscretionary = try value.flag(path)
        },
        Option(name: "priority") { value, path, constraints throws(NightjarError) in
            constraints.priority = try value.count(path, in: priorities)
        },
        Option(name: "bandwidth_share") { value, path, constraints throws(NightjarError) in
            constraints.bandwidthShare = try value.count(path, in: bandwidthShares)
        },
        Option(name: "time_limit") { value, path, constraints throws(NightjarError) in
            let limit = try value.duration(path)
            guard timeLimits.contains(limit) else {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path)) must be between \(timeLimits.lowerBound.inSeconds) and \(timeLimits.upperBound.inSeconds) seconds, got \(limit.inSeconds)"
                )
            }
            constraints.timeLimit = limit
        },
    ])

    /// The options that differ from their default values.
    var members: [JSONValue.Member] {
        let standard = TransferConstraints()
        var members: [JSONValue.Member] = []
        if let notBefore {
            members.append(
                .init("not_before", .number(notBefore.secondsSince1970)))
        }
        if needsUnmetered { members.append(.init("unmetered", .bool(true))) }
        if isDiscretionary { members.append(.init("discretionary", .bool(true))) }
        if priority != 0 { members.append(.init("priority", .integer(Int64(priority)))) }
        if bandwidthShare != standard.bandwidthShare {
            members.append(.init("bandwidth_share", .integer(Int64(bandwidthShare))))
        }
        if timeLimit != standard.timeLimit { members.append(.init("time_limit", .number(timeLimit.inSeconds))) }
        return members
    }
}

extension JSONValue {
    fileprivate func number(_ path: String) throws(NightjarError) -> Double {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .number(let number): number
        default: throw .mismatch(path, expected: "a number", self)
        }
    }
}
