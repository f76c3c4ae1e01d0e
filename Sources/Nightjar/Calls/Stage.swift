import NIOCore
import NightjarHTTP
import NightjarTransport

/// One concern of a call. A stage receives the request on the way down, and the response or the failure on the way up.
/// The stage returns a verdict at once, and `Call` carries out the verdict. One instance serves many calls of a client,
/// on the client's loop.
///
/// A class and not a protocol, so that a ``Chain`` can call a stage without reference counting.
class Stage: @unchecked Sendable {
    /// The methods below that this stage overrides. Other methods are not called.
    var hooks: StageHooks { [] }
    /// Called with the request of an attempt, before the request is sent. Not called for an attempt that a stage below
    /// has started again, or if a stage above has responded or failed the call.
    func outgoing(_ call: Call) -> Verdict { .proceed }
    /// Called with the final head of a response, before its body. A stage may add fields for the outer stages and the
    /// caller. Not called for a response of ``Verdict/respond(_:)``, or if a stage below has returned a verdict other
    /// than `proceed`.
    func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict { .proceed }
    /// Called with a body part that is streamed to the caller, after decoding if the body is decoded.
    func streamed(_ content: ByteBuffer, _ call: Call) {}
    /// Called with a failure from below. Not called if the call is cancelled, its total timeout expires or the client
    /// is closed.
    func failed(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    /// Called when the total timeout first expires, unless part of the response has been delivered. A stage may then
    /// still respond. All stages are called from the bottom up, even if the call waits for an outer stage.
    /// The first verdict other than `proceed` counts. A stage must remove a call that waits in its queue.
    func expired(_ error: NightjarError, _ call: Call) -> Verdict { .proceed }
    /// Called with a complete response.
    func responded(_ response: Response, _ call: Call) -> Verdict { .proceed }
    /// Called when another attempt, a stored response or a wait follows an exchange, after the connection has been
    /// released. The exchange may have ended or may still have been in progress.
    func abandoned(_ call: Call) {}
    /// Called when the call has ended. The result cannot be changed.
    func ended(_ result: Result<Response, NightjarError>, _ call: Call) {}
}

/// The decision of a stage.
enum Verdict {
    case proceed
    /// Passes this response to the stages above. Stages below are not called.
    case respond(Response)
    /// Starts another attempt from this stage downwards, after a delay.
    case again(after: Duration)
    /// Delivers a stored response. Stages below are not called.
    case replay(any ReplayedExchange)
    case fail(NightjarError)
    /// Suspends the call until ``Call/resume(_:)`` is called with a verdict. A suspended call can time out and can be
    /// cancelled.
    case wait

    var isProceed: Bool { if case .proceed = self { true } else { false } }
}

/// Owns a chain that replaces the client's chain for certain calls.
protocol ChainOwner: AnyObject, Sendable {
    var chain: Chain { get }
}

/// A stored response that is delivered to a call like an exchange with a server.
protocol ReplayedExchange: Exchange {
    /// The source that the response reports.
    var source: ResponseSource { get }
    func begin(for receiver: any ExchangeReceiver)
}

/// The methods that a stage overrides.
struct StageHooks: OptionSet {
    let rawValue: UInt8
    static let outgoing = StageHooks(rawValue: 1)
    static let incoming = StageHooks(rawValue: 2)
    static let failed = StageHooks(rawValue: 4)
    static let responded = StageHooks(rawValue: 8)
    static let ended = StageHooks(rawValue: 16)
    static let abandoned = StageHooks(rawValue: 32)
    static let expired = StageHooks(rawValue: 64)
    static let streamed = StageHooks(rawValue: 128)
}

/// The stages of one client, grouped by method, so that a call only calls the stages that override the method.
final class Chain: @unchecked Sendable {
    /// A stage, retained by its chain.
    struct Link {
        /// The index from the top.
        let position: Int
        private let stage: Unmanaged<Stage>

        fileprivate init(_ position: Int, _ stage: Stage) {
            self.position = position
            self.stage = .passUnretained(stage)
        }

        /// Calls a stage without reference counting. The call retains its chain. Counting references to stages would
        /// cost about fifty atomic operations per call.
        @inline(__always)
        func withStage<Value>(_ body: (Stage) -> Value) -> Value { stage._withUnsafeGuaranteedRef(body) }
    }

    private let stages: [Stage]
    /// From the top.
    let outgoing: UnsafeBufferPointer<Link>
    let ended: UnsafeBufferPointer<Link>
    let abandoned: UnsafeBufferPointer<Link>
    /// From the bottom.
    let incoming: UnsafeBufferPointer<Link>
    let failed: UnsafeBufferPointer<Link>
    let responded: UnsafeBufferPointer<Link>
    let expired: UnsafeBufferPointer<Link>
    let streamed: UnsafeBufferPointer<Link>
    /// The position below the last stage, where the transport is.
    let bottom: Int

    init(_ stages: [Stage]) {
        self.stages = stages
        let links = stages.enumerated().map { Link($0.offset, $0.element) }
        func with(_ hook: StageHooks) -> [Link] { links.filter { $0.withStage { $0.hooks.contains(hook) } } }
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
        responded = kept(with(.responded).reversed())
        expired = kept(with(.expired).reversed())
        streamed = kept(with(.streamed).reversed())
        bottom = stages.count
    }

    deinit {
        for links in [outgoing, ended, abandoned, incoming, failed, responded, expired, streamed] { links.deallocate() }
    }

    /// Returns a chain of the same stages, except those for which `replacement` returns another stage.
    func replacing(_ replacement: (Stage) -> Stage?) -> Chain { Chain(stages.map { replacement($0) ?? $0 }) }
}
