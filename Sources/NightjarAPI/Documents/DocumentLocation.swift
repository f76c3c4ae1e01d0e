import NightjarHTTP

/// The location of a document: a file or a URL.
struct DocumentLocation: Sendable, Hashable {
    private enum Kind: Hashable {
        case file
        case url(RequestURL)
    }

    private let kind: Kind
    /// The location to request: an absolute path or an absolute URL, including user info.
    let text: String

    static func == (a: DocumentLocation, b: DocumentLocation) -> Bool {
        a.kind == b.kind && a.text.isExactly(b.text)
    }

    func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }

    /// - Parameter text: an absolute path, or an absolute http or https URL.
    /// - Throws: `invalid_argument` or `invalid_url`.
    init(_ text: String) throws(NightjarError) {
        guard text.utf8.count <= DocumentLocation.maximumLength else {
            throw NightjarError(
                .invalidArgument,
                "the document location \(quoted(text)) is longer than \(DocumentLocation.maximumLength) bytes")
        }
        if text.utf8.first == UInt8(ascii: "/") {
            kind = .file
            self.text = DocumentLocation.withoutDots(Array(text.utf8))
            return
        }
        guard DocumentLocation.scheme(text) != nil else {
            throw NightjarError(
                .invalidArgument,
                "\(quoted(text)) is not a document location; write an absolute path or an absolute http or https URL")
        }
        let url = try RequestURL(text)
        kind = .url(url)
        self.text = url.origin.description.replacingAuthority(with: DocumentLocation.userInfo(text)) + url.target
    }

    /// The maximum length of a path or URL in bytes: PATH_MAX of Linux.
    static let maximumLength = 4096

    /// The location without secrets, for messages.
    var name: String {
        switch kind {
        case .file: text
        case .url(let url): url.redacted
        }
    }

    /// The origin of a URL. Nil for a file.
    var origin: Origin? {
        guard case .url(let url) = kind else { return nil }
        return url.origin
    }

    /// Resolves a reference relative to this location. RFC 3986 section 5.2. The same rules apply to file paths.
    ///
    /// - Parameter reference: must not be empty or have a fragment.
    /// - Throws: `invalid_argument` or `invalid_url`.
    func resolving(_ reference: String) throws(NightjarError) -> DocumentLocation {
        if let scheme = DocumentLocation.scheme(reference) {
            guard scheme == "http" || scheme == "https" else {
                throw NightjarError(
                    .invalidArgument,
                    "the scheme \(quoted(scheme)) of the reference \(quoted(reference)) is not http or https")
            }
            return try DocumentLocation(reference)
        }
        switch kind {
        case .file:
            let path = try PercentEncoded.decoded(reference[...])
            if path.utf8.first == UInt8(ascii: "/") { return try DocumentLocation(path) }
            return try DocumentLocation(DocumentLocation.directory(text) + path)
        case .url(let url): return try DocumentLocation(resolve(reference, against: url))
        }
    }

    /// Resolves a URL of a `servers` list. Returns nil if the URL is relative and this location is a file.
    func server(_ reference: String) throws(NightjarError) -> String? {
        if DocumentLocation.scheme(reference) != nil { return try RequestURL(reference).withoutUserInfo.written }
        guard case .url(let url) = kind else { return nil }
        return try RequestURL(resolve(reference, against: url)).withoutUserInfo.written
    }

    private func resolve(_ reference: String, against url: RequestURL) -> String {
        if reference.utf8.starts(with: "//".utf8) { return (url.origin.isTLS ? "https:" : "http:") + reference }
        let authority = url.origin.description.replacingAuthority(with: DocumentLocation.userInfo(text))
        let pathEnd = reference.utf8.firstIndex(of: UInt8(ascii: "?")) ?? reference.endIndex
        let path = reference[..<pathEnd]
        let query = reference[pathEnd...]
        if path.isEmpty { return authority + url.path + query }
        let whole = path.utf8.first == UInt8(ascii: "/") ? String(path) : DocumentLocation.directory(url.path) + path
        return authority + DocumentLocation.withoutDots(Array(whole.utf8)) + query
    }

    // MARK: Texts

    /// Returns the scheme in lower case. Returns nil for a relative reference. RFC 3986 section 3.1.
    private static func scheme(_ text: String) -> String? {
        let name = text.utf8.prefix { byte in
            ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 || ASCII.isDigit(byte) || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        guard let first = name.first, ASCII.lowercase(first) &- UInt8(ascii: "a") < 26,
            name.endIndex < text.endIndex, text.utf8[name.endIndex] == UInt8(ascii: ":")
        else { return nil }
        return String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
    }

    /// Returns the user info as written, with the `@`. Returns an empty text if there is none.
    private static func userInfo(_ url: String) -> Substring {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let authority = url[colon...].utf8.dropFirst(3).prefix { byte in
            byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return url[authority.startIndex...at]
    }

    /// Returns the path up to and including its last slash.
    private static func directory(_ path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "/"
    }

    /// Removes dot segments. RFC 3986 section 5.2.4.
    ///
    /// - Parameter path: must begin with a slash.
    private static func withoutDots(_ path: [UInt8]) -> String {
        let slash = UInt8(ascii: "/")
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.dropFirst().split(separator: slash, omittingEmptySubsequences: false)
        for (number, segment) in segments.enumerated() {
            let isLast = number == segments.count - 1
            if segment.elementsEqual("..".utf8) {
                _ = kept.popLast()
                if isLast { kept.append([]) }
            } else if segment.elementsEqual(".".utf8) {
                if isLast { kept.append([]) }
            } else {
                kept.append(segment)
            }
        }
        return kept.map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
    }
}

extension RequestURL {
    /// The complete URL without user info.
    fileprivate var written: String { origin.description + target }
}

extension String {
    /// Inserts user info before the host of `https://host`.
    fileprivate func replacingAuthority(with userInfo: Substring) -> String {
        guard !userInfo.isEmpty, let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return String(self[...slash] + userInfo + self[index(after: slash)...])
    }
}

/// Decodes percent-encoded references. RFC 3986 section 2.1.
enum PercentEncoded {
    /// - Throws: `invalid_argument` if an escape is malformed or the result is not UTF-8.
    static func decoded(_ text: Substring) throws(NightjarError) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(ASCII.hexValue), let low = rest.popFirst().flatMap(ASCII.hexValue)
            else {
                throw NightjarError(
                    .invalidArgument,
                    "the reference \(quoted(text)) has a % without two hexadecimal digits after it; write % as %25")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw NightjarError(.invalidArgument, "the reference \(quoted(text)) is not UTF-8 after percent-decoding")
        }
        return decoded
    }
}
