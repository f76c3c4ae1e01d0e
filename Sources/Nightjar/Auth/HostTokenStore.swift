import NightjarHTTP
import NightjarStorage
import Synchronization

/// A credential store that a callback of the host program implements. The callback loads, saves and deletes one record
/// for each key.
///
/// A save is a compare-and-swap: it loads the record, compares its version and writes the new one. The clients that share
/// the callback take turns, so that no other client changes the record meanwhile. Programs in other processes must not
/// change it. A logout deletes the record; its tombstone stays in memory for the other clients.
///
/// If the thread that runs the callback may close the client, the operations in progress fail when the client closes: the
/// thread waits for the client and cannot run the callback.
package struct HostTokenStore: TokenStore {
    let key: String
    /// The callback and the state of the key. Nil until the client is created.
    private var access: Access?
    private var records: Records?

    init(key: String) { self.key = key }

    /// Returns the store with its callback.
    func bound(to access: Access?) -> HostTokenStore {
        var store = self
        store.access = access
        store.records = access?.records(of: key)
        return store
    }

    var isBound: Bool { access != nil }

    package var name: String { "host store \(quoted(key))" }

    // A client uses the asynchronous methods instead, because no thread may block until the host responds.

    package func load() throws(NightjarError) -> StoredLogin? { throw failure("can only be used by a client") }

    package func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        throw failure("can only be used by a client")
    }

    /// Takes the lock for a token request, which excludes the other clients that share the callback. Does not block.
    package func tryLock() throws(NightjarError) -> (any TokenLock)? { try records?.lock.tryLock() }

    // MARK: On the loop

    /// Returns the stored login or the tombstone of a logout, as ``TokenStore/load()`` does.
    func load(on loop: ClientLoop, then next: @escaping (Result<StoredLogin?, NightjarError>) -> Void) {
        perform(on: loop, then: next) { operation in
            fetch(for: operation) { operation.end($0) }
        }
    }

    /// Replaces the stored record, as ``TokenStore/save(_:replacing:)`` does.
    func save(
        _ login: StoredLogin, replacing version: LoginVersion?, on loop: ClientLoop,
        then next: @escaping (Result<Bool, NightjarError>) -> Void
    ) {
        perform(on: loop, then: next) { operation in
            fetch(for: operation) { stored in
                do throws(NightjarError) {
                    guard login.mayReplace(try stored.get(), of: version) else { return operation.end(.success(false)) }
                    let isLogout = login.ending == .loggedOut
                    request(isLogout ? .delete : .save(try record(of: login)), for: operation) { result in
                        if case .success = result { records?.tombstone = isLogout ? login : nil }
                        operation.end(result.map { _ in true })
                    }
                } catch {
                    operation.end(.failure(error))
                }
            }
        }
    }

    /// Begins an operation when no other operation of the key is in progress. The timeout includes the wait.
    private func perform<Value>(
        on loop: ClientLoop, then next: @escaping (Result<Value, NightjarError>) -> Void,
        _ body: @escaping (Operation<Value>) -> Void
    ) {
        let operation = Operation(on: loop, next)
        let late = failure(
            "has not responded within \(HostTokenStore.timeout.components.seconds) s; poll the queue (or let the "
                + "script wait), and respond to each request")
        if endsWithClient {
            let closed = failure("was not used, because the client was closed")
            guard !loop.isClosing else { return operation.end(.failure(closed)) }
            // The client must have notified all listeners before it handles the result.
            loop.addCloseListener(operation) { loop.after(.zero) { operation.end(.failure(closed)) } }
        }
        operation.timer = loop.after(HostTokenStore.timeout) { operation.end(.failure(late)) }
        let begin = OnLoop<Records.Turn> { turn in
            guard !operation.hasEnded else { return }
            operation.turn = turn
            body(operation)
        }
        records?.takeTurn { [gate = loop.gate] turn in gate.execute { begin.body(turn) } }
    }

    /// Whether the callback can still run.
    func isReachable(on loop: ClientLoop) -> Bool { !loop.isClosing || !endsWithClient }

    private var endsWithClient: Bool { access?.endsOperationsWithClient == true }

    private func fetch<Value>(
        for operation: Operation<Value>, then next: @escaping (Result<StoredLogin?, NightjarError>) -> Void
    ) {
        if let tombstone = records?.tombstone { return next(.success(tombstone)) }
        request(.load, for: operation) { result in
            next(
                Result { () throws(NightjarError) in
                    guard let record = try result.get(), !record.isEmpty else { return nil }
                    return try StoredLogin(record: record, in: self)
                })
        }
    }

    private func record(of login: StoredLogin) throws(NightjarError) -> [UInt8] {
        guard let record = login.record else {
            throw failure("cannot store the login: its record would be larger than 1 MiB")
        }
        return record
    }

    /// Posts a request to the host.
    ///
    /// - Parameter next: Not called if the operation ends before.
    private func request<Value>(
        _ kind: Request.Operation, for operation: Operation<Value>,
        then next: @escaping (Result<[UInt8]?, NightjarError>) -> Void
    ) {
        guard let access else { return operation.end(.failure(failure("has no callback"))) }
        let loop = operation.loop
        let respond = OnLoop<Result<[UInt8]?, NightjarError>> { result in
            if !operation.hasEnded { next(result) }
        }
        let turn = kind.changesRecord ? operation.turn : nil
        let decision = PendingDecision(on: loop, at: access.place) { [key, name, gate = loop.gate] in
            access.callback(
                Request(kind, key: key, of: name, in: turn) { result in gate.execute { respond.body(result) } })
        }
        operation.decision = decision
        decision.postToAll()
    }

    private func failure(_ reason: String) -> NightjarError {
        NightjarError(.storage, "the token \(name) \(reason)")
    }

    /// The maximum wait for a response of the host, which may show a dialog of a keychain.
    private static let timeout = Duration.seconds(30)
}

extension HostTokenStore {
    /// An operation in progress, which has the turn of its record. Used on the loop.
    private final class Operation<Value>: @unchecked Sendable {
        let loop: ClientLoop
        /// Nil before the turn.
        var turn: Records.Turn?
        var timer: Int?
        /// The request that the host has not responded to.
        var decision: PendingDecision?
        private var next: ((Result<Value, NightjarError>) -> Void)?

        init(on loop: ClientLoop, _ next: @escaping (Result<Value, NightjarError>) -> Void) {
            self.loop = loop
            self.next = next
        }

        var hasEnded: Bool { next == nil }

        /// Passes the first result on, and ends the turn.
        func end(_ result: Result<Value, NightjarError>) {
            guard let next = next.take() else { return }
            decision.take()?.withdraw()
            if let timer = timer.take() { loop.cancelTimer(timer) }
            loop.removeCloseListener(self)
            next(result)
            turn = nil
        }
    }
}

extension HostTokenStore {
    /// The callback of the host, which all clients of a configuration share.
    package final class Access: Sendable {
        let callback: @Sendable (Request) -> Void
        let place: DecisionPlace
        /// Whether operations fail when their client closes.
        let endsOperationsWithClient: Bool
        private let keys = Mutex<[String: Records]>([:])

        /// Creates a callback that runs on the loop thread and must not block.
        package init(endsOperationsWithClient: Bool, _ callback: @escaping @Sendable (Request) -> Void) {
            place = .loop
            self.endsOperationsWithClient = endsOperationsWithClient
            self.callback = callback
        }

        /// Creates a callback that never runs on the loop thread.
        ///
        /// - Parameter queue: The queue on which the callback also runs. Nil: only on the queues of the client's calls.
        package init(onQueuesAnd queue: CompletionQueue?, _ callback: @escaping @Sendable (Request) -> Void) {
            place = .queuesOnly(queue)
            endsOperationsWithClient = false
            self.callback = callback
        }

        fileprivate func records(of key: String) -> Records {
            keys.withLock { keys in
                if let known = keys[key] { return known }
                let records = Records()
                keys[key] = records
                return records
            }
        }
    }

    /// The state of one key, which all clients of a configuration share.
    fileprivate final class Records: Sendable {
        private struct State {
            var tombstone: StoredLogin?
            var isBusy = false
            var waiting: [@Sendable (Turn) -> Void] = []
        }

        /// The exclusive use of the record, until the object is deallocated: also if a client closes meanwhile.
        final class Turn: Sendable {
            private let records: Records
            private let forkGeneration = Fork.generation

            init(_ records: Records) { self.records = records }

            deinit {
                // In a forked child, the operations that wait belong to the parent.
                if !Fork.hasForked(since: forkGeneration) { records.turnEnded() }
            }
        }

        /// Holds the lock for token requests.
        let lock = MemoryTokenStore()
        private let state = Mutex(State())

        /// The tombstone of the deleted record. Nil if the record is not deleted.
        var tombstone: StoredLogin? {
            get { state.withLock { $0.tombstone } }
            set { state.withLock { $0.tombstone = newValue } }
        }

        /// Calls `body` when no other turn is in progress.
        func takeTurn(_ body: @escaping @Sendable (Turn) -> Void) {
            let isFree = state.withLock { state in
                guard state.isBusy else {
                    state.isBusy = true
                    return true
                }
                state.waiting.append(body)
                return false
            }
            if isFree { body(Turn(self)) }
        }

        private func turnEnded() {
            let next = state.withLock { state -> (@Sendable (Turn) -> Void)? in
                state.isBusy = !state.waiting.isEmpty
                return state.isBusy ? state.waiting.removeFirst() : nil
            }
            next?(Turn(self))
        }
    }

    /// A decision request to the host: to load, save or delete the record of a key.
    package final class Request: Sendable {
        package enum Operation: Sendable {
            case load
            case save([UInt8])
            case delete

            fileprivate var changesRecord: Bool {
                if case .load = self { false } else { true }
            }
        }

        package let operation: Operation
        package let key: String
        private let store: String
        private let submit: @Sendable (Result<[UInt8]?, NightjarError>) -> Void
        private let forkGeneration = Fork.generation
        private let hasResponse = Atomic<Bool>(false)
        /// The turn of an operation that changes the record. The operation may end without a response, for example because
        /// the client is closed. The next turn begins when this request has its response, so that the host cannot replace
        /// a newer record by an older one. Nil after the response.
        private let turn: Mutex<Records.Turn?>

        /// The maximum size of a record in bytes.
        package static var largestRecord: Int { StoredLogin.largestRecord }

        /// - Parameters:
        ///   - store: The name of the store in messages.
        ///   - submit: Submits the response to the client's loop.
        fileprivate init(
            _ operation: Operation, key: String, of store: String, in turn: Records.Turn?,
            submit: @escaping @Sendable (Result<[UInt8]?, NightjarError>) -> Void
        ) {
            self.operation = operation
            self.key = key
            self.store = store
            self.turn = Mutex(turn)
            self.submit = submit
        }

        deinit {
            // In a forked child, the loop belongs to the parent.
            guard !hasResponse.load(ordering: .relaxed), !Fork.hasForked(since: forkGeneration) else { return }
            submit(.failure(failure("the callback released the request without a response")))
        }

        /// Reports success. Any thread.
        ///
        /// - Parameter record: The loaded record; nil: there is none. Nil for other operations.
        /// - Throws: `invalid_argument` for a record that is larger than 1 MiB or that belongs to another operation, and
        ///   if the request already has a response; `forked`. The request stays pending if the response does not fit.
        package func respond(_ record: [UInt8]?) throws(NightjarError) {
            if let record {
                guard case .load = operation else {
                    throw NightjarError(.invalidArgument, "only a load has a record as its response; pass none")
                }
                guard record.count <= Request.largestRecord else {
                    throw NightjarError(
                        .invalidArgument, "the record must have at most 1 MiB, got \(record.count) bytes")
                }
            }
            try end(.success(record))
        }

        /// Reports that the operation has failed. Any thread.
        ///
        /// - Parameter message: The reason for the developer; nil: none.
        /// - Throws: `invalid_argument` if the request already has a response; `forked`.
        package func fail(_ message: String?) throws(NightjarError) {
            try end(.failure(failure(message ?? "the callback reports a failure")))
        }

        private func end(_ result: Result<[UInt8]?, NightjarError>) throws(NightjarError) {
            guard !Fork.hasForked(since: forkGeneration) else {
                throw NightjarError(.forked, "this store request belongs to the parent process")
            }
            guard !hasResponse.exchange(true, ordering: .relaxed) else {
                throw NightjarError(.invalidArgument, "the store request already has a response")
            }
            submit(result)
            // The turn ends outside the lock, because its end may begin the next operation.
            let ended = turn.withLock { $0.take() }
            withExtendedLifetime(ended) {}
        }

        private func failure(_ reason: String) -> NightjarError {
            let verb =
                switch operation {
                case .load: "loading"
                case .save: "saving"
                case .delete: "deleting"
                }
            return NightjarError(.storage, "\(verb) the login in the token \(store) failed: \(reason)")
        }
    }
}
