/// Notifies observers of new comments. Used only on the server's event loop.
final class CommentFeed {
    private var observers: [Int: (Comment) -> Void] = [:]
    private var lastObserver = 0

    /// - Returns: the number for ``remove(_:)``.
    func add(_ observer: @escaping (Comment) -> Void) -> Int {
        lastObserver += 1
        observers[lastObserver] = observer
        return lastObserver
    }

    func remove(_ observer: Int) { observers[observer] = nil }

    func post(_ comment: Comment) {
        for observer in observers.values { observer(comment) }
    }
}
