import NIOCore

/// The restrictions of calls by clients with a path scope and by sandboxed scripts.
///
/// Immutable. A class, because requests share an instance and compare confinements by identity.
package final class Confinement: Sendable {
    /// The allowed origins. Nil allows every origin.
    private let origins: Set<Origin>?
    /// The path scopes and the origins to which they apply.
    private let scopes: [(origin: Origin, scope: PathScope)]
    /// True for the calls of a sandboxed script. The script can lower the client's limits but cannot raise them.
    package let isSandbox: Bool
    /// Counts the memory held by the calls. Nil if the memory is not counted.
    package let memory: (any MemoryAccount)?

    /// The separate cookies and cache of the calls. Nil if the calls use the client's. Opaque to this module.
    package let sandboxState: (any AnyObject & Sendable)?

    package init(
        origins: [Origin]?, scopes: [(origin: Origin, scope: PathScope)] = [], isSandbox: Bool = false,
        memory: (any MemoryAccount)? = nil, sandboxState: (any AnyObject & Sendable)? = nil
    ) {
        self.sandboxState = sandboxState
        self.origins = origins.map { Set($0) }
        self.scopes = scopes
        self.isSandbox = isSandbox
        self.memory = memory
    }

    /// Returns the error for a URL that calls must not access, or nil if the URL is allowed.
    package func refusal(of url: RequestURL) -> NightjarError? {
        if let origins, !origins.contains(url.origin) { return refusal(of: url.origin, origins) }
        for (origin, scope) in scopes where origin == url.origin && !scope.contains(url.path) {
            return NightjarError(
                .invalidRequest,
                "calls to \(origin) are limited to paths under \(quoted(scope.text)), got "
                    + "\(quoted(url.withoutQuery)); dot "
                    + "segments are not allowed in the path, even if they are encoded")
        }
        return nil
    }

    /// Checks a request against the rules for sandboxed scripts.
    ///
    /// - Throws: `invalid_request` if the request is not allowed.
    package func check(_ request: borrowing Request) throws(NightjarError) {
        guard isSandbox else { return }
        if Confinement.refusedMethods.contains(request.method.name) {
            throw NightjarError(
                .invalidRequest,
                "a sandboxed script cannot send TRACE, TRACK or CONNECT requests, got \(request.method.name); use "
                    + "another method"
            )
        }
        for index in 0..<request.headers.count where RoutingField.contains(request.headers.name(at: index)) {
            throw NightjarError(
                .invalidRequest,
                "a sandboxed script cannot set the header \(quoted(request.headers.name(at: index))), because it may "
                    + "select another host, path or method")
        }
        if let group = request.limitGroup {
            throw NightjarError(
                .invalidRequest,
                "a sandboxed script cannot choose the limit group \(quoted(group)), which belongs to its host")
        }
    }

    private static let refusedMethods = ["TRACE", "TRACK", "CONNECT"]

    private func refusal(of origin: Origin, _ origins: Set<Origin>) -> NightjarError {
        let names = origins.map(\.description).sorted()
        let shown = names.prefix(Confinement.maximumShown).joined(separator: ", ")
        let rest = names.count > Confinement.maximumShown ? ", ..." : ""
        let allowed = names.isEmpty ? "it allows no origins" : "it allows \(shown)\(rest)"
        return NightjarError(
            .invalidRequest, "the script's host does not allow calls to \(origin); \(allowed)")
    }

    /// The maximum number of origins in a message.
    private static let maximumShown = 8
}

/// A path and all paths below it.
package struct PathScope: Sendable, Equatable {
    /// The path as configured, without a trailing slash. "/" matches every path.
    package let text: String

    /// Parses a path scope. Removes trailing slashes.
    ///
    /// - Throws: `invalid_argument` if the path does not begin with a slash, has a query or dot segments, or contains a
    ///   character that must be percent-encoded in a path.
    package init(_ text: String) throws(NightjarError) {
        guard text.utf8.first == UInt8(ascii: "/"), !text.utf8.contains(UInt8(ascii: "?")), PathScope.isEncoded(text),
            !PathScope.hasDotSegment(text)
        else {
            throw NightjarError(
                .invalidArgument,
                "path_scope must be an encoded path without a query and without dot segments, such as \"/v1\", got "
                    + "\(quoted(text))"
            )
        }
        var text = text[...]
        while text.utf8.count > 1, text.utf8.last == UInt8(ascii: "/") { text = text.dropLast() }
        self.text = String(text)
    }

    /// Returns true if a request sends the path unchanged. Otherwise, the scope would match no request.
    private static func isEncoded(_ path: String) -> Bool {
        var sent = ByteBuffer()
        let isValid: Void? = try? path.withRawBytes { bytes throws(NightjarError) in
            try PercentEncoding.writeTarget(bytes, into: &sent)
        }
        return isValid != nil && sent.readableBytesView.elementsEqual(path.utf8)
    }

    /// Returns true if the encoded path is this path or a path below it. Returns false if a server may resolve dot
    /// segments in the path to another place, unless the scope is `/`.
    package func contains(_ path: String) -> Bool {
        if text == "/" { return true }
        guard path.utf8.starts(with: text.utf8) else { return false }
        let rest = path.utf8.dropFirst(text.utf8.count)
        return (rest.isEmpty || rest.first == UInt8(ascii: "/")) && !PathScope.hasDotSegment(path)
    }

    /// Returns true if a segment without its parameters (`..;x`) is `.` or `..`, after 0, 1 or 2 decodings. An encoded
    /// slash and a backslash count as separators, because some servers accept them.
    private static func hasDotSegment(_ path: String) -> Bool {
        var bytes = Array(path.utf8)
        for _ in 0..<3 {
            let segments = bytes.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
            for segment in segments {
                let name = segment.prefix { $0 != UInt8(ascii: ";") }
                if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { return true }
            }
            bytes = decoded(bytes)
        }
        return false
    }

    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
                let low = digit(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}

/// Header fields that servers and gateways use to select the resource. Requests that differ in one of these fields may
/// get different responses.
package enum RoutingField {
    private static let names = [
        "host", "forwarded", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-scheme", "x-forwarded-port",
        "x-forwarded-prefix", "x-forwarded-server", "x-host", "x-http-host-override", "x-original-host",
        "x-original-url",
        "x-rewrite-url", "x-http-method-override", "x-http-method", "x-method-override",
    ]

    static func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        switch ASCII.lowercase(name.first ?? 0) {
        case UInt8(ascii: "h"), UInt8(ascii: "f"), UInt8(ascii: "x"):
            names.contains { ASCII.equalIgnoringCase(name, $0.utf8) }
        default: false
        }
    }

    package static func contains(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { contains(UnsafeRawBufferPointer($0)) }
    }
}
