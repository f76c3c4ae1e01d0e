import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles
import Synchronization

/// An outbox that a script has opened. It is closed when the script releases it.
final class OpenOutbox: Resource, @unchecked Sendable {
    let number: Int64
    private let owner: OutboxWork

    init(_ number: Int64, of owner: OutboxWork) { (self.number, self.owner) = (number, owner) }

    deinit { close() }

    override func close() { owner.close(number) }
}

/// The outboxes of a Lua state, and the operations of modules/lua/outboxes.lua, by name. They run on a worker thread, because
/// the journal may wait for the disk and for other processes.
final class OutboxWork: Sendable {
    typealias Work = @Sendable () throws(NightjarError) -> WorkValue

    private struct State {
        var outboxes: [Int64: Open] = [:]
        var last: Int64 = 0
    }

    private struct Open {
        let outbox: Outbox
        let changes: OutboxChanges
    }

    private let state = Mutex(State())

    func open(
        _ client: Client, _ settings: OutboxSettings, on queue: CompletionQueue
    ) throws(NightjarError) -> OpenOutbox {
        let changes = OutboxChanges()
        let outbox = try Outbox(client, settings, on: queue) { changes.add($0) }
        let number = state.withLock { state in
            state.last += 1
            state.outboxes[state.last] = Open(outbox: outbox, changes: changes)
            return state.last
        }
        return OpenOutbox(number, of: self)
    }

    fileprivate func close(_ number: Int64) {
        // Outside of the lock: the journal may wait for the disk.
        let removed = state.withLock { $0.outboxes.removeValue(forKey: number) }
        removed?.outbox.close()
    }

    private func find(_ number: Int64) throws(NightjarError) -> Open {
        guard let found = state.withLock({ $0.outboxes[number] }) else {
            throw NightjarError(.closed, "the outbox is closed")
        }
        return found
    }

    /// Returns the operation with this name.
    ///
    /// - Returns: nil if the name is unknown or the arguments do not match the operation.
    func named(_ name: String, _ arguments: [ScriptValue]) -> Work? {
        guard case .integer(let number)? = arguments.first else { return nil }
        let texts = arguments.dropFirst().map {
            if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        switch name {
        case "outbox.list":
            let state = texts.first.flatMap { OutboxState(rawValue: $0) }
            return { [self] () throws(NightjarError) in
                .many(try find(number).outbox.entries(state).map(OutboxWork.value))
            }
        case "outbox.count":
            return { [self] () throws(NightjarError) in .one(.integer(Int64(try find(number).outbox.count()))) }
        case "outbox.changes":
            return { [self] () throws(NightjarError) in .many(try find(number).changes.take().map(OutboxWork.value)) }
        default: break
        }
        guard let text = texts.first else { return nil }
        switch name {
        case "outbox.record":
            return { [self] () throws(NightjarError) in
                .one(OutboxWork.value(try find(number).outbox.record(json: text)))
            }
        case "outbox.get":
            return { [self] () throws(NightjarError) in
                try find(number).outbox.entry(text).map { .one(OutboxWork.value($0)) } ?? .nothing
            }
        case "outbox.check":
            return change(number) { (outbox) throws(NightjarError) in try outbox.check(text) }
        case "outbox.retry": return change(number) { (outbox) throws(NightjarError) in try outbox.retry(text) }
        case "outbox.remove": return change(number) { (outbox) throws(NightjarError) in try outbox.remove(text) }
        case "outbox.resolve":
            guard let json = texts.dropFirst().first else { return nil }
            return change(number) { (outbox) throws(NightjarError) in try outbox.resolve(text, json: json) }
        default: return nil
        }
    }

    private func change(
        _ number: Int64, _ body: @escaping @Sendable (Outbox) throws(NightjarError) -> Void
    ) -> Work {
        { [self] () throws(NightjarError) in
            try body(try find(number).outbox)
            return .nothing
        }
    }

    private static func value(_ entry: Outbox.Entry) -> ScriptValue { .string(Array(entry.json.utf8)) }
}

/// The entries whose state has changed, until the script takes them.
private final class OutboxChanges: Sendable {
    private let entries = Mutex<[Outbox.Entry]>([])

    /// A script that does not take the changes receives only the latest ones.
    func add(_ entry: Outbox.Entry) {
        entries.withLock { entries in
            if entries.count >= OutboxChanges.maximum { entries.removeFirst(OutboxChanges.maximum / 2) }
            entries.append(entry)
        }
    }

    func take() -> [Outbox.Entry] {
        entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
    }

    private static let maximum = 2 * Outbox.maximumChanges
}

@_cdecl("njl_outbox_open") @implementation
public func njl_outbox_open(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ options: njl_bytes,
    _ number: UnsafeMutablePointer<Int64>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client) else {
            throw Engine.closedClient
        }
        let outbox = try engine.outboxWork.open(client, try OutboxSettings(json: options.buffer), on: engine.queue)
        number?.pointee = outbox.number
        return Handle<Resource>.make(outbox)
    }
}
