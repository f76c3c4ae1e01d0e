import NIOCore
import NightjarHTTP
import NightjarTransport

/// One concern of a call. Synchronous and thin: sees the request on the way down, the head or the failure on the way up,
/// and returns what is to be done; `Call` does it. Lives on the client's loop, one for all calls of the client.
///
/// A class and not a protocol, so that a ``Chain`` can call it without counting references.
class Stage: @unchecked Sendable {
    /// Which of the methods below this stage overrides; the others are not called.
    var hooks: StageHooks { [] }
    /// The request on its way to the wire, each attempt.
    func outgoing(_ call: Call) -> Verdict { .proceed }
    /// The final head of a response, before its body. A stage may add fields for the stages above and the caller.
    func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict { .proceed }
    /// A part of the content that the caller receives while the response is being received, decoded.
    func streamed(_ content: ByteBuffer, _ call: Call) {}
    /// A failure below.
    func failed(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    /// The total timeout has expired while a stage below, or the transport, was still working: the last chance to respond.
    /// All stages are asked, from the bottom up, and the lowest verdict counts. A stage that holds the call back releases it.
    func expired(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    /// A whole answer.
    func answered(_ response: Response, _ call: Call) -> Verdict { .proceed }
    /// The rest of an exchange is not wanted: another attempt, or what a stage has stored, takes its place. Its connection is
    /// released already. Follows ``incoming(_:_:)``, and also ``answered(_:_:)`` or ``failed(_:_:)`` where there was an end.
    func abandoned(_ call: Call) {}
    /// The call is over; nothing can be changed.
    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {}
}

/// What a stage decides.
enum Verdict {
    case proceed
    /// The call has its answer; nothing below is asked.
    case answer(Response)
    /// Another attempt, from this stage downwards, after a while.
    case again(after: Duration)
    /// The answer comes from here; nothing below is asked, and nothing below sees it.
    case replay(any ReplayedExchange)
    case fail(NightjarError)
    /// The caller is asked; ``Call/goOn(_:)`` brings the verdict. Limits of time and cancelling work meanwhile.
    case wait

    var isProceed: Bool { if case .proceed = self { true } else { false } }
}

/// The owner of a chain that calls pass in place of their client's.
protocol ChainOwner: AnyObject, Sendable {
    var chain: Chain { get }
}

/// A stored response, which is given to a call as an exchange with a server would be.
protocol ReplayedExchange: Exchange {
    /// The source that the response reports.
    var source: ResponseSource { get }
    func begin(for receiver: any ExchangeReceiver)
}

/// The methods of a stage that do something.
struct StageHooks: OptionSet {
    let rawValue: UInt8
    static let outgoing = StageHooks(rawValue: 1)
    static let incoming = StageHooks(rawValue: 2)
    static let failed = StageHooks(rawValue: 4)
    static let answered = StageHooks(rawValue: 8)
    static let ended = StageHooks(rawValue: 16)
    static let abandoned = StageHooks(rawValue: 32)
    static let expired = StageHooks(rawValue: 64)
    static let streamed = StageHooks(rawValue: 128)
}

/// The stages of one client, sorted by what they do, so that a call asks only those who answer.
final class Chain: @unchecked Sendable {
    /// A stage, held by its chain.
    struct Link {
        /// From the top.
        let position: Int
        private let stage: Unmanaged<Stage>

        fileprivate init(_ position: Int, _ stage: Stage) {
            self.position = position
            self.stage = .passUnretained(stage)
        }

        /// For calls hold their chain: counting how many hold a stage would cost each of them some fifty atomic operations.
        @inline(__always)
        func ask<Answer>(_ question: (Stage) -> Answer) -> Answer { stage._withUnsafeGuaranteedRef(question) }
    }

    private let stages: [Stage]
    /// From the top.
    let outgoing: UnsafeBufferPointer<Link>
    let ended: UnsafeBufferPointer<Link>
    let abandoned: UnsafeBufferPointer<Link>
    /// From the bottom.
    let incoming: UnsafeBufferPointer<Link>
    let failed: UnsafeBufferPointer<Link>
    let answered: UnsafeBufferPointer<Link>
    let expired: UnsafeBufferPointer<Link>
    let streamed: UnsafeBufferPointer<Link>
    /// The position below the last stage, where the transport is.
    let bottom: Int

    init(_ stages: [Stage]) {
        self.stages = stages
        let links = stages.enumerated().map { Link($0.offset, $0.element) }
        func with(_ hook: StageHooks) -> [Link] { links.filter { $0.ask { $0.hooks.contains(hook) } } }
        func kept(_ links: some Collection<Link>) -> UnsafeBufferPointer<Link> {
            let place = UnsafeMutableBufferPointer<Link>.allocate(capacity: links.count)
            _ = place.initialize(fromContentsOf: links)
            return UnsafeBufferPointer(place)
        }
        outgoing = kept(with(.outgoing))
        ended = kept(with(.ended))
        abandoned = kept(with(.abandoned))
        incoming = kept(with(.incoming).reversed())
        failed = kept(with(.failed).reversed())
        answered = kept(with(.answered).reversed())
        expired = kept(with(.expired).reversed())
        streamed = kept(with(.streamed).reversed())
        bottom = stages.count
    }

    deinit {
        for links in [outgoing, ended, abandoned, incoming, failed, answered, expired, streamed] { links.deallocate() }
    }

    /// Returns a chain of the same stages, except those for which `replacement` returns another stage.
    func replacing(_ replacement: (Stage) -> Stage?) -> Chain { Chain(stages.map { replacement($0) ?? $0 }) }
}
