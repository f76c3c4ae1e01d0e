import Glibc

/// A condition that did not become true in time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}

/// Waits until `condition` is true, polling every few milliseconds, for tests that must not sleep blindly.
///
/// This variant blocks its thread. If the condition depends on Swift tasks, use the asynchronous variant.
///
/// - Parameter what: Completes the sentence "it never happened that ...".
@_disfavoredOverload  // an asynchronous caller with a plain closure then uses the overload below
public func eventually(
    _ what: String, within limit: Duration = .seconds(5), _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened(what, limit) }
        usleep(2000)
    }
}

/// Waits until `condition` is true, polling every few milliseconds, without blocking the thread.
nonisolated(nonsending) public func eventually(
    _ what: String, within limit: Duration = .seconds(5), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    // Blocking tests can starve Swift's thread pool, so a minimum number of polls is required besides the time.
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
