import Glibc

/// A condition that did not become true in time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}

/// Waits until `condition` is true, polling every few milliseconds.
///
/// This variant blocks its thread. If the condition depends on Swift tasks, use the asynchronous variant.
///
/// - Parameter what: Completes the sentence "it never happened that ...".
@_disfavoredOverload  // asynchronous callers use the overload below, even with a synchronous closure
public func eventually(
    _ what: String, within limit: Duration = .seconds(30), _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened(what, limit) }
        usleep(2000)
    }
}

/// Waits until `condition` is true, polling every few milliseconds, without blocking the thread.
nonisolated(nonsending) public func eventually(
    _ what: String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    // Blocking tests can starve Swift's thread pool, so the condition is checked at least 20 times.
    var looks = 0
    while try await !condition() {
        looks += 1
        guard ContinuousClock.now < end || looks < 20 else { throw NeverHappened(what, limit) }
        try await Task.sleep(for: .milliseconds(2))
    }
}

extension NeverHappened {
    init(_ what: String, _ limit: Duration) {
        description = "within \(limit) it never happened that \(what)"
    }
}
