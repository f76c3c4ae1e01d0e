import NightjarSystem

/// Detects equal requests, for which a prepared request can be reused.
extension Request {
    /// A hash that is the same for equal requests.
    ///
    /// Nil if the request has a body, template parameters, a resolved URL, a schema, a contract, an idempotency key or an
    /// invalid header, or is very long. Such requests are always prepared again.
    public var fingerprint: UInt64? {
        guard case .none = body, parameters.isEmpty, resolved == nil, schema == nil, contract == nil,
            idempotencyKey == .none, headers.failure == nil,
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

    /// Returns the fingerprint of a request that has only a method and this target. Returns nil if the target is too
    /// long.
    public static func fingerprint(target: UnsafeRawBufferPointer) -> UInt64? {
        guard target.count <= longestRepeated else { return nil }
        var fingerprint = Fingerprint()
        fingerprint.add(target)
        Headers().add(to: &fingerprint)
        return fingerprint.value
    }

    /// The maximum length in bytes of the target, of the fields and of the query. Storing a longer request costs more
    /// than preparing it again.
    private static let longestRepeated = 4096
}

/// A request that may be repeated. A class, because copying a ``Request`` is expensive.
public final class RepeatedRequest: Sendable {
    private let request: Request
    /// The method, NUL and the target, if the request consists only of a method and a target. Empty otherwise.
    private let bare: ContiguousArray<UInt8>

    /// - Parameter request: a request with a ``Request/fingerprint``.
    public init(_ request: borrowing Request) {
        var own = copy request
        own.cancellation = nil
        self.request = own
        let isBare = RepeatedRequest.areSame(request, Request(request.method, request.target))
        bare = isBare ? ContiguousArray(request.method.name.utf8) + [0] + request.target.utf8 : []
    }

    /// Returns true if `other` is equal in every respect. `other` must have a fingerprint too.
    public func isSame(as other: borrowing Request) -> Bool { RepeatedRequest.areSame(request, other) }

    /// Returns true if the request consists only of this method and this target, byte by byte.
    public func isBare(_ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) -> Bool {
        guard bare.count == method.count + 1 + target.count, bare[method.count] == 0 else { return false }
        return bare.withUnsafeBytes {
            UnsafeRawBufferPointer(rebasing: $0[..<method.count]).isSame(as: method)
                && UnsafeRawBufferPointer(rebasing: $0[(method.count + 1)...]).isSame(as: target)
        }
    }

    /// Compares all members that a request with a fingerprint can have.
    private static func areSame(_ one: borrowing Request, _ other: borrowing Request) -> Bool {
        one.target.isExactly(other.target) && one.method == other.method && one.headers.isSame(as: other.headers)
            && (one.query.isEmpty && other.query.isEmpty
                || one.query.elementsEqual(other.query) { $0.name.isExactly($1.name) && $0.value.isExactly($1.value) })
            && one.usesAuth == other.usesAuth && one.cookies == other.cookies
            && one.schemes == other.schemes && one.security == other.security
            && one.usesCookies == other.usesCookies
            && one.usesCache == other.usesCache && one.cachePolicy == other.cachePolicy
            && one.cachePartition.isExactly(other.cachePartition)
            && one.coalesces == other.coalesces && one.decompresses == other.decompresses
            && one.compresses == other.compresses && one.allowsBodyOnGet == other.allowsBodyOnGet
            && one.expectsContinue == other.expectsContinue && one.maximumBody == other.maximumBody
            && one.limitGroup.isExactly(other.limitGroup) && one.timeouts == other.timeouts
            && one.expectedStatuses == other.expectedStatuses && one.redirect == other.redirect
            && one.retry == other.retry && one.connectivity == other.connectivity
            && one.respectsRetryAfter == other.respectsRetryAfter
            && one.invalidates == other.invalidates
            && one.impliedType == other.impliedType
            && one.isIdempotent == other.isIdempotent && one.isGraphQL == other.isGraphQL
            && one.confinement === other.confinement
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let baseAddress, let otherAddress = other.baseAddress else {
            return count == other.count
        }
        return memcmp(baseAddress, otherAddress, count) == 0
    }
}

extension Headers {
    fileprivate var storedBytes: Int { bytes.count }

    fileprivate func add(to fingerprint: inout Fingerprint) {
        bytes.withUnsafeBytes { fingerprint.add($0) }
    }

    /// Compares names and values byte by byte, because names are sent exactly as given.
    fileprivate func isSame(as other: Headers) -> Bool { bytes == other.bytes && fields == other.fields }
}
