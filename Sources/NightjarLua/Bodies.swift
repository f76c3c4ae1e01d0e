import CLua
import DequeModule
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A response body that is streamed to a script. Holds the received parts until the script reads them. The task's
/// window limits their total size. Belongs to the thread that runs the Lua state.
final class IncomingBody: @unchecked Sendable {
    enum Part {
        case bytes(ByteBuffer)
        case later
        case end
        case failed(NightjarError)
    }

    /// The call of the response, so that it can become a download. A call in progress refers to this object. Nil before the
    /// head has arrived, and after ``close()``.
    var exchange: StreamedExchange?
    private var parts = Deque<ByteBuffer>()
    private var failure: NightjarError?
    private(set) var isEnded = false

    init() {}

    /// Creates the body of a complete response.
    init(complete body: ByteBuffer) {
        if body.readableBytes > 0 { parts = [body] }
        isEnded = true
    }

    func append(_ part: ByteBuffer) { parts.append(part) }

    /// Ends the body. A non-nil `error` means that the response was interrupted.
    func end(_ error: NightjarError?) {
        guard !isEnded else { return }
        isEnded = true
        failure = error
    }

    /// Discards the received parts. Reading then fails with `cancelled`.
    func close() {
        parts = []
        isEnded = true
        exchange = nil
        failure = NightjarError(.cancelled, "the response was closed")
    }

    /// The parts that were not taken.
    var unread: [ByteBuffer] { Array(parts) }

    /// The part that ``take()`` will take.
    var next: Part {
        if let part = parts.first { return .bytes(part) }
        guard isEnded else { return .later }
        return failure.map(Part.failed) ?? .end
    }

    /// Removes the next part. Returns its length in bytes.
    func take() -> Int { parts.popFirst()?.readableBytes ?? 0 }
}

/// A request body that a script produces. The script provides parts of any length; the transport takes pieces of them.
/// Belongs to the thread that runs the Lua state.
final class OutgoingBody: @unchecked Sendable {
    private var rest = ByteBuffer()
    private(set) var isEnded = false
    /// The number of bytes that the transport requested.
    private var requestedBytes = 0
    /// Whether the transport is waiting for a part from the script.
    private(set) var isRequested = false
    /// Whether the script has not started the body for this attempt. Parts that the script provides before the start
    /// belong to a previous attempt and are discarded.
    private var mustBegin: Bool
    private let restarts: Bool
    /// Whether a task of its own calls the script's function, and not the task of the call.
    let hasTask: Bool
    /// Why the script cannot produce the body. The transport receives it with the next piece.
    private(set) var failure: String?
    /// The memory of the last part.
    private var held = HeldBytes()

    /// - Parameter restarts: whether the script can produce the body again from the start.
    init(restarts: Bool, hasTask: Bool) {
        self.restarts = restarts
        self.hasTask = hasTask
        mustBegin = restarts
    }

    /// Prepares for another attempt, which sends the body from its start.
    func rewind() {
        rest = ByteBuffer()
        (isEnded, isRequested, mustBegin) = (false, false, restarts)
    }

    /// Returns true at the first call of each attempt if the script can produce the body again: the script must then
    /// start the body. Otherwise, always returns false.
    func begin() -> Bool {
        defer { mustBegin = false }
        return mustBegin
    }

    /// Returns the next piece of at most `maximum` bytes for the transport.
    func next(_ maximum: Int) -> TaskHandlers.BodyPart {
        if let failure { return .failed(failure) }
        if let part = rest.readSlice(length: min(maximum, rest.readableBytes)), part.readableBytes > 0 {
            return .bytes(part)
        }
        if isEnded { return .end }
        requestedBytes = maximum
        isRequested = true
        return .later
    }

    /// Reserves memory for a part and releases the memory of the previous part.
    ///
    /// - Returns: false if the part exceeds the memory limit.
    func count(_ bytes: Int, in reservation: MemoryReservation?) -> Bool { held.set(bytes, in: reservation) }

    /// Ends the body, because the script cannot produce it. No more parts are requested from the script.
    func fail(_ message: String) {
        failure = message
        isRequested = false
    }

    /// Adds a part from the script; nil ends the body.
    ///
    /// - Returns: the next piece, if the transport is waiting for one.
    func provide(_ part: ByteBuffer?) -> TaskHandlers.BodyPart {
        guard isRequested, !mustBegin else { return .later }
        isRequested = false
        if let part { rest = part } else { isEnded = true }
        guard rest.readableBytes > 0 || isEnded else { return .bytes(ByteBuffer()) }
        return next(requestedBytes)
    }
}

// MARK: For C

@_cdecl("njl_call_await") @implementation
public func njl_call_await(_ engine: OpaquePointer?, _ call: OpaquePointer?, _ wait: OpaquePointer?) {
    guard let engine = Handle<Engine>.borrow(engine), let call = Handle<Future>.borrow(call), let wait else { return }
    engine.await(call, by: wait)
}

@_cdecl("njl_call_needs_body") @implementation
public func njl_call_needs_body(_ call: OpaquePointer?) -> Bool {
    Handle<Future>.borrow(call)?.outgoingBody?.isRequested ?? false
}

@_cdecl("njl_call_restarts_body") @implementation
public func njl_call_restarts_body(_ call: OpaquePointer?) -> Bool {
    Handle<Future>.borrow(call)?.outgoingBody?.begin() ?? false
}

@_cdecl("njl_call_provide") @implementation
public func njl_call_provide(_ call: OpaquePointer?, _ part: njl_bytes) {
    guard let call = Handle<Future>.borrow(call), let outgoingBody = call.outgoingBody else { return }
    guard outgoingBody.count(part.length, in: call.reservation) else {
        return fail(outgoingBody, of: call, "a part of the body exceeds the script's memory limit; use smaller parts")
    }
    do throws(NightjarError) {
        call.task?.provide(outgoingBody.provide(try ByteBuffer(copying: part.buffer, for: "a part of the body")))
    } catch {
        fail(outgoingBody, of: call, error.message)
    }
}

private func fail(_ body: OutgoingBody, of call: Future, _ message: String) {
    body.fail(message)
    // Has no effect if the transport does not wait for a piece.
    call.task?.provide(.failed(message))
}

@_cdecl("njl_call_end_body") @implementation
public func njl_call_end_body(_ engine: OpaquePointer?, _ call: OpaquePointer?) {
    guard let call = Handle<Future>.borrow(call), let outgoingBody = call.outgoingBody else { return }
    _ = outgoingBody.count(0, in: call.reservation)
    call.task?.provide(outgoingBody.provide(nil))
    Handle<Engine>.borrow(engine)?.notifyBodyWaiters(call)
}

@_cdecl("njl_call_sends_body") @implementation
public func njl_call_sends_body(_ call: OpaquePointer?) -> Bool { Handle<Future>.borrow(call)?.sendsBody ?? false }

@_cdecl("njl_call_await_body") @implementation
public func njl_call_await_body(
    _ engine: OpaquePointer?, _ call: OpaquePointer?, _ wait: OpaquePointer?, _ untilSent: Bool
) -> OpaquePointer? {
    guard let engine = Handle<Engine>.borrow(engine), let call = Handle<Future>.borrow(call), let wait else {
        return nil
    }
    let waiter = engine.pending(for: wait)
    waiter.abandon = { [weak engine, weak call, weak waiter] in
        guard let waiter else { return }
        engine?.drop(waiter)
        if call?.bodyWaiters.needed === waiter { call?.bodyWaiters.needed = nil }
        if call?.bodyWaiters.sent === waiter { call?.bodyWaiters.sent = nil }
    }
    if !call.sendsBody || !untilSent && call.outgoingBody?.isRequested == true {
        engine.complete(waiter)
    } else if untilSent {
        call.bodyWaiters.sent = waiter
    } else {
        call.bodyWaiters.needed = waiter
    }
    return Handle<Future>.make(waiter)
}

@_cdecl("njl_call_fail_body") @implementation
public func njl_call_fail_body(_ call: OpaquePointer?, _ message: njl_bytes) {
    guard let call = Handle<Future>.borrow(call), let outgoingBody = call.outgoingBody else { return }
    fail(outgoingBody, of: call, String(decoding: message.buffer, as: UTF8.self))
}

@_cdecl("njl_stream_next") @implementation
public func njl_stream_next(
    _ future: OpaquePointer?, _ wait: OpaquePointer?, _ part: UnsafeMutablePointer<njl_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> njl_part {
    guard let future = Handle<Future>.borrow(future), let incoming = future.incoming else { return NJL_PART_END }
    switch incoming.next {
    case .bytes(let bytes):
        // The body keeps the bytes in place until the part is taken.
        part?.pointee = bytes.withUnsafeReadableBytes(njl_bytes.init)
        return NJL_PART_READY
    case .later:
        guard future.wait == nil || future.wait == wait else { return NJL_PART_BUSY }
        future.wait = wait
        return NJL_PART_LATER
    case .end:
        return NJL_PART_END
    case .failed(let failure):
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return NJL_PART_FAILED
    }
}

@_cdecl("njl_stream_release") @implementation
public func njl_stream_release(_ future: OpaquePointer?) {
    guard let future = Handle<Future>.borrow(future), let incoming = future.incoming else { return }
    let count = incoming.take()
    future.task?.consumed(count)
}
