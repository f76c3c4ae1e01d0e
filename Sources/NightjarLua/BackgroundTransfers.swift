import Nightjar
import NightjarHTTP
import Synchronization

/// The operations of modules/lua/transfers.lua, by name. They run on a worker thread, because the journal may wait for the
/// disk and for other processes.
final class TransferWork: Sendable {
    typealias Work = @Sendable () throws(NightjarError) -> WorkValue

    /// A journal that the script has opened.
    private struct Place: Hashable {
        /// Empty: the journal of the user.
        let journal: String
        /// The program to start as a worker. Empty: none.
        let transferd: String
    }

    private let opened = Mutex<[Place: Transfers]>([:])

    /// Returns the operation with this name.
    ///
    /// - Returns: nil if the name is unknown or the arguments do not match the operation.
    func named(_ name: String, _ arguments: [ScriptValue]) -> Work? {
        let all = arguments.map {
            if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        guard all.count >= 2 else { return nil }
        let place = Place(journal: all[0], transferd: all[1])
        let texts = all.dropFirst(2)
        switch name {
        case "transfers.list":
            return { [self] () throws(NightjarError) in
                .many(try transfers(place).list().map { .string(Array($0.json.utf8)) })
            }
        case "transfers.log":
            return { [self] () throws(NightjarError) in
                .many(try transfers(place).log(texts.first).map { .string(Array($0.json.utf8)) })
            }
        case "transfers.wake": return change(place) { (all) throws(NightjarError) in try all.wake() }
        default: break
        }
        guard let id = texts.first else { return nil }
        switch name {
        case "transfers.start":
            guard let options = texts.dropFirst().first else { return nil }
            return { [self] () throws(NightjarError) in
                .one(.string(Array(try transfers(place).start(id, json: options).json.utf8)))
            }
        case "transfers.get":
            return { [self] () throws(NightjarError) in
                try transfers(place).get(id).map { .one(.string(Array($0.json.utf8))) } ?? .nothing
            }
        case "transfers.check": return change(place) { (all) throws(NightjarError) in try all.check(id) }
        case "transfers.pause": return change(place) { (all) throws(NightjarError) in try all.pause(id) }
        case "transfers.resume": return change(place) { (all) throws(NightjarError) in try all.resume(id) }
        case "transfers.cancel": return change(place) { (all) throws(NightjarError) in try all.cancel(id) }
        case "transfers.retry": return change(place) { (all) throws(NightjarError) in try all.retry(id) }
        case "transfers.acknowledge": return change(place) { (all) throws(NightjarError) in try all.acknowledge(id) }
        case "transfers.remove": return change(place) { (all) throws(NightjarError) in try all.remove(id) }
        default: return nil
        }
    }

    private func change(
        _ place: Place, _ body: @escaping @Sendable (Transfers) throws(NightjarError) -> Void
    ) -> Work {
        { [self] () throws(NightjarError) in
            try body(try transfers(place))
            return .nothing
        }
    }

    private func transfers(_ place: Place) throws(NightjarError) -> Transfers {
        if let known = opened.withLock({ $0[place] }) { return known }
        let made = try Transfers(
            journal: place.journal.isEmpty ? nil : place.journal,
            transferd: place.transferd.isEmpty ? nil : place.transferd)
        return opened.withLock {
            if let known = $0[place] { return known }
            $0[place] = made
            return made
        }
    }
}
