extension PreparedRequest {
    /// Returns the names and values of fields that carry credentials or route the request, and the cache partition of the
    /// caller. Empty if there are none.
    ///
    /// - Parameters:
    ///   - fields: the fields of this request.
    ///   - authorization: true to include Authorization.
    ///   - cookies: the cookies to include.
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
        if let cachePartition {
            // A colon is not allowed in the name of a field.
            found += Array(":partition\0".utf8)
            found += cachePartition.utf8
            found.append(0)
        }
        return found
    }

    /// Returns a copy with another cache partition.
    package func withCachePartition(_ partition: String?) -> PreparedRequest {
        var values = values
        values.cachePartition = partition
        return PreparedRequest(values, wireHead: wireHead)
    }

    /// Returns true if a server may select its response by this field. Returns false for a Host field that equals the
    /// URL's host, because the URL is part of the cache key.
    private func isRouting(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard RoutingField.contains(name) else { return false }
        return !(ASCII.isCaseless(name, "host") && name.count == 4 && value.elementsEqual(origin.hostField.utf8))
    }

    private func isSensitive(_ name: UnsafeRawBufferPointer) -> Bool {
        sensitive.contains { ASCII.equalIgnoringCase(name, $0.utf8) }
    }

    /// Returns a copy with the changes of `fetch`. The fields that the cache sets, such as conditions, replace the
    /// caller's fields of the same names.
    ///
    /// - Throws: `invalid_request` if a stored validator is not a valid field value.
    public func applying(_ fetch: CacheFetch) throws(NightjarError) -> PreparedRequest {
        var request = self
        for name in fetch.removes { request = try request.setting(name, nil) }
        for field in fetch.sets { request = try request.setting(field.name, field.value) }
        return request
    }
}

extension CacheHit {
    /// Returns the source of a response from the cache.
    ///
    /// - Parameter isShared: true if another call fetched the response while this call waited.
    public func source(isShared: Bool) -> ResponseSource {
        switch because {
        case _ where isShared: .coalesced
        case .validated: .revalidated
        case .fresh: .cache
        case .maxStale, .staleWhileRevalidate, .staleIfError, .anyAge: isStale ? .stale : .cache
        }
    }
}
