import Glibc

/// A condition that did not come true in time.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}

/// Waits until `condition` holds, looking every few milliseconds; for tests that must not sleep blindly.
///
/// This one blocks its thread. Where the condition depends on tasks of Swift's pool, use the asynchronous one.
///
/// - Parameter what: completes the sentence "it never happened that ...".
@_disfavoredOverload  // so that an asynchronous caller with a plain closure gets the one below
public func eventually(
    _ what: String, within limit: Duration = .seconds(5), _ condition: () throws -> Bool
) throws {
    let end = ContinuousClock.now + limit
    while try !condition() {
        guard ContinuousClock.now < end else { throw NeverHappened(what, limit) }
        usleep(2000)
    }
}

/// Waits until `condition` holds, looking every few milliseconds, without blocking the thread.
nonisolated(nonsending) public func eventually(
    _ what: String, within limit: Duration = .seconds(5), _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    // Tests that block starve Swift's pool: time alone may pass without anyone having had a turn.
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
