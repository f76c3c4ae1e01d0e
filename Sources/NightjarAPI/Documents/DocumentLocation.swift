import NightjarHTTP

/// Where a document is: a file, or a URL.
struct DocumentLocation: Sendable, Hashable {
    private enum Kind: Hashable {
        case file
        case url(RequestURL)
    }

    private let kind: Kind
    /// What is asked for: an absolute path, or an absolute URL with what its owner wrote in front of an `@`.
    let text: String

    static func == (a: DocumentLocation, b: DocumentLocation) -> Bool {
        a.kind == b.kind && a.text.isExactly(b.text)
    }

    func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }

    /// - Parameter text: an absolute path, or an absolute URL of http or https.
    /// - Throws: `invalid_argument` or `invalid_url`.
    init(_ text: String) throws(NightjarError) {
        guard text.utf8.count <= DocumentLocation.maximumLength else {
            throw NightjarError(
                .invalidArgument,
                "the place \(quoted(text)) of a document is longer than \(DocumentLocation.maximumLength) bytes")
        }
        if text.utf8.first == UInt8(ascii: "/") {
            kind = .file
            self.text = DocumentLocation.withoutDots(Array(text.utf8))
            return
        }
        guard DocumentLocation.scheme(text) != nil else {
            throw NightjarError(
                .invalidArgument,
                "\(quoted(text)) is no place of a document; write an absolute path, or a URL with http or https")
        }
        let url = try RequestURL(text)
        kind = .url(url)
        self.text = url.origin.description.replacingAuthority(with: DocumentLocation.userInfo(text)) + url.target
    }

    /// Bytes of a path or URL: PATH_MAX of Linux, and more than servers take.
    static let maximumLength = 4096

    /// For messages: without secrets.
    var name: String {
        switch kind {
        case .file: text
        case .url(let url): url.redacted
        }
    }

    /// Nil for a file.
    var origin: Origin? {
        guard case .url(let url) = kind else { return nil }
        return url.origin
    }

    /// What a reference in the document here leads to. RFC 3986 section 5.2; for files the same arithmetic on paths.
    ///
    /// - Parameter reference: without fragment, not empty.
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

    /// What is written in a `servers` list; nil where there is nothing that it is relative to.
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

    /// In lower case; nil for what is relative. RFC 3986 section 3.1.
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

    /// As it is written, with the `@`; empty where there is none.
    private static func userInfo(_ url: String) -> Substring {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return "" }
        let authority = url[colon...].utf8.dropFirst(3).prefix { byte in
            byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
        }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return "" }
        return url[authority.startIndex...at]
    }

    /// With the slash at its end.
    private static func directory(_ path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "/"
    }

    /// RFC 3986 section 5.2.4.
    ///
    /// - Parameter path: begins with a slash.
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
    /// In full, without user info.
    fileprivate var written: String { origin.description + target }
}

extension String {
    /// `https://host` with user info in front of the host.
    fileprivate func replacingAuthority(with userInfo: Substring) -> String {
        guard !userInfo.isEmpty, let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return String(self[...slash] + userInfo + self[index(after: slash)...])
    }
}

/// `%20` and the like. RFC 3986 section 2.1.
enum PercentEncoded {
    /// - Throws: `invalid_argument` for what is no encoding, or not of UTF-8.
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
                    "the reference \(quoted(text)) has a % without two hexadecimal digits behind it; % is written %25")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw NightjarError(.invalidArgument, "the reference \(quoted(text)) is not UTF-8 when it is decoded")
        }
        return decoded
    }
}
