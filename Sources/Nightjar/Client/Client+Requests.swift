import NightjarHTTP

/// Preparation of requests and of their options.
extension Client {
    func unknown(group: String) -> NightjarError {
        let hint = nearestName(to: group, among: limitGroups).map { "; did you mean \(quoted($0))?" } ?? ""
        return NightjarError(.invalidRequest, "the client has no limit group \(quoted(group))\(hint)")
    }

    /// Returns the request to send and its options. A repeated request can reuse the earlier result.
    func preparedCall(of request: borrowing Request) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let fingerprint = request.fingerprint
        if let fingerprint, let known = repeated.find(request, fingerprint) { return (known.prepared, known.options) }
        let (prepared, options) = try preparedCall(of: request, inserting: nil)
        if let fingerprint { repeated.made(prepared, options, of: request, fingerprint) }
        return (prepared, options)
    }

    func preparedCall(
        of request: borrowing Request, inserting insertion: CacheInsertion?
    ) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let choice = try choice(for: request)
        try request.timeouts.check()
        let options = options(of: request, inserting: insertion, login: choice == nil ? 0 : choice?.login)
        return (try prepare(request, choice, idle: options.timeouts.idle), options)
    }

    /// Returns the credentials of a request. Nil: the client's credentials have no scheme names.
    private func choice(for request: borrowing Request) throws(NightjarError) -> SchemeCredentials.Choice? {
        if let schemes { return try schemes.choice(for: request) }
        if let scheme = request.schemes.first, request.usesAuth {
            throw NightjarError(
                .invalidRequest,
                "the request names the scheme \(quoted(scheme)), but the client's credentials have no scheme names; "
                    + "set the credentials in the option auth.schemes")
        }
        return nil
    }

    /// The request is borrowed because it is large: copying it costs more than writing its head.
    func prepare(_ request: borrowing Request, idle: Duration?) throws(NightjarError) -> PreparedRequest {
        try prepare(request, try choice(for: request), idle: idle)
    }

    private func prepare(
        _ request: borrowing Request, _ choice: SchemeCredentials.Choice?, idle: Duration?
    ) throws(NightjarError) -> PreparedRequest {
        guard request.idempotencyKey == .none else {
            var keyed = try request.withIdempotencyKey()
            keyed.idempotencyKey = .none
            return try prepare(keyed, choice, idle: idle)
        }
        let prepared = try prepare(request, request.usesAuth ? template : anonymousTemplate, idle: idle)
        try (request.confinement ?? scope)?.check(request)
        if let refusal = (request.confinement ?? scope)?.refusal(of: prepared.url) { throw refusal }
        guard request.usesAuth else { return prepared }
        guard attachedKey != nil || choice != nil, prepared.origin == template.base?.origin else { return prepared }
        if let attachedKey { return try attachedKey.attached(to: prepared) }
        return try choice?.attached(to: prepared) ?? prepared
    }

    private func prepare(
        _ request: borrowing Request, _ template: RequestTemplate, idle: Duration?
    ) throws(NightjarError) -> PreparedRequest {
        guard !request.needsContent(idle: idle) else {
            return try PreparedRequest(try request.withContent(for: template, idle: idle), template)
        }
        let known = firstOrigin.load()
        let prepared = try PreparedRequest(request, template, known: known?.origin)
        if known == nil { _ = firstOrigin.storeIfNil(CachedOrigin(prepared.origin)) }
        return prepared
    }
}

/// The first origin that a client requested.
final class CachedOrigin: Sendable {
    let origin: Origin

    init(_ origin: Origin) { self.origin = origin }
}
