import NightjarHTTP

/// One concern of a call. Synchronous and thin: sees the request on the way down, the head or the failure on the way up,
/// and returns what is to be done; `Call` does it. Lives on the client's loop, one for all calls of the client.
protocol Stage: AnyObject, Sendable {
    /// Which of the methods below this stage implements; the others are not called.
    var hooks: StageHooks { get }
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
    /// The answer comes from here; nothing below is asked, and nothing below sees it.
    case replay(StoredExchange)
    case fail(NightjarError)
    /// The caller is asked; ``Call/goOn(_:)`` brings the verdict. Limits of time and cancelling work meanwhile.
    case wait
}

extension Stage {
    func outgoing(_ call: Call) -> Verdict { .proceed }
    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict { .proceed }
    func failed(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    func answered(_ response: Response, _ call: Call) -> Verdict { .proceed }
    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {}
}

/// The methods of a stage that do something.
struct StageHooks: OptionSet {
    let rawValue: UInt8
    static let outgoing = StageHooks(rawValue: 1)
    static let incoming = StageHooks(rawValue: 2)
    static let failed = StageHooks(rawValue: 4)
    static let answered = StageHooks(rawValue: 8)
    static let ended = StageHooks(rawValue: 16)
}

/// The stages of one client, sorted by what they do, so that a call asks only those who answer.
final class Chain: Sendable {
    typealias Link = (position: Int, stage: any Stage)

    /// From the top.
    let outgoing: [Link]
    let ended: [Link]
    /// From the bottom.
    let incoming: [Link]
    let failed: [Link]
    let answered: [Link]
    /// The position below the last stage, where the transport is.
    let bottom: Int

    init(_ stages: [any Stage]) {
        let links = stages.enumerated().map { (position: $0.offset, stage: $0.element) }
        func with(_ hook: StageHooks) -> [Link] { links.filter { $0.stage.hooks.contains(hook) } }
        outgoing = with(.outgoing)
        ended = with(.ended)
        incoming = with(.incoming).reversed()
        failed = with(.failed).reversed()
        answered = with(.answered).reversed()
        bottom = stages.count
    }

    /// The one stage of a kind that sees requests.
    func stage<Kind: Stage>(_ kind: Kind.Type) -> Kind? {
        for link in outgoing { if let stage = link.stage as? Kind { return stage } }
        return nil
    }
}
