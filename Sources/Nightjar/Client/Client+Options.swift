import NightjarHTTP

extension Client {
    /// Returns the options of a call.
    ///
    /// - Parameter login: The number of the login whose credentials the request may carry; nil: none.
    func options(
        of request: borrowing Request, inserting insertion: CacheInsertion?, login: Int?
    ) -> CallOptions {
        let confinement = request.confinement ?? scope
        let bounds = confinement?.isSandbox == true ? self.bounds : nil
        let retry = request.retry?.applied(to: retry)
        let hasOwnCredentials = !request.usesAuth || request.headers.firstIndex(of: "Authorization") != nil
        let settings = CallSettings(
            timeouts: bounds?.timeouts(request.timeouts) ?? request.timeouts.filled(from: timeouts),
            maximumBody: min(
                request.maximumBody ?? maximumBody, bounds == nil ? Configuration.largestBody : maximumBody),
            expectedStatuses: request.expectedStatuses, schema: request.schema, contract: request.contract,
            isGraphQL: request.isGraphQL, isIdempotent: request.isIdempotent,
            redirect: request.redirect.map { bounds?.redirect($0) ?? $0 }, retry: retry.map { bounds?.retry($0) ?? $0 },
            respectsRetryAfter: bounds != nil && respectsRetryAfter || request.respectsRetryAfter ?? respectsRetryAfter,
            decompresses: request.decompresses ?? decompresses,
            usesCookies: request.usesCookies, coalesces: request.coalesces ?? coalesces,
            cache: cache == nil || !request.usesCache ? nil : request.cachePolicy ?? cachePolicy, insertion: insertion,
            limitGroup: request.limitGroup, invalidates: request.invalidates,
            connectivity: request.connectivity.isEmpty
                ? nil : request.connectivity.applied(to: connectivity, bounded: bounds != nil),
            login: loginOrigin != nil && !hasOwnCredentials ? login : nil,
            requestsPassword: requestsPassword && !hasOwnCredentials, hooks: hooks, confinement: confinement)
        return CallOptions(settings)
    }

    /// Reserves the memory that a script's call needs at its start.
    ///
    /// - Throws: `too_large` if the call exceeds the script's memory limit.
    func reserveMemory(
        _ prepared: PreparedRequest, _ options: CallOptions, isStreamed: Bool
    ) throws(NightjarError) -> MemoryReservation? {
        guard let memory = options.confinement?.memory else { return nil }
        let reservation = MemoryReservation(memory)
        let body =
            switch prepared.body {
            case .bytes, .multipart: prepared.body.length ?? 0
            case .none, .stream, .file, .upgrade: 0
            }
        let window = isStreamed ? ClientTask.window : 0
        guard reservation.add(Client.callCost + 2 * prepared.wireHead.readableBytes + body + window) else {
            throw NightjarError(
                .tooLarge,
                "the request exceeds the script's memory limit; stream its body or make fewer concurrent calls")
        }
        return reservation
    }

    /// The memory that a call needs in addition to its request and its response, in bytes.
    private static let callCost = 8 * 1024
}
