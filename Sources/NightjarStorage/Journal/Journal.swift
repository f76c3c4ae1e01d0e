import NightjarHTTP
import NightjarSystem
import Synchronization

/// A record of work that must survive the process: an SQLite file that any number of processes and threads share.
///
/// A caller adds *entries*. A worker takes an entry with a *lease* and works on it. The entry keeps its result until the
/// caller acknowledges it.
///
/// - **Fencing**: each lease has a number, and each write of a worker names it. A write is rejected with `leaseLost`
///   after another worker has taken the entry.
/// - **Intent before effect, result after**: the worker records an intent before each effect, such as a request that is
///   not idempotent, and its result afterwards. The next worker sees the intents without results. The journal repeats
///   nothing by itself.
/// - **Durability**: when a function returns, its change survives a power failure.
///
/// A lease ends when it expires, and earlier when its process ends or its `Journal` is closed.
///
/// All functions block, may be called from any thread, and throw ``JournalError``. A file that is damaged is moved
/// aside, and a new file is created; ``takeNotes()`` reports it. A file of a later version is not changed. `PATH.lock`
/// is the lock file of the owners of leases. It must not be removed while a journal is open.
///
/// In a forked child, the functions throw `forked`. The child cannot open another journal either, unless the parent had
/// none open.
package final class Journal: Sendable {
    package let path: String
    let options: JournalOptions
    private let clock: JournalClock
    private let process = getpid()
    private let state = Mutex(State())

    /// Protected by the lock. No other object refers to the connection.
    private struct State: @unchecked Sendable {
        var connection: JournalConnection?
        var corruptFile: CorruptFile?
        var notes: [String] = []

        /// Closes a file that is damaged. The next operation moves it aside.
        mutating func disconnect(after error: JournalError) {
            guard let connection, case .database(let error) = error.cause, error.cause == .damaged else { return }
            corruptFile = CorruptFile(connection.database, error)
            disconnect()
        }

        mutating func disconnect() {
            guard connection != nil else { return }
            withoutFileSizeSignal { connection = nil }
            JournalProcess.leave()
        }
    }

    /// Creates the object. Does not access the disk yet.
    ///
    /// - Parameter path: the file, such as ``JournalPath/standard``. It is created with its folder if it does not exist,
    ///   accessible only to its owner.
    package init(path: String, options: JournalOptions = JournalOptions(), clock: JournalClock = .system) {
        self.path = path
        self.options = options
        self.clock = clock
    }

    deinit { close() }

    /// Closes the file. Other workers may then take the entries that this journal has leases of. The next operation
    /// opens the file again.
    package func close() {
        guard getpid() == process else { return leaveToParent() }
        state.withLock { $0.disconnect() }
    }

    /// In a forked child, the connection belongs to the parent. The child must neither use nor close it.
    private func leaveToParent() {
        // A thread that exists only in the parent may have held the lock when the process forked. The child can then not
        // take the lock, but that thread's reference keeps this object and its connection alive.
        state.withLockIfAvailable { state in
            if let connection = state.connection { _ = Unmanaged.passRetained(connection) }
            state.connection = nil
        }
    }

    /// Returns the events for the log since the last call, such as a file that was moved aside.
    package func takeNotes() -> [String] {
        guard getpid() == process else { return [] }
        return state.withLock { state in
            defer { state.notes = [] }
            return state.notes
        }
    }

    /// A number that changes with each change of the journal by any process. Cheap, for polling.
    package func changeNumber() throws(JournalError) -> Int64 {
        try read { (rows, _) throws(JournalError) in try rows.changeNumber() }
    }

    // MARK: Transactions

    /// Runs `body` in a transaction, which is rolled back on an error.
    func write<Result: Sendable>(
        _ body: (JournalRows, JournalTime) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try use { (connection) throws(JournalError) in try connection.write(clock, body) }
    }

    /// Runs `body` in a read transaction.
    func read<Result: Sendable>(
        _ body: (JournalRows, JournalTime) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        try use { (connection) throws(JournalError) in
            try connection.read { (rows) throws(JournalError) in try body(rows, clock.now()) }
        }
    }

    private func use<Result: Sendable>(
        _ body: (JournalConnection) throws(JournalError) -> Result
    ) throws(JournalError) -> Result {
        // In a forked child, the lock may be held forever by a thread that exists only in the parent.
        guard getpid() == process else { throw .forked(path) }
        return try state.withLock { (state) throws(JournalError) -> Result in
            try withoutFileSizeSignal { () throws(JournalError) -> Result in
                let connection = try open(&state)
                do throws(JournalError) {
                    return try body(connection)
                } catch {
                    state.disconnect(after: error)
                    throw error
                }
            }
        }
    }

    private func open(_ state: inout State) throws(JournalError) -> JournalConnection {
        if let connection = state.connection {
            if !connection.database.isReplaced { return connection }
            state.notes.append("the journal \(quoted(path)) was removed or replaced; it is opened again")
            state.disconnect()
        }
        guard JournalProcess.enter() else { throw .forked(path) }
        let connection: JournalConnection
        do throws(DatabaseError) {
            connection = try connect(&state)
        } catch {
            JournalProcess.leave()
            throw JournalError(error)
        }
        state.connection = connection
        do throws(JournalError) {
            // Adjusts the times of the file, so that reads find the times of this boot.
            try connection.write(clock) { (_, _) throws(JournalError) in }
        } catch {
            state.disconnect(after: error)
            state.disconnect()  // so that the next operation tries again
            throw error
        }
        return connection
    }

    private func connect(_ state: inout State) throws(DatabaseError) -> JournalConnection {
        let place = try JournalPath.prepare(path)
        let opened = try DatabaseFile.open(
            place, JournalSchema.schema, lockTimeout: options.lockTimeout, corruptFile: state.corruptFile,
            leavesNewer: true)
        state.corruptFile = nil
        if let moved = opened.movedAside {
            state.notes.append(
                "\(moved.error.description); it was moved to \(quoted(moved.path, limit: 400)), and a new journal was created"
            )
        }
        try JournalPath.sync(place)
        return try JournalConnection(opened.database, place)
    }
}
