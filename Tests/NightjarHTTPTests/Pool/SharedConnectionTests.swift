import Testing

@testable import NightjarHTTP

private final class Connection {}
private final class SharedConnection {}
private final class Caller {}
private typealias Pool = OriginPool<Connection, SharedConnection, Caller, Int>

/// Connections of HTTP/2, which many exchanges share.
@Suite struct SharedConnectionTests {
    private func ticket(_ acquired: Pool.Acquired) -> Pool.Ticket? {
        if case .connect(let ticket) = acquired { ticket } else { nil }
    }

    private func waits(_ acquired: Pool.Acquired) -> Bool {
        if case .wait = acquired { true } else { false }
    }

    private func shares(_ acquired: Pool.Acquired, _ connection: SharedConnection) -> Bool {
        if case .share(let shared) = acquired { shared === connection } else { false }
    }

    /// A pool with one shared connection that no exchange uses.
    private func pool(streams: Int, limit: Int = 4) -> (Pool, SharedConnection) {
        var pool = Pool(limit: limit, sharing: .possible)
        let connection = SharedConnection()
        _ = pool.acquire(Caller())
        _ = pool.connected(connection, streams: streams, now: 0)
        _ = pool.released(connection, now: 0)
        return (pool, connection)
    }

    @Test func oneConnectionIsOpenedWhileOthersWait() {
        var pool = Pool(limit: 4, sharing: .possible)
        #expect(ticket(pool.acquire(Caller())) != nil)
        for _ in 0..<5 { #expect(waits(pool.acquire(Caller()))) }
        #expect(pool.openCount == 1)
        let connection = SharedConnection()
        #expect(pool.connected(connection, streams: 100, now: 0).count == 6)
        #expect(pool.takeAttempt() == nil)
        #expect(shares(pool.acquire(Caller()), connection))
    }

    @Test func connectionsAreOpenedForAllIfTheyAreNotShared() {
        var pool = Pool(limit: 4, sharing: .possible)
        _ = pool.acquire(Caller())
        for _ in 0..<5 { _ = pool.acquire(Caller()) }
        guard case .assign = pool.connected() else {
            Issue.record("expected a waiter")
            return
        }
        var attempts = 0
        while pool.takeAttempt() != nil { attempts += 1 }
        #expect(attempts == 3 && pool.openCount == 4 && pool.waitingCount == 5)
    }

    @Test func ticketHasAWaiterWhileItWaits() throws {
        var pool = Pool(limit: 1, sharing: .possible)
        let caller = Caller()
        let place = try #require(ticket(pool.acquire(caller)))
        #expect(pool.waiter(of: place) === caller)
        pool.cancel(place)
        #expect(pool.waiter(of: place) == nil)
    }

    @Test func anotherConnectionIsOpenedWhenTheStreamLimitIsReached() {
        var (pool, first) = pool(streams: 2, limit: 2)
        #expect(shares(pool.acquire(Caller()), first) && shares(pool.acquire(Caller()), first))
        #expect(ticket(pool.acquire(Caller())) != nil)
        let second = SharedConnection()
        #expect(pool.connected(second, streams: 2, now: 1).count == 1)
        #expect(shares(pool.acquire(Caller()), second))
        // Both are full, and the limit of connections is reached.
        #expect(waits(pool.acquire(Caller())))
        #expect(pool.released(first, now: 2) != nil)
        #expect(pool.released(first, now: 3) == nil)
        #expect(shares(pool.acquire(Caller()), first))
    }

    @Test func changesOfTheLimitApply() {
        var (pool, connection) = pool(streams: 1, limit: 1)
        #expect(shares(pool.acquire(Caller()), connection))
        #expect(waits(pool.acquire(Caller())) && waits(pool.acquire(Caller())))
        #expect(pool.setLimit(of: connection, streams: 2).count == 1)
        // A lower limit is reached as exchanges end.
        #expect(pool.setLimit(of: connection, streams: 1).isEmpty)
        #expect(pool.released(connection, now: 1) == nil)
        #expect(pool.released(connection, now: 1) != nil)
        #expect(pool.setLimit(of: connection, streams: 0).isEmpty)
    }

    @Test func drainedConnectionGetsNoExchange() {
        var (pool, old) = pool(streams: 10)
        #expect(shares(pool.acquire(Caller()), old))
        #expect(pool.remove(old) == nil && pool.openCount == 0)
        #expect(ticket(pool.acquire(Caller())) != nil)
        // The end of the last exchange closes the connection.
        #expect(pool.remove(old) == nil && pool.openCount == 1)
    }

    @Test func lostConnectionIsReplacedForWaiters() {
        var (pool, connection) = pool(streams: 1, limit: 1)
        _ = pool.acquire(Caller())
        #expect(waits(pool.acquire(Caller())))
        #expect(pool.remove(connection) != nil)
        #expect(pool.openCount == 1)
    }

    @Test func idleConnectionExpires() {
        var (pool, connection) = pool(streams: 1)
        #expect(pool.oldestIdleShared == 0)
        #expect(shares(pool.acquire(Caller()), connection))
        #expect(pool.oldestIdleShared == nil && pool.expireShared(idleSince: 9).isEmpty)
        _ = pool.released(connection, now: 5)
        #expect(pool.expireShared(idleSince: 4).isEmpty)
        #expect(pool.expireShared(idleSince: 5).first === connection)
        #expect(pool.isUnused)
    }

    @Test func suspectConnectionIsUsedAfterItsConfirmation() {
        var (pool, connection) = pool(streams: 2, limit: 1)
        pool.distrustShared()
        #expect(waits(pool.acquire(Caller())))
        #expect(pool.confirmShared(connection).count == 1)
        #expect(shares(pool.acquire(Caller()), connection))
    }

    @Test func connectionIsSuspectAfterALongIdleTime() {
        var (pool, connection) = pool(streams: 2, limit: 1)
        #expect(shares(pool.acquire(Caller()), connection))
        #expect(pool.distrustShared(idleSince: 100).isEmpty)
        _ = pool.released(connection, now: 5)
        #expect(pool.distrustShared(idleSince: 4).isEmpty)
        #expect(pool.distrustShared(idleSince: 5).first === connection)
        #expect(pool.distrustShared(idleSince: 5).isEmpty)
        #expect(waits(pool.acquire(Caller())))
        #expect(pool.confirmShared(connection).count == 1)
    }

    @Test func failureConcernsAllThatWait() {
        var pool = Pool(limit: 4, sharing: .always)
        let first = ticket(pool.acquire(Caller()))
        let other = Caller()
        _ = pool.acquire(other)
        _ = pool.acquire(Caller())
        #expect(pool.removeWaiters { $0 !== other }.count == 2)
        guard let first else { return }
        let (failed, next) = pool.connectFailed(for: first)
        #expect(failed == nil && next?.waiter === other)
        #expect(pool.waitingCount == 1 && pool.openCount == 1)
    }
}
