/// Requests that come again and again, so that what was made of one serves those that are alike.
extension Request {
    /// The same for all that are alike. Nil where it is not worth while to look for another, or where one that looks the
    /// same is not: with a body, a template, a schema, a contract, a key of its own or very long.
    public var fingerprint: UInt64? {
        guard case .none = body, parameters.isEmpty, resolved == nil, schema == nil, contract == nil,
            idempotencyKey == .none,
            headers.storedBytes <= Request.longestRepeated, target.utf8.count <= Request.longestRepeated
        else { return nil }
        var fingerprint = Fingerprint()
        fingerprint.add(target)
        headers.add(to: &fingerprint)
        guard !query.isEmpty else { return fingerprint.value }
        var length = 0
        for (name, value) in query {
            length += name.utf8.count + value.utf8.count
            guard length <= Request.longestRepeated else { return nil }
            fingerprint.add(name)
            fingerprint.add(value)
        }
        return fingerprint.value
    }

    /// In bytes, of each part. Beyond, keeping one costs more than is saved by it.
    private static let longestRepeated = 4096
}

/// A request that may come again. A class, for a request is large, and copying one costs more than comparing it.
public final class RepeatedRequest: Sendable {
    private let request: Request

    /// - Parameter request: one that has a ``Request/fingerprint``.
    public init(_ request: borrowing Request) { self.request = copy request }

    /// Whether the other, which has a fingerprint too, asks for the same in every respect: beside what a fingerprint rules
    /// out, every member counts.
    public func isSame(as other: borrowing Request) -> Bool {
        request.target == other.target && request.method == other.method && request.headers.isSame(as: other.headers)
            && (request.query.isEmpty && other.query.isEmpty
                || request.query.elementsEqual(other.query) { $0.name == $1.name && $0.value == $1.value })
            && request.usesAuth == other.usesAuth && request.cookies == other.cookies
            && request.schemes == other.schemes && request.security == other.security
            && request.usesCookies == other.usesCookies
            && request.usesCache == other.usesCache && request.cachePolicy == other.cachePolicy
            && request.coalesces == other.coalesces && request.decompresses == other.decompresses
            && request.compresses == other.compresses && request.allowsBodyOnGet == other.allowsBodyOnGet
            && request.expectsContinue == other.expectsContinue && request.maximumBody == other.maximumBody
            && request.limitGroup == other.limitGroup && request.timeouts == other.timeouts
            && request.expectedStatuses == other.expectedStatuses && request.redirect == other.redirect
            && request.retry == other.retry && request.isIdempotent == other.isIdempotent
            && request.allowedOrigins === other.allowedOrigins
    }
}

extension Headers {
    fileprivate var storedBytes: Int { bytes.count }

    fileprivate func add(to fingerprint: inout Fingerprint) {
        bytes.withUnsafeBytes { fingerprint.add($0) }
    }

    /// To the byte, names too: they go on the wire as they were given.
    fileprivate func isSame(as other: Headers) -> Bool { bytes == other.bytes && fields == other.fields }
}
