import CPlatform
import Nightjar
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// Responds to the programs that connect to the local socket of the worker. Used on the daemon's thread.
///
/// A connection sends one line and receives one; see ``WorkerMessage``. Slow peers do not delay the daemon.
final class WorkerListener {
    private struct Connection {
        let descriptor: Int32
        let deadline: ContinuousClock.Instant
        var request: [UInt8] = []
        /// Empty until the request is complete.
        var response: ArraySlice<UInt8> = []
    }

    private let listener: Int32
    /// The path to remove at the end. Nil: the socket belongs to the process that has started the daemon.
    private let ownPath: String?
    /// The socket at this path. Another process, such as systemd, may replace it.
    private let ownSocket: ino_t?
    private var connections: [Connection] = []
    /// Until then, no connection is accepted, because the system had no descriptors left.
    private var pauseEnd: ContinuousClock.Instant?

    /// - Parameters:
    ///   - listener: A listening socket that does not block. The object closes it.
    ///   - ownPath: The path of the socket, which is removed at the end. Nil: the path is kept.
    init(_ listener: Int32, ownPath: String?) {
        (self.listener, self.ownPath) = (listener, ownPath)
        ownSocket = ownPath.flatMap { WorkerListener.inode($0) }
    }

    deinit {
        for connection in connections { close(connection.descriptor) }
        // First, so that a program that finds the socket can also connect to it.
        if let ownPath, ownSocket == WorkerListener.inode(ownPath) { unlink(ownPath) }
        close(listener)
    }

    /// Waits until another descriptor is readable, a program connects or sends something, or the timeout expires. Responds to
    /// programs.
    func wait(for descriptor: Int32, timeout: Duration, progress: () -> WorkerMessage.Progress) {
        var awaited = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        let now = ContinuousClock.now
        if let pauseEnd, pauseEnd <= now { self.pauseEnd = nil }
        awaited.append(pollfd(fd: pauseEnd == nil ? listener : -1, events: Int16(POLLIN), revents: 0))
        for connection in connections {
            let events = connection.response.isEmpty ? POLLIN : POLLOUT
            awaited.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
        }
        let milliseconds = Int32(clamping: timeout.nanosecondsClamped / 1_000_000)
        guard poll(&awaited, nfds_t(awaited.count), milliseconds) >= 0 else { return }
        for index in connections.indices.reversed() {
            let isReady = awaited[index + 2].revents != 0
            // A peer that sends one byte at a time has no more time than others.
            if connections[index].deadline > ContinuousClock.now,
                !isReady || proceed(&connections[index], progress)
            {
                continue
            }
            close(connections.remove(at: index).descriptor)
        }
        if awaited[1].revents != 0 { accept() }
    }

    private func accept() {
        do throws(NightjarError) {
            while let descriptor = try JournalWorkerSocket.accept(listener) {
                if connections.count >= WorkerListener.maximumConnections {
                    // The oldest one, so that idle peers do not delay others.
                    close(connections.removeFirst().descriptor)
                }
                connections.append(
                    Connection(descriptor: descriptor, deadline: ContinuousClock.now + WorkerListener.timeout))
            }
        } catch {
            pauseEnd = ContinuousClock.now + WorkerListener.pause
        }
    }

    /// Reads from a connection, or writes to it. Returns false if the connection must be closed.
    private func proceed(_ connection: inout Connection, _ progress: () -> WorkerMessage.Progress) -> Bool {
        if connection.response.isEmpty {
            var buffer = [UInt8](repeating: 0, count: WorkerMessage.largestRequest)
            let count = recv(connection.descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return true }
            guard count > 0 else { return false }
            connection.request += buffer.prefix(count)
            guard let end = connection.request.firstIndex(of: WorkerMessage.newline) else {
                return connection.request.count < WorkerMessage.largestRequest
            }
            connection.response = WorkerMessage.response(to: connection.request[..<end], progress: progress)[...]
        }
        let count = connection.response.withUnsafeBytes {
            cplatform_send(connection.descriptor, $0.baseAddress, $0.count, true)
        }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        connection.response.removeFirst(count)
        return !connection.response.isEmpty
    }

    private static func inode(_ path: String) -> ino_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : nil
    }

    private static let maximumConnections = 32
    /// The time in which a connection must send its line and receive the response.
    private static let timeout = Duration.seconds(2)
    private static let pause = Duration.seconds(1)
}
