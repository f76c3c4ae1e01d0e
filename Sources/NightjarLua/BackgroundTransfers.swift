import Nightjar
import NightjarHTTP
import Synchronization

/// The operations of modules/lua/transfers.lua, by name. They run on a worker thread, because the journal may wait for the
/// disk and for other processes.
final class TransferWork: Sendable {
    typealias Work = @Sendable () throws(NightjarError) -> WorkValue

    /// The journals that the script has used, by path. An empty path: that of the user.
    private let journals = Mutex<[String: Transfers]>([:])

    /// Returns the operation with this name.
    ///
    /// - Returns: nil if the name is unknown or the arguments do not match the operation.
    func named(_ name: String, _ arguments: [ScriptValue]) -> Work? {
        let texts = arguments.map {
            if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        guard let path = texts.first else { return nil }
        if name == "transfers.list" {
            return { [self] () throws(NightjarError) in
                .many(try transfers(path).list().map { .string(Array($0.json.utf8)) })
            }
        }
        guard texts.count >= 2 else { return nil }
        let id = texts[1]
        switch name {
        case "transfers.start":
            guard texts.count == 3 else { return nil }
            return { [self] () throws(NightjarError) in
                .one(.string(Array(try transfers(path).start(id, json: texts[2]).json.utf8)))
            }
        case "transfers.get":
            return { [self] () throws(NightjarError) in
                try transfers(path).get(id).map { .one(.string(Array($0.json.utf8))) } ?? .nothing
            }
        case "transfers.check": return change(path) { (all) throws(NightjarError) in try all.check(id) }
        case "transfers.pause": return change(path) { (all) throws(NightjarError) in try all.pause(id) }
        case "transfers.resume": return change(path) { (all) throws(NightjarError) in try all.resume(id) }
        case "transfers.cancel": return change(path) { (all) throws(NightjarError) in try all.cancel(id) }
        case "transfers.retry": return change(path) { (all) throws(NightjarError) in try all.retry(id) }
        case "transfers.remove": return change(path) { (all) throws(NightjarError) in try all.remove(id) }
        default: return nil
        }
    }

    private func change(
        _ path: String, _ body: @escaping @Sendable (Transfers) throws(NightjarError) -> Void
    ) -> Work {
        { [self] () throws(NightjarError) in
            try body(try transfers(path))
            return .nothing
        }
    }

    private func transfers(_ path: String) throws(NightjarError) -> Transfers {
        if let known = journals.withLock({ $0[path] }) { return known }
        let made = try Transfers(journal: path.isEmpty ? nil : path)
        return journals.withLock {
            if let known = $0[path] { return known }
            $0[path] = made
            return made
        }
    }
}
