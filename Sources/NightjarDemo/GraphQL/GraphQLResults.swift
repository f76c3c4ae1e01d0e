import NIOCore

/// The results of a running operation, in order. A query or mutation has one result.
///
/// Used only on the server's event loop. ``end()`` must be called.
final class GraphQLResults {
    enum Step {
        case next(JSON)
        /// The operation has ended with a list of errors.
        case failed(JSON)
        case complete
        /// The next step is due after this time.
        case wait(TimeAmount)
        /// The next step is due when ``onEvent`` is called.
        case idle
    }

    /// The maximum number of comments that wait for the client.
    private static let maximumQueue = 1000

    /// The number of results without a delay after which other connections can proceed.
    private static let burst = 64

    /// Called when an event has arrived.
    var onEvent: (() -> Void)?

    private var executor: GraphQL.Executor
    private let store: Store
    private let ledger: Ledger
    /// Nil for a query or mutation.
    private var subscription: ArticleSubscription?
    private var observer: Int?
    private var comments: [Comment] = []
    private var isTooSlow = false
    private var isSingleDone = false
    /// False while the next number of a countdown waits.
    private var isDue = true
    private var isActive: Bool

    /// - Throws: the failures of a request that is not executed.
    init(_ executor: GraphQL.Executor, _ store: Store, _ ledger: Ledger) throws(GraphQL.Executor.Failures) {
        (self.executor, self.store, self.ledger) = (executor, store, ledger)
        isActive = executor.kind == .subscription
        guard isActive else { return }
        let field = try executor.subscribedField()
        do throws(GraphQL.Failure) {
            subscription = try ArticleSubscription(field.name, field.arguments, store)
        } catch {
            throw GraphQL.Executor.Failures(all: [error])
        }
        ledger.note { $0.graphQLSubscriptions += 1 }
        if case .comments(let article)? = subscription {
            observer = store.commentFeed.add { [weak self] comment in
                if article == nil || article == comment.articleID { self?.received(comment) }
            }
        }
    }

    /// Ends the operation. Can be called repeatedly.
    func end() {
        onEvent = nil
        if let observer = observer.take() { store.commentFeed.remove(observer) }
        guard isActive else { return }
        isActive = false
        ledger.note { $0.graphQLSubscriptions -= 1 }
    }

    private func received(_ comment: Comment) {
        if comments.count < GraphQLResults.maximumQueue { comments.append(comment) } else { isTooSlow = true }
        onEvent?()
    }

    func step() -> Step {
        switch subscription {
        case nil:
            guard !isSingleDone else { return .complete }
            isSingleDone = true
            return .next(executor.execute(store))
        case .comments?:
            guard !isTooSlow else { return failure("the client does not read fast enough", "TOO_SLOW") }
            return comments.isEmpty ? .idle : .next(executor.execute(comments.removeFirst()))
        case .countdown(let number, let delay)?:
            guard number >= 0 else { return .complete }
            guard isDue else {
                isDue = true
                return .wait(max(delay, .nanoseconds(1)))
            }
            subscription = .countdown(next: number - 1, delay: delay)
            isDue = number == 0 || (delay == .zero && number % GraphQLResults.burst != 0)
            return .next(executor.execute(number))
        case .failing(let count, let limit)?:
            guard count < limit else { return failure("the subscription has failed", "SUBSCRIPTION_FAILED") }
            guard isDue else {
                isDue = true
                return .wait(.nanoseconds(1))
            }
            subscription = .failing(count: count + 1, after: limit)
            isDue = (count + 1) % GraphQLResults.burst != 0
            return .next(executor.execute(count + 1))
        }
    }

    private func failure(_ message: String, _ code: String) -> Step {
        .failed(GraphQL.Executor.Failures(all: [.init(message: message, code: code)]).json)
    }
}
