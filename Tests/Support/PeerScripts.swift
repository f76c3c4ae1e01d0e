import Foundation

/// The scripts of a ``ScriptedPeer``, in the order in which connections start them.
final class PeerScripts: @unchecked Sendable {
    private let scripts: [[ScriptedPeer.Step]]
    private let repeatsLast: Bool
    private let log: PeerLog
    private let lock = NSLock()

    init(_ scripts: [[ScriptedPeer.Step]], repeatsLast: Bool, log: PeerLog) {
        self.scripts = scripts
        self.repeatsLast = repeatsLast
        self.log = log
    }

    /// Returns the next connection's index and its script; nil if no script is left.
    func next() -> (connection: Int, script: [ScriptedPeer.Step])? {
        lock.withLock {
            let index = log.connections.count
            guard let script = index < scripts.count ? scripts[index] : repeatsLast ? scripts.last : nil else {
                return nil
            }
            return (log.connectionAccepted(), script)
        }
    }

    /// Reports a connection for which no script is left.
    func missing() {
        lock.withLock {
            let index = log.connectionAccepted()
            log.failed("connection \(index) came without a script")
            log.ended(index)
        }
    }
}

/// The next action of a script with its client.
enum PeerNext {
    /// Reads a request, or other data.
    case request
    /// Closes the connection without a pause.
    case end
    /// Something else.
    case other
}

extension ScriptedPeer.Step {
    /// Whether the step waits for a request.
    var readsRequest: Bool {
        switch self {
        case .expectRequest, .expectHead, .untilClosed: true
        default: false
        }
    }

    /// Returns the next action of a script that continues with `steps`, and then with `rest`.
    static func next(_ steps: ArraySlice<ScriptedPeer.Step>, followedBy rest: PeerNext) -> PeerNext {
        for (index, step) in steps.enumerated() {
            switch step {
            case .expectRequest, .expectHead, .expectBytes, .untilClosed, .relay: return .request
            case .close: return index == 0 ? .end : .other
            case .expectClose, .stall, .halfClose, .closeAfter, .closeWithoutNotice, .reset: return .other
            case .send, .sendUnencrypted, .sendSlowly, .garbage, .wait, .waitFor, .open: continue
            }
        }
        return steps.isEmpty || rest == .request ? rest : .other
    }
}
