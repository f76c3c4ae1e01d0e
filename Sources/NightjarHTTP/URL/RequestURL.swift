import NIOCore

/// An absolute http or https URL in the form in which it goes on the wire. RFC 9110 section 4.2, RFC 3986.
///
/// The fragment is dropped. Dot segments stay as they were written: the server resolves them.
public struct RequestURL: Sendable, CustomStringConvertible {
    public let origin: Origin
    /// Path and query, percent-encoded; begins with a slash. The request target of RFC 9112 section 3.2.1.
    public let target: String
    /// What stood before the `@`. Never in ``description``, and never on the wire as part of the URL.
    public let userInfo: UserInfo?
    /// Names of query items that carry credentials, beside those known for it. What is resolved against this URL has them
    /// too, and they make no other URL of it.
    package var sensitive: [String] = []

    /// Reads an absolute URL.
    ///
    /// - Throws: `invalid_url`, saying what to do. The message quotes nothing that may be a password.
    public init(_ text: String) throws(NightjarError) {
        guard let url = try RequestURL.resolve(text, base: nil, query: []) else {
            throw NightjarError(.invalidURL, "the URL has no scheme; write http://host/path or https://host/path")
        }
        self = url
    }

    package init(origin: Origin, target: String, userInfo: UserInfo?, sensitive: [String] = []) {
        self.origin = origin
        self.target = target
        self.userInfo = userInfo
        self.sensitive = sensitive
    }

    /// The same, that shows no values of these query items either.
    func hiding(_ names: [String]) -> RequestURL {
        let further = names.filter { !sensitive.contains($0) }
        guard !further.isEmpty else { return self }
        return RequestURL(origin: origin, target: target, userInfo: userInfo, sensitive: sensitive + further)
    }

    /// The URL of `target`, which is absolute, or a path put behind this one's with one slash between; then `query`.
    public func joined(
        _ target: String, query: [(name: String, value: String)] = []
    ) throws(NightjarError) -> RequestURL {
        try RequestURL.resolve(target, base: self, query: query) ?? self
    }

    /// The same without user info.
    public var withoutUserInfo: RequestURL { RequestURL(origin: origin, target: target, userInfo: nil) }

    public var path: String {
        guard let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<end])
    }

    /// For messages: the origin and the path.
    var withoutQuery: String { origin.description + path }

    /// What is behind the `?`, encoded; nil when there is none.
    public var query: String? {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[target.utf8.index(after: $0)...]) }
    }

    /// The URL without user info, and with the values of query items that carry credentials masked.
    public var description: String { redacted }

    private static func resolve(
        _ text: String, base: RequestURL?, query: [(name: String, value: String)]
    ) throws(NightjarError) -> RequestURL? {
        try text.withRawBytes { bytes throws(NightjarError) in
            guard let resolution = try URLResolution(bytes, base: base) else { return nil }
            var target = ByteBuffer()
            try RequestTarget.write(
                UnsafeRawBufferPointer(rebasing: bytes[resolution.rest...]), behind: resolution.basePath, query: query,
                into: &target)
            return RequestURL(
                origin: resolution.origin, target: String(buffer: target), userInfo: resolution.userInfo,
                sensitive: base?.sensitive ?? [])
        }
    }
}

extension RequestURL: Hashable {
    public static func == (a: RequestURL, b: RequestURL) -> Bool {
        a.origin == b.origin && a.target == b.target && a.userInfo == b.userInfo
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(target)
        hasher.combine(userInfo)
    }
}

extension RequestURL {
    /// The URL without user info, and with `***` for the values of query items that carry credentials.
    public var redacted: String { origin.description + Masking.url(target, sensitive: sensitive) }
}
