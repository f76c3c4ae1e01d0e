/// What the cache wants of a request.
extension PreparedRequest {
    /// The fields that carry credentials or choose what answers, and what they say; nothing where there are none.
    ///
    /// - Parameters:
    ///   - fields: those of this request.
    ///   - authorization: whether Authorization is among them.
    ///   - cookies: the cookies that are among them.
    public func credentials(
        among fields: Headers, withAuthorization authorization: Bool, cookies: LoginCookies = .all
    ) -> [UInt8] {
        var found: [UInt8] = []
        for index in 0..<fields.count {
            fields.withBytes(at: index) { name, value in
                if cookies != .all, CookieField.isName(name) {
                    return cookies.append(value, own: ownCookies, to: &found)
                }
                let isAuthorization = name.count == 13 && ASCII.isCaseless(name, "authorization")
                let partitions =
                    SecretNames.isSecret(field: name, value) || isSensitive(name) || isRouting(name, value)
                guard isAuthorization ? authorization : partitions else { return }
                found += name.lazy.map(ASCII.lowercase)
                found.append(0)
                found += value
                found.append(0)
            }
        }
        return found
    }

    /// A server may choose its response by it. The Host of the URL is part of the key already.
    private func isRouting(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard RoutingField.isOne(name) else { return false }
        return !(ASCII.isCaseless(name, "host") && name.count == 4 && value.elementsEqual(origin.hostField.utf8))
    }

    private func isSensitive(_ name: UnsafeRawBufferPointer) -> Bool {
        sensitive.contains { ASCII.equalIgnoringCase(name, $0.utf8) }
    }

    /// The same as the cache sends it: with its conditions in the place of the caller's.
    ///
    /// - Throws: `invalid_request` when a stored validator breaks the grammar of a field.
    public func applying(_ fetch: CacheFetch) throws(NightjarError) -> PreparedRequest {
        var request = self
        for name in fetch.removes { request = try request.setting(name, nil) }
        for field in fetch.sets { request = try request.setting(field.name, field.value) }
        return request
    }
}

extension CacheAnswer {
    /// Whence an answer of the store came.
    ///
    /// - Parameter isShared: another call has fetched it meanwhile.
    public func source(isShared: Bool) -> ResponseSource {
        switch because {
        case _ where isShared: .coalesced
        case .validated: .revalidated
        case .fresh: .cache
        case .maxStale, .staleWhileRevalidate, .staleIfError, .anyAge: isStale ? .stale : .cache
        }
    }
}
