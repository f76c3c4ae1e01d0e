import NightjarHTTP

/// Logs a client out. The client is logged out when the operation begins. The operation ends when the credential store,
/// the cache on disk and the cookie file have been changed, or when a change has failed.
final class Logout: ClientOperation, @unchecked Sendable {
    /// The cookies to delete with a login.
    struct Cookies {
        let storage: CookieStorage
        /// The host to which the login's token is sent. Nil if there is none.
        let host: String?
    }

    private let session: TokenManager?
    private let cookies: Cookies?

    /// - Parameters:
    ///   - session: Nil: the client has no login with a token.
    ///   - cookies: Nil: cookies are kept.
    init(
        _ session: TokenManager?, _ cookies: Cookies?, on loop: ClientLoop, queue: CompletionQueue?, timeout: Duration,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) {
        self.session = session
        self.cookies = cookies
        super.init("the logout", on: loop, queue: queue, timeout: timeout, finished: finished)
    }

    override func begin() {
        deleteCookies(of: session?.partitions.lineages ?? [])
        guard let session else { return eraseCookies(nil) }
        session.logOut { [weak self] error in
            // The login may have been in the store only.
            self?.deleteCookies(of: session.session.endedLogins)
            self?.eraseCookies(error)
        }
    }

    private func deleteCookies(of logins: [UInt64]) { cookies?.storage.deleteCookies(of: logins, host: cookies?.host) }

    /// Saves the deletion of cookies, and ends the operation.
    ///
    /// - Parameter error: The error of the logout.
    private func eraseCookies(_ error: NightjarError?) {
        guard let storage = cookies?.storage, storage.isPersistent else { return finish(error) }
        let after = OnLoop { [weak self] (result: Result<Void, NightjarError>) in
            guard error == nil, case .failure(let failure) = result else {
                self?.finish(error)
                return
            }
            self?.finish(
                NightjarError(
                    .storage,
                    "this client is logged out, but its cookie file may still contain its cookies: \(failure.message)",
                    code: failure.code))
        }
        loop.workers.run("writing the cookie file", { () throws(NightjarError) in try storage.erase() }) {
            after.body($0)
        }
    }

    private func finish(_ error: NightjarError?) { end(error.map(Result.failure) ?? .success(())) }
}
