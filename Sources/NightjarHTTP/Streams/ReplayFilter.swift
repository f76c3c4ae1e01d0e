import NIOCore

/// Finds the events at the beginning of a connection that an earlier connection of the stream has already delivered.
///
/// A server should continue after the event whose id the client sends, but may send some of the events before it again.
/// Events are compared by id, type and data, because ids need not be unique. At the start of a connection, the filter
/// looks up the latest delivered event that equals the first event. It drops events as long as they equal the delivered
/// events from there on. Events without an id of their own are never dropped.
package struct ReplayFilter: Sendable {
    /// The hashes of the latest events with an id of their own: a ring that is allocated as a whole, so that the memory
    /// of a long stream does not grow.
    private var hashes: [Int] = []
    /// The number of events that were recorded. The event with the number `n`, from 0, is at `n % capacity`.
    private var count = 0
    /// The number of the event that must come next. Nil: events are new.
    private var expected: Int?
    /// Whether the connection has not yet sent an event.
    private var isAtStart = false

    package init() {}

    /// Whether the next event may be one that was already delivered.
    package var mayReplay: Bool { isAtStart || expected.map { $0 < count } ?? false }

    package mutating func connected() {
        isAtStart = count > 0
        expected = nil
    }

    /// Returns whether the event is new, and records it.
    package mutating func admits(_ event: ServerEvent) -> Bool {
        guard event.hasOwnID else { return true }
        let hash = ReplayFilter.hash(event)
        if isAtStart {
            isAtStart = false
            expected = (max(count - ReplayFilter.capacity, 0)..<count).last { self[$0] == hash }
        }
        if let number = expected, number < count, self[number] == hash {
            expected = number + 1
            return false
        }
        expected = nil
        record(hash)
        return true
    }

    private subscript(number: Int) -> Int { hashes[number % ReplayFilter.capacity] }

    private mutating func record(_ hash: Int) {
        if hashes.isEmpty { hashes = Array(repeating: 0, count: ReplayFilter.capacity) }
        hashes[count % ReplayFilter.capacity] = hash
        count += 1
    }

    private static func hash(_ event: ServerEvent) -> Int {
        var hasher = Hasher()
        for part in [event.rawID, event.rawType, event.bytes] {
            hasher.combine(part.readableBytes)
            part.withUnsafeReadableBytes { hasher.combine(bytes: $0) }
        }
        return hasher.finalize()
    }

    /// The number of events by which a server may begin too early.
    package static let capacity = 512
}
