import NIOCore
import NightjarHTTP

/// Logs a client out, in a call that sends no request. The client is logged out when the call begins. The call ends
/// when the credential store and the cache on disk have been changed, or when a change has failed.
///
/// Each instance belongs to one call.
final class Logout: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }
    private let number: Int

    /// - Parameter number: the login's number among the client's logins.
    init(_ number: Int) { self.number = number }

    override func outgoing(_ call: Call) -> Verdict {
        guard let keeper = call.loop.tokens(number) else { return .proceed }
        keeper.signOut { [weak call] error in
            guard let call else { return }
            if let error { return call.goOn(.fail(error)) }
            call.goOn(.answer(Response(head: ResponseHead(status: 200), body: ByteBuffer(), url: call.request.url)))
        }
        return .wait
    }
}
