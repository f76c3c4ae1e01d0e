import NIOCore

/// The target of a Location field: a reference resolved against the requested URL. RFC 9110 section 10.2.2, RFC 3986
/// section 5.2.
package struct Location: Equatable {
    /// The target URL without its fragment.
    package let url: RequestURL
    /// The fragment, encoded. If the Location has no fragment, the fragment of the requested URL.
    let fragment: String?

    /// Resolves a reference.
    ///
    /// - Parameters:
    ///   - field: the raw value. UTF-8, Latin-1 and spaces, which some servers send, are percent-encoded.
    ///   - base: the requested URL. A target with the same origin inherits the user info of `base`.
    ///   - fragment: the fragment of the requested URL.
    ///   - subject: the name of the reference in messages.
    /// - Throws: `protocol` if the reference is invalid. The message quotes no part that may be a secret.
    package init(
        _ field: UnsafeRawBufferPointer, base: RequestURL, fragment: String? = nil, as subject: Subject = .redirect
    ) throws(NightjarError) {
        guard !field.isEmpty else { throw subject.unfollowable("is empty") }
        guard field.count <= RequestTarget.maximumLength else { throw subject.oversized }
        if let byte = field.first(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw subject.unfollowable("contains the control character 0x" + String(byte, radix: 16))
        }
        let hash = field.firstIndex(of: UInt8(ascii: "#")) ?? field.count
        let reference = UnsafeRawBufferPointer(rebasing: field[..<hash])
        let (origin, target) = try subject.resolve(reference, base: base)
        let userInfo = origin == base.origin ? base.userInfo : nil
        url = RequestURL(origin: origin, target: target, userInfo: userInfo, sensitive: base.sensitive)
        if hash < field.count {
            self.fragment = try subject.encoded(Array(field[(hash + 1)...]))
        } else {
            self.fragment = fragment
        }
    }

    /// The kind of a reference, with the text for messages.
    package struct Subject {
        let problem: String
        let name: String

        package static let redirect = Subject(problem: "the redirect cannot be followed", name: "its Location")
        package static let nextPage = Subject(problem: "the list cannot be followed", name: "the URL of its next page")
    }

    /// Removes dot segments. RFC 3986 section 5.2.4.
    ///
    /// - Parameter path: a path that begins with a slash.
    static func removingDotSegments(_ path: some Collection<UInt8>) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        var result: [UInt8] = []
        result.reserveCapacity(path.count)
        var rest = path[...]
        while !rest.isEmpty {
            let segment = rest.dropFirst().prefix { $0 != slash }
            rest = rest[segment.endIndex...]
            if segment.elementsEqual("..".utf8) {
                while let last = result.popLast(), last != slash {}
            } else if !segment.elementsEqual(".".utf8) {
                result.append(slash)
                result.append(contentsOf: segment)
                continue
            }
            if rest.isEmpty { result.append(slash) }
        }
        return result
    }
}

extension Location.Subject {
    /// Resolves a reference. RFC 3986 section 5.2.2.
    fileprivate func resolve(
        _ reference: UnsafeRawBufferPointer, base: RequestURL
    ) throws(NightjarError) -> (Origin, target: String) {
        let (isTLS, afterScheme) = try scheme(reference, base: base)
        let rest = UnsafeRawBufferPointer(rebasing: reference[afterScheme...])
        guard rest.starts(with: "//".utf8) else {
            return (base.origin, try target(rest, base: base))
        }
        let authority = URLResolution.authority(rest, from: 2)
        let pathAndQuery = UnsafeRawBufferPointer(rebasing: rest[(2 + authority.count)...])
        return (try origin(authority, isTLS: isTLS, base: base.origin), try target(pathAndQuery, base: nil))
    }

    /// Returns the scheme of the target, and the offset after the scheme and its colon. The offset is 0 if the
    /// reference has no scheme.
    private func scheme(
        _ reference: UnsafeRawBufferPointer, base: RequestURL
    ) throws(NightjarError) -> (isTLS: Bool, end: Int) {
        let end = reference.prefix(while: URLResolution.isSchemeByte).count
        guard end < reference.count, reference[end] == UInt8(ascii: ":"), let first = reference.first,
            ASCII.lowercase(first) &- UInt8(ascii: "a") < 26
        else { return (base.origin.isTLS, 0) }
        let name = UnsafeRawBufferPointer(rebasing: reference[..<end])
        let isTLS = ASCII.isCaseless(name, "https")
        guard isTLS || ASCII.isCaseless(name, "http") else {
            throw unfollowable(of: "the scheme \(quoted(name)) of \(self.name)", "is not http or https")
        }
        // Some parsers read `http:path` as a host and others as a path. RFC 3986 permits this form for backward
        // compatibility only.
        guard reference[end...].starts(with: "://".utf8) else {
            throw unfollowable("has \(quoted(name)) without :// after it")
        }
        return (isTLS, end + 1)
    }

    private func origin(
        _ authority: UnsafeRawBufferPointer, isTLS: Bool, base: Origin
    ) throws(NightjarError) -> Origin {
        // A server on a Unix domain socket refers to itself with the host of the default Host field, `localhost`.
        if base.socket != nil, !isTLS, authority.elementsEqual(base.hostField.utf8) { return base }
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw unfollowable("contains a user name or password, which a server must not choose for the client")
        }
        do throws(NightjarError) {
            let (host, port, _) = try URLResolution.read(authority, defaultPort: Origin.defaultPort(isTLS: isTLS))
            return Origin(isTLS: isTLS, host: host, port: port)
        } catch {
            throw unfollowable("is invalid: " + error.message)
        }
    }

    /// Returns the path and query of the target, encoded.
    ///
    /// - Parameter base: the URL with which a relative path is merged (section 5.2.3). Nil if the reference has an
    ///   authority.
    private func target(_ text: UnsafeRawBufferPointer, base: RequestURL?) throws(NightjarError) -> String {
        let slash = UInt8(ascii: "/")
        let path = text.prefix { $0 != UInt8(ascii: "?") }
        let query = text[path.endIndex...]
        let basePath = base?.path ?? "/"
        var whole: [UInt8]
        switch path.first {
        case nil:
            if let base, query.isEmpty { return base.target }
            whole = Array(basePath.utf8)
        case slash:
            whole = Location.removingDotSegments(path)
        default:
            let directoryEnd = basePath.utf8.lastIndex(of: slash) ?? basePath.startIndex
            whole = Location.removingDotSegments(Array(basePath.utf8[...directoryEnd]) + path)
        }
        whole += query
        return try encoded(whole)
    }

    fileprivate func encoded(_ bytes: [UInt8]) throws(NightjarError) -> String {
        var buffer = ByteBuffer()
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try PercentEncoding.writeTarget(bytes, into: &buffer) }
        }.get()
        guard buffer.readableBytes <= RequestTarget.maximumLength else { throw oversized }
        return String(buffer: buffer)
    }

    fileprivate var oversized: NightjarError {
        unfollowable("is longer than \(RequestTarget.maximumLength) bytes")
    }

    fileprivate func unfollowable(of noun: String? = nil, _ why: String) -> NightjarError {
        NightjarError(.protocol, "\(problem): \(noun ?? name) \(why)", phase: .receive)
    }
}

extension NightjarError {
    /// Creates the error for a redirect that cannot be followed.
    static func unfollowable(_ why: String) -> NightjarError {
        NightjarError(.protocol, "the redirect cannot be followed: " + why, phase: .receive)
    }
}
