import NightjarHTTP

/// One concern of a call. Synchronous and thin: sees the request on the way down, the head or the failure on the way up,
/// and returns what is to be done; `Call` does it. Lives on the client's loop, one for all calls of the client.
protocol Stage: AnyObject, Sendable {
    /// The request on its way to the wire, each attempt.
    func outgoing(_ call: Call) -> Verdict
    /// The final head of an answer, before its body.
    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict
    /// A failure below.
    func failed(_ error: NightjarError, _ call: Call) -> Verdict
    /// A whole answer.
    func answered(_ response: Response, _ call: Call) -> Verdict
    /// The call is over; nothing can be changed.
    func ended(_ result: Result<Response, NightjarError>, _ call: Call)
}

/// What a stage decides.
enum Verdict {
    case proceed
    /// The call has its answer; nothing below is asked.
    case answer(Response)
    /// Another attempt, from this stage downwards, after a while.
    case again(after: Duration)
    case fail(NightjarError)
}

extension Stage {
    func outgoing(_ call: Call) -> Verdict { .proceed }
    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict { .proceed }
    func failed(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    func answered(_ response: Response, _ call: Call) -> Verdict { .proceed }
    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {}
}
