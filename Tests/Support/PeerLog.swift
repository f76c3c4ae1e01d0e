import Foundation

/// The data that the threads of a ``ScriptedPeer`` record.
final class PeerLog: @unchecked Sendable {
    struct Connection {
        var received: [UInt8] = []
        var requests: [ReceivedRequest] = []
        var handshake: PeerHandshake?
        var hasEnded = false
    }

    private let condition = NSCondition()
    private var state: (connections: [Connection], failures: [String], threads: Int, clients: [String]) =
        ([], [], 0, [])

    var connections: [Connection] { condition.withLock { state.connections } }
    var failures: [String] { condition.withLock { state.failures } }

    var socketCount: Int { clientAddresses.count }
    var clientAddresses: [String] { condition.withLock { state.clients } }

    func socketAccepted(from client: String) {
        condition.withLock { state.clients.append(client) }
    }

    /// - Returns: The connection's index.
    func connectionAccepted() -> Int {
        condition.withLock {
            state.connections.append(Connection())
            return state.connections.count - 1
        }
    }

    func received(_ bytes: [UInt8], on connection: Int) {
        condition.withLock { state.connections[connection].received += bytes }
    }

    func received(_ request: ReceivedRequest, on connection: Int) {
        condition.withLock { state.connections[connection].requests.append(request) }
    }

    func received(_ handshake: PeerHandshake, on connection: Int) {
        condition.withLock { state.connections[connection].handshake = handshake }
    }

    /// Replaces the connection's last request, which was recorded without its body, with the complete request.
    func completed(_ request: ReceivedRequest, on connection: Int) {
        condition.withLock {
            let last = state.connections[connection].requests.count - 1
            state.connections[connection].requests[last] = request
        }
    }

    func ended(_ connection: Int) {
        condition.withLock { state.connections[connection].hasEnded = true }
    }

    func failed(_ message: String) {
        condition.withLock { state.failures.append(message) }
    }

    // MARK: Threads

    func threadStarted() {
        condition.withLock { state.threads += 1 }
    }

    func threadEnded() {
        condition.withLock {
            state.threads -= 1
            condition.broadcast()
        }
    }

    func waitForThreads() {
        condition.withLock {
            while state.threads > 0 { condition.wait() }
        }
    }
}
