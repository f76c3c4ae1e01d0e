import CPlatform
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// Talks to the worker of a journal on its local socket, and starts it.
struct WorkerLink {
    private let journal: String
    /// Nil: no program is started.
    private let process: WorkerProcess?

    /// - Parameter journal: The absolute path of the journal.
    init(journal: String, process: WorkerProcess?) { (self.journal, self.process) = (journal, process) }

    /// Lets the worker read the journal now. Starts a worker if none listens, and if there is an executable.
    ///
    /// - Throws: `storage` if the executable could not be started.
    func wake() throws(NightjarError) {
        if !notify() { try process?.start(journal: journal) }
    }

    /// Lets the worker read the journal now.
    ///
    /// - Returns: Whether a worker listens.
    @discardableResult
    func notify() -> Bool {
        guard let descriptor = connect() else { return false }
        defer { close(descriptor) }
        return WorkerLink.send(WorkerMessage.request, to: descriptor)
    }

    /// Asks the worker for the progress of its transfers. Empty if no worker responds within half a second.
    func progress() -> WorkerMessage.Progress {
        guard let descriptor = connect() else { return [:] }
        defer { close(descriptor) }
        guard WorkerLink.send(WorkerMessage.request, to: descriptor), let line = WorkerLink.line(from: descriptor)
        else {
            return [:]
        }
        return WorkerMessage.progress(from: line)
    }

    private func connect() -> Int32? {
        // The folder of the journal may not exist before the first transfer.
        JournalWorkerSocket.path(journal: journal).flatMap { JournalWorkerSocket.connect($0) }
    }

    /// Sends bytes that fit into the buffer of a new connection.
    private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        cplatform_send(descriptor, bytes, bytes.count, true) == bytes.count
    }

    private static func line(from descriptor: Int32) -> [UInt8]? {
        let deadline = ContinuousClock.now + timeout
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while received.last != WorkerMessage.newline {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero, received.count <= WorkerMessage.largestResponse else { return nil }
            var awaited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let code = poll(&awaited, 1, Int32(clamping: left.nanosecondsClamped / 1_000_000 + 1))
            if code < 0, errno != EINTR { return nil }
            guard code > 0 else { continue }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return nil }
            received += buffer.prefix(count)
        }
        return received
    }

    private static let timeout = Duration.milliseconds(500)
}
