import NightjarHTTP

/// A question to the program, on its way to the first who takes it.
///
/// It is put to the queues of all calls that wait for the token: any of them may be polled late or never, or be gone, and its
/// call cancelled.
struct TokenInquiry {
    let question: TokenQuestion
    let refresh: TokenRefresh.Refresh
    private let provider: TokenProvider
    private unowned let loop: ClientLoop
    /// Where it is due. They are kept, so that none comes to lie where another has lain.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    init(
        _ question: TokenQuestion, to provider: TokenProvider, for refresh: TokenRefresh.Refresh, on loop: ClientLoop
    ) {
        self.question = question
        self.provider = provider
        self.refresh = refresh
        self.loop = loop
    }

    /// Has it asked where the handlers of the call run.
    mutating func put(to call: Call) {
        guard !question.isTaken, !isOnLoop else { return }
        let event = QueueEvent.run { [provider, question] in if question.take() { provider.provide(question) } }
        for queue in provider.runsOnLoop ? [nil] : call.audiences {
            guard let queue else {
                isOnLoop = true
                return loop.post(event, to: nil)
            }
            guard queues.updateValue(queue, forKey: ObjectIdentifier(queue)) == nil else { continue }
            loop.post(event, to: queue)
        }
    }

    /// Nobody is to take it any more.
    func withdraw() { _ = question.take() }
}
