import CLua
import NIOCore
import Nightjar
import NightjarHandles
import Synchronization

// Calls that paginated lists and document loads need. If the client has hooks, the script makes these calls on its
// thread.

/// Passes subrequests from the clients' loops to the thread of one Lua state.
final class Subrequests: Sendable {
    private struct Queues: Sendable {
        var pending: [Subrequest] = []
        /// The subrequests that were cancelled after the script had taken them.
        var cancelled: [Subrequest] = []
        var isClosed = false
    }

    private let waiting = Mutex(Queues())
    private let queue: CompletionQueue

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Adds a subrequest for the script to send. Any thread may call it.
    fileprivate func add(_ subrequest: Subrequest) {
        let isTaken = waiting.withLock { waiting in
            if !waiting.isClosed { waiting.pending.append(subrequest) }
            return !waiting.isClosed
        }
        if isTaken { queue.wake() } else { subrequest.fail(Subrequest.stopped) }
    }

    /// Cancels a subrequest. Any thread may call it.
    fileprivate func cancel(_ subrequest: Subrequest) {
        guard subrequest.abandon() else { return }
        let hasStarted = waiting.withLock { waiting in
            if let place = waiting.pending.firstIndex(where: { $0 === subrequest }) {
                waiting.pending.remove(at: place)
                return false
            }
            if !waiting.isClosed { waiting.cancelled.append(subrequest) }
            return true
        }
        if hasStarted { queue.wake() }
    }

    func next() -> Subrequest? { waiting.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() } }

    func nextCancelled() -> Subrequest? { waiting.withLock { $0.cancelled.popLast() } }

    /// Fails all waiting and later subrequests.
    func close() {
        let left = waiting.withLock { waiting in
            defer { waiting = Queues(isClosed: true) }
            return waiting.pending
        }
        for subrequest in left { subrequest.fail(Subrequest.stopped) }
    }
}

/// Sends the requests of one list or one document load through the script.
struct ScriptSender: RequestSender {
    let subrequests: Subrequests
    /// The number of the Lua userdata that sends the requests.
    let caller: Int64
    let client: Client

    init?(_ engine: Engine, _ client: Client, for caller: Int64) {
        guard caller != 0 else { return nil }
        self.subrequests = engine.subrequests
        self.caller = caller
        self.client = client
    }

    func send(
        _ sent: SentRequest, _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) -> @Sendable () -> Void {
        let subrequest = Subrequest(caller, sent, client.path(to: sent), finished)
        subrequests.add(subrequest)
        return { [subrequests] in subrequests.cancel(subrequest) }
    }
}

/// One request that the script must send.
final class Subrequest: @unchecked Sendable {
    let caller: Int64
    private let sent: SentRequest
    /// The path as the hooks see it.
    private let path: String
    private let finished: @Sendable (Result<Response, NightjarError>) -> Void
    private let hasResponse = Atomic<Bool>(false)
    // On the thread of the Lua state:
    /// The Lua task that makes the call; nil when no task does.
    var task: OpaquePointer?
    /// The call that the task has started.
    var call: Future?

    init(
        _ caller: Int64, _ sent: SentRequest, _ path: String,
        _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) {
        self.caller = caller
        self.sent = sent
        self.path = path
        self.finished = finished
    }

    deinit { fail(Subrequest.stopped) }

    static let stopped = NightjarError(.script, "the script was stopped before it made the call")
    static let notDelivered = NightjarError(
        .script, "the script did not complete the call: it was stopped or ran out of memory")

    func fail(_ error: NightjarError) { complete(.failure(error)) }

    /// Reports the result to the list or the document load. Has no effect after the first result.
    private func complete(_ result: Result<Response, NightjarError>) {
        guard !hasResponse.exchange(true, ordering: .relaxed) else { return }
        finished(result)
    }

    /// Marks the subrequest as complete. Returns false if it was already complete.
    fileprivate func abandon() -> Bool { !hasResponse.exchange(true, ordering: .relaxed) }

    /// Reports the result of the call.
    ///
    /// - Returns: false if `future` is not the call of this subrequest, or has no result yet.
    func finish(_ future: Future) -> Bool {
        guard future === call, let result = future.result else { return false }
        complete(result)
        return true
    }

    /// The subrequest as an options table of `api:request`.
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
        // Only the requests of a list have a resolved URL. Their body limit is in the options of the list.
        if sent.request.resolved == nil, let bytes = sent.request.maximumBody {
            members.append(.init("max_body", .integer(Int64(bytes))))
        }
        // A resource decides for each request.
        if sent.isOfResource {
            if let policy = sent.request.cachePolicy { members.append(.init("cache", .string(policy.rawValue))) }
            if let coalesces = sent.request.coalesces { members.append(.init("coalesce", .bool(coalesces))) }
        }
        return .object(members)
    }

    /// Sets the URL of a request that the hooks have processed: the subrequest's URL, unless the hooks changed the
    /// path.
    ///
    /// - Parameter request: created from `source`, whose path is the subrequest's path as in ``json``.
    func settle(_ request: inout Request, _ source: njl_request, for client: Client) throws(NightjarError) {
        var requested = try Request(methodAndTarget: source)
        requested.query = Request.Items(try source.queryItems)
        requested.parameters = Request.Items(try source.parameters)
        requested.usesAuth = request.usesAuth && sent.carriesCredentials
        if let wanted = sent.request.resolved, requested.target.isExactly(path), requested.parameters.isEmpty {
            if !sent.carriesCredentials { requested.query.removeAll { wanted.isSecret(name: $0.name) } }
            request.resolved = requested.query.isEmpty ? wanted : try wanted.replacing(requested.query.all)
        } else {
            request.resolved = try client.url(of: requested)
        }
        request.method = requested.method
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

@_cdecl("njl_engine_next_subrequest") @implementation
public func njl_engine_next_subrequest(_ engine: OpaquePointer?, _ caller: UnsafeMutablePointer<Int64>?)
    -> OpaquePointer?
{
    guard let subrequest = Handle<Engine>.borrow(engine)?.subrequests.next() else { return nil }
    caller?.pointee = subrequest.caller
    return Handle<Subrequest>.make(subrequest)
}

@_cdecl("njl_engine_next_cancelled") @implementation
public func njl_engine_next_cancelled(_ engine: OpaquePointer?) -> OpaquePointer? {
    guard let subrequests = Handle<Engine>.borrow(engine)?.subrequests else { return nil }
    while let subrequest = subrequests.nextCancelled() {
        if let task = subrequest.task { return task }
    }
    return nil
}

@_cdecl("njl_subrequest_request") @implementation
public func njl_subrequest_request(_ subrequest: OpaquePointer?) -> OpaquePointer? {
    guard let json = try? Handle<Subrequest>.borrow(subrequest)?.json.encoded() else { return nil }
    return Handle<BorrowedText>.make(BorrowedText(String(buffer: json)))
}

@_cdecl("njl_subrequest_begin") @implementation
public func njl_subrequest_begin(_ subrequest: OpaquePointer?, _ task: OpaquePointer?) {
    Handle<Subrequest>.borrow(subrequest)?.task = task
}

@_cdecl("njl_subrequest_caller") @implementation
public func njl_subrequest_caller(_ subrequest: OpaquePointer?) -> Int64 {
    Handle<Subrequest>.borrow(subrequest)?.caller ?? 0
}

@_cdecl("njl_subrequest_finish") @implementation
public func njl_subrequest_finish(_ subrequest: OpaquePointer?, _ future: OpaquePointer?) -> Bool {
    guard let future = Handle<Future>.borrow(future) else { return false }
    return Handle<Subrequest>.borrow(subrequest)?.finish(future) ?? false
}

@_cdecl("njl_subrequest_fail") @implementation
public func njl_subrequest_fail(_ subrequest: OpaquePointer?, _ message: njl_bytes, _ number: Int32) {
    let text = String(decoding: message.buffer, as: UTF8.self)
    Handle<Subrequest>.borrow(subrequest)?.fail(NightjarError(.script, text, code: number))
}

@_cdecl("njl_subrequest_end") @implementation
public func njl_subrequest_end(_ subrequest: OpaquePointer?) {
    let ended = Handle<Subrequest>.borrow(subrequest)
    ended?.task = nil
    // The list or the document load may still hold the subrequest, to cancel it.
    ended?.fail(Subrequest.notDelivered)
    Handle<Subrequest>.release(subrequest)
}
