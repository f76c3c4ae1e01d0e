import NightjarHTTP

/// Logs a client out. The client is logged out when the operation begins. The operation ends when the credential store
/// and the cache on disk have been changed, or when a change has failed.
final class Logout: ClientOperation, @unchecked Sendable {
    private let session: TokenManager?

    init(
        _ session: TokenManager?, on loop: ClientLoop, queue: CompletionQueue?, timeout: Duration,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) {
        self.session = session
        super.init("the logout", on: loop, queue: queue, timeout: timeout, finished: finished)
    }

    override func begin() {
        guard let session else { return end(.success(())) }
        session.logOut { [weak self] error in self?.end(error.map(Result.failure) ?? .success(())) }
    }
}
