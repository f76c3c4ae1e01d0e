import NightjarHTTP
import Synchronization

extension Request {
    /// Cancels the calls, transfers and streams of this request. Nil: only their tasks cancel them.
    public var canceller: Canceller? {
        get { cancellation as? Canceller }
        set { cancellation = newValue }
    }

    /// Cancels the calls of the requests that have it, also from another thread while a call blocks.
    ///
    ///     let canceller = Request.Canceller()
    ///     request.canceller = canceller
    ///     // On another thread:
    ///     canceller.cancel()
    ///
    /// After ``cancel()``, new calls of such a request end with `cancelled` at once. Any thread may use it.
    public final class Canceller: Sendable {
        private struct State {
            var isCancelled = false
            var work: [Weak] = []
            /// The number of elements at which elements whose work has ended are removed.
            var limit = 16
        }

        private struct Weak: Sendable {
            weak var work: (any Cancellable)?
        }

        private let state = Mutex(State())

        public init() {}

        public var isCancelled: Bool { state.withLock { $0.isCancelled } }

        /// Cancels the calls, transfers and streams in flight, and later ones. Has no effect after the first time.
        public func cancel() {
            let all = state.withLock { state in
                state.isCancelled = true
                defer { state.work = [] }
                return state.work
            }
            for each in all { each.work?.cancel() }
        }

        /// Cancels the work now if this object is cancelled, and otherwise together with it.
        func add(_ work: some Cancellable) {
            let isCancelled = state.withLock { state in
                guard !state.isCancelled else { return true }
                if state.work.count >= state.limit {
                    state.work.removeAll { $0.work == nil }
                    state.limit = max(16, 2 * state.work.count)
                }
                state.work.append(Weak(work: work))
                return false
            }
            if isCancelled { work.cancel() }
        }
    }
}
