import NightjarHTTP
import NightjarStorage

/// Logins and logouts that the program requests.
extension TokenManager {
    /// Replaces the current login with a new token.
    ///
    /// - Parameter completion: Called when the token has been saved or a later login or logout has replaced it, or with
    ///   the error if saving failed. If saving failed, the token is used nevertheless.
    func setToken(_ token: Token, then completion: @escaping (NightjarError?) -> Void = { _ in }) {
        var random = SystemRandomNumberGenerator()
        let keeping = session.setToken(token, using: &random)
        updates.overtake()
        if let token = session.token { use(token) }
        // Replacement of this login by a later login or logout is not a failure.
        begin(keeping, overtaken: { completion(nil) }) { [self] outcome, error, _ in
            guard case .unsaved = outcome else { return completion(nil) }
            let error =
                error
                ?? NightjarError(
                    .storage,
                    "the token \(store.name) was changed by other clients or processes too often")
            loop.note(.error, "the login is used but not saved: \(error.message)")
            completion(error)
        }
        perform(machine.loggedIn(expiry: token.expiry, canRefresh: canRefreshLogin(token), at: now()))
    }

    /// Obtains a token as for a call, but also after a logout. If the store has a valid token other than the current
    /// token, the client uses the stored token. Fails for a login with a token provider.
    func refreshNow(then completion: @escaping (Result<Void, NightjarError>) -> Void) {
        guard let issuer else {
            return completion(
                .failure(
                    NightjarError(
                        .invalidRequest,
                        "this client gets its tokens from a token provider, so it cannot log in")))
        }
        let overtaken = NightjarError(.cancelled, "another login or logout has replaced this login")
        begin(session.logIn(), issuer, overtaken: { completion(.failure(overtaken)) }) { [self] outcome, error, _ in
            guard let token = session.take(outcome) else {
                let failure: TokenRefresh.Failure =
                    if case .failed(let failure) = outcome { failure } else { .invalidGrant }
                return completion(.failure(error ?? TokenRefresh.Reason.refreshFailed(failure).error))
            }
            if case .unsaved = outcome, let error {
                loop.note(.error, "the login is used but not saved: \(error.message)")
            }
            use(token)
            perform(machine.loggedIn(expiry: token.expiry, canRefresh: canRefreshLogin(token), at: now()))
            completion(.success(()))
        }
    }

    /// Logs out.
    ///
    /// - Parameter completion: Called when the store and the cache on disk have been changed or a later login or logout
    ///   has replaced this logout, or with the error of a change that failed. The failure of a change does not undo the
    ///   logout.
    func logOut(then completion: @escaping (NightjarError?) -> Void) {
        let known = partition
        if let known { responses?.forget(known) }
        let ending = session.logOut()
        updates.overtake()
        forget()
        // Replacement of this logout by a later login or logout is not a failure.
        begin(ending, overtaken: { completion(nil) }) { [self] outcome, error, _ in
            // A login that this client has not used is only known from the store. A logout ends at most two logins.
            let stored = session.endedLogins.prefix(2).filter { $0 != known?.high }
            for lineage in stored { responses?.forget(CachePartition(lineage: lineage)) }
            let cache = known == nil && stored.isEmpty ? nil : responses
            guard outcome != .ended else { return flush(cache, then: completion) }
            let reason = error?.message ?? "the token \(store.name) was changed by other clients or processes too often"
            loop.note(.error, "saving the logout failed and will be retried with a later call: \(reason)")
            let failure = NightjarError(
                .storage, "this client is logged out, but its store may still have the login: \(reason); log out again",
                code: error?.code ?? 0)
            flush(cache) { _ in completion(failure) }
        }
        perform(machine.loggedOut())
    }

    private func flush(_ cache: (any LoginResponses)?, then completion: @escaping (NightjarError?) -> Void) {
        guard let cache else { return completion(nil) }
        cache.flush(on: loop, then: completion)
    }
}
