import CLua
import NIOCore
import Nightjar
import NightjarHandles
import Synchronization

// Calls that paginated lists and document loads need. If the client has hooks, the script makes these calls on its
// thread.

/// Passes such calls from the clients' loops to the thread of one Lua state.
final class Errands: Sendable {
    private struct Waiting: Sendable {
        var asked: [Errand] = []
        /// Cancelled after the script had begun them.
        var cancelled: [Errand] = []
        var isClosed = false
    }

    private let waiting = Mutex(Waiting())
    private let queue: CompletionQueue

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Callable from any thread.
    fileprivate func ask(_ errand: Errand) {
        let isTaken = waiting.withLock { waiting in
            if !waiting.isClosed { waiting.asked.append(errand) }
            return !waiting.isClosed
        }
        if isTaken { queue.wake() } else { errand.fail(Errand.stopped) }
    }

    /// Callable from any thread.
    fileprivate func cancel(_ errand: Errand) {
        guard errand.giveUp() else { return }
        let isBegun = waiting.withLock { waiting in
            if let place = waiting.asked.firstIndex(where: { $0 === errand }) {
                waiting.asked.remove(at: place)
                return false
            }
            if !waiting.isClosed { waiting.cancelled.append(errand) }
            return true
        }
        if isBegun { queue.wake() }
    }

    func next() -> Errand? { waiting.withLock { $0.asked.isEmpty ? nil : $0.asked.removeFirst() } }

    func nextCancelled() -> Errand? { waiting.withLock { $0.cancelled.popLast() } }

    /// Fails all waiting and later errands.
    func close() {
        let left = waiting.withLock { waiting in
            defer { waiting = Waiting(isClosed: true) }
            return waiting.asked
        }
        for errand in left { errand.fail(Errand.stopped) }
    }
}

/// Sends the requests of one list or one document load through the script.
struct ScriptSender: RequestSender {
    let errands: Errands
    /// The number of the userdata that makes the calls.
    let caller: Int64
    let client: Client

    init?(_ engine: Engine, _ client: Client, for caller: Int64) {
        guard caller != 0 else { return nil }
        self.errands = engine.errands
        self.caller = caller
        self.client = client
    }

    func send(
        _ sent: SentRequest, _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) -> @Sendable () -> Void {
        let errand = Errand(caller, sent, client.path(to: sent), finished)
        errands.ask(errand)
        return { [errands] in errands.cancel(errand) }
    }
}

/// One call to make.
final class Errand: @unchecked Sendable {
    let caller: Int64
    private let sent: SentRequest
    /// The path as the hooks see it.
    private let path: String
    private let finished: @Sendable (Result<Response, NightjarError>) -> Void
    private let isAnswered = Atomic<Bool>(false)
    // On the thread of the Lua state:
    /// The task that makes the call, while it does.
    var task: OpaquePointer?
    /// The call that is sent.
    var call: Outcome?

    init(
        _ caller: Int64, _ sent: SentRequest, _ path: String,
        _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) {
        self.caller = caller
        self.sent = sent
        self.path = path
        self.finished = finished
    }

    deinit { fail(Errand.stopped) }

    static let stopped = NightjarError(.script, "the script was stopped before its call was made")
    static let unmade = NightjarError(
        .script, "the script did not complete the call: it was stopped or ran out of memory")

    func fail(_ error: NightjarError) { answer(.failure(error)) }

    /// Only the first answer counts.
    private func answer(_ result: Result<Response, NightjarError>) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        finished(result)
    }

    /// - Returns: whether the errand was still waiting for its response.
    fileprivate func giveUp() -> Bool { !isAnswered.exchange(true, ordering: .relaxed) }

    /// - Returns: false if the outcome does not belong to the call made for this errand.
    func finish(_ outcome: Outcome) -> Bool {
        guard outcome === call, let result = outcome.result else { return false }
        answer(result)
        return true
    }

    /// The errand's part of the request in the form of api:request.
    var json: JSONValue {
        var fields: [JSONValue.Member] = []
        for index in 0..<sent.ownFields.count {
            let name = sent.ownFields.name(at: index)
            fields.append(.init(name, .string(sent.ownFields[name] ?? "")))
        }
        var members: [JSONValue.Member] = [
            .init("method", .string(sent.request.method.name)), .init("path", .string(path)),
            .init("headers", .object(fields)),
        ]
        // The limit of a list is among the list's options.
        if sent.request.resolved == nil, let bytes = sent.request.maximumBody {
            members.append(.init("max_body", .integer(Int64(bytes))))
        }
        return .object(members)
    }

    /// Sets the URL of a request that the hooks have processed: the errand's URL, unless they changed it.
    ///
    /// - Parameter request: created from `source`, whose path is the errand's path as in ``json``.
    func settle(_ request: inout Request, _ source: njl_request, for client: Client) throws(NightjarError) {
        var asked = try Request(methodAndTarget: source)
        asked.query = try source.queryItems
        asked.parameters = try source.parameters
        asked.usesAuth = request.usesAuth && sent.carriesCredentials
        if let wanted = sent.request.resolved, asked.target.isExactly(path), asked.parameters.isEmpty {
            if !sent.carriesCredentials { asked.query.removeAll { wanted.isSecret(name: $0.name) } }
            request.resolved = asked.query.isEmpty ? wanted : try wanted.replacing(asked.query)
        } else {
            request.resolved = try client.url(of: asked)
        }
        request.method = asked.method
        request.parameters = []
        request.query = []
        if !sent.carriesCredentials { client.removeCredentials(from: &request) }
    }
}

extension Client {
    fileprivate func path(to sent: SentRequest) -> String {
        if let url = sent.request.resolved ?? (try? url(of: sent.request)) { return path(to: url) }
        return sent.request.target
    }
}

@_cdecl("njl_engine_next_errand") @implementation
public func njl_engine_next_errand(_ engine: OpaquePointer?, _ caller: UnsafeMutablePointer<Int64>?) -> OpaquePointer? {
    guard let errand = Handle<Engine>.borrow(engine)?.errands.next() else { return nil }
    caller?.pointee = errand.caller
    return Handle<Errand>.make(errand)
}

@_cdecl("njl_engine_next_cancelled") @implementation
public func njl_engine_next_cancelled(_ engine: OpaquePointer?) -> OpaquePointer? {
    guard let errands = Handle<Engine>.borrow(engine)?.errands else { return nil }
    while let errand = errands.nextCancelled() {
        if let task = errand.task { return task }
    }
    return nil
}

@_cdecl("njl_errand_request") @implementation
public func njl_errand_request(_ errand: OpaquePointer?) -> OpaquePointer? {
    guard let json = try? Handle<Errand>.borrow(errand)?.json.encoded() else { return nil }
    return Handle<LentText>.make(LentText(String(buffer: json)))
}

@_cdecl("njl_errand_begin") @implementation
public func njl_errand_begin(_ errand: OpaquePointer?, _ task: OpaquePointer?) {
    Handle<Errand>.borrow(errand)?.task = task
}

@_cdecl("njl_errand_caller") @implementation
public func njl_errand_caller(_ errand: OpaquePointer?) -> Int64 { Handle<Errand>.borrow(errand)?.caller ?? 0 }

@_cdecl("njl_errand_finish") @implementation
public func njl_errand_finish(_ errand: OpaquePointer?, _ outcome: OpaquePointer?) -> Bool {
    guard let outcome = Handle<Outcome>.borrow(outcome) else { return false }
    return Handle<Errand>.borrow(errand)?.finish(outcome) ?? false
}

@_cdecl("njl_errand_fail") @implementation
public func njl_errand_fail(_ errand: OpaquePointer?, _ message: njl_bytes, _ number: Int32) {
    let text = String(decoding: message.buffer, as: UTF8.self)
    Handle<Errand>.borrow(errand)?.fail(NightjarError(.script, text, code: number))
}

@_cdecl("njl_errand_end") @implementation
public func njl_errand_end(_ errand: OpaquePointer?) {
    let ended = Handle<Errand>.borrow(errand)
    ended?.task = nil
    // A waiting consumer may also hold the errand, to cancel it.
    ended?.fail(Errand.unmade)
    Handle<Errand>.release(errand)
}
