import NIOCore

/// An absolute http or https URL, or a URL of a server on a Unix domain socket, in the form in which it is sent. RFC
/// 9110 section 4.2, RFC 3986.
///
/// The fragment is dropped. Dot segments are kept, because the server resolves them, except in a target that
/// `Location` has resolved.
public struct RequestURL: Sendable, CustomStringConvertible {
    /// A scheme, host and port, or a Unix domain socket.
    public typealias Origin = NightjarHTTP.Origin

    public let origin: Origin
    /// The path and query, percent-encoded, beginning with a slash: the request target of RFC 9112 section 3.2.1.
    public let target: String
    /// The user name and password before the `@`. Not part of ``description`` and never sent as part of the URL.
    public let userInfo: UserInfo?
    /// Names of query items that carry credentials, in addition to the built-in names. URLs that are resolved against
    /// this URL inherit the names. The names do not affect equality.
    package var sensitive: [String] = []

    /// Parses an absolute URL.
    ///
    /// - Throws: `invalid_url` with the reason. The message quotes no part that may be a password.
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

    /// Returns a copy that also masks the values of query items with these names.
    func hiding(_ names: [String]) -> RequestURL {
        let further = names.filter { !sensitive.contains($0) }
        guard !further.isEmpty else { return self }
        return RequestURL(origin: origin, target: target, userInfo: userInfo, sensitive: sensitive + further)
    }

    /// Resolves `target`, which is an absolute URL or a path. A path is appended to this URL's path, separated by one
    /// slash. `query` is appended to the query of `target`.
    public func joined(
        _ target: String, query: [(name: String, value: String)] = []
    ) throws(NightjarError) -> RequestURL {
        try RequestURL.resolve(target, base: self, query: query) ?? self
    }

    /// A copy without user info.
    public var withoutUserInfo: RequestURL {
        RequestURL(origin: origin, target: target, userInfo: nil, sensitive: sensitive)
    }

    public var path: String {
        guard let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target }
        return String(target[..<end])
    }

    /// The origin and path, for messages.
    var withoutQuery: String { origin.description + path }

    /// The query after the `?`, encoded. Nil if there is none.
    public var query: String? {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[target.utf8.index(after: $0)...]) }
    }

    /// The URL without user info and with masked credentials in the query.
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
    /// The URL without user info, with `***` for the values of query items that carry credentials.
    public var redacted: String { origin.description + Masking.url(target, sensitive: sensitive) }
}
