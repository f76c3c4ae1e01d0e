import NIOCore
import NightjarHTTP

/// Logs a client out: the one stage of a call that sends nothing itself. The client is logged out when the call begins; the call
/// ends when the credential store and the cache on disk have been changed, or cannot be.
///
/// Made for one call and used by it alone.
final class Logout: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }
    private let number: Int

    /// - Parameter number: of the login among the client's.
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
