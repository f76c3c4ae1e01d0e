import NightjarTestSupport
import Testing

@testable import NightjarHTTP

private final class FakeConnection {}
private final class Caller {}
private typealias Pool = OriginPool<FakeConnection, FakeConnection, Caller, Int>

@Suite struct OriginPoolTests {
    /// Connects for a caller and parks the connection.
    private func parked(_ pool: inout Pool, _ connection: FakeConnection, now: Int) {
        guard case .connect = pool.acquire(Caller()), case .assign = pool.connected() else {
            Issue.record("expected a new connection")
            return
        }
        guard case .park = pool.released() else {
            Issue.record("expected the connection to be parked")
            return
        }
        pool.park(connection, now: now)
    }

    @Test func mostRecentlyUsedConnectionIsReusedFirst() {
        var pool = Pool(limit: 4)
        let old = FakeConnection()
        let young = FakeConnection()
        guard case .connect = pool.acquire(Caller()), case .connect = pool.acquire(Caller()) else {
            Issue.record("expected two new connections")
            return
        }
        _ = pool.connected()
        _ = pool.connected()
        _ = pool.released()
        pool.park(old, now: 1)
        _ = pool.released()
        pool.park(young, now: 2)
        guard case .use(let used) = pool.acquire(Caller()) else {
            Issue.record("expected an idle connection")
            return
        }
        #expect(used === young)
    }

    /// A failed attempt must fail the caller for which it was made, and not always the first caller in the queue.
    @Test func connectionAttemptsAreForDifferentCallers() {
        var pool = Pool(limit: 2)
        let callers = (0..<5).map { _ in Caller() }
        for caller in callers { _ = pool.acquire(caller) }
        _ = pool.connected()  // for the first caller
        _ = pool.connected()  // for the second caller
        guard let third = pool.lost(), let fourth = pool.lost() else {
            Issue.record("expected two connection attempts")
            return
        }
        #expect(third.waiter === callers[2])
        #expect(fourth.waiter === callers[3])
        #expect(pool.connectFailed(for: third.ticket).failed === callers[2])
        #expect(pool.connectFailed(for: fourth.ticket).failed === callers[3])
    }

    @Test func callersBeyondTheLimitAreServedInOrder() {
        var pool = Pool(limit: 1)
        let callers = (0..<4).map { _ in Caller() }
        guard case .connect = pool.acquire(callers[0]) else {
            Issue.record("expected a new connection")
            return
        }
        for caller in callers.dropFirst() {
            guard case .wait = pool.acquire(caller) else {
                Issue.record("expected the caller to wait")
                return
            }
        }
        guard case .assign(let first) = pool.connected() else {
            Issue.record("expected the connection to be assigned")
            return
        }
        #expect(first === callers[0])
        for caller in callers.dropFirst() {
            guard case .assign(let next) = pool.released() else {
                Issue.record("expected the connection to be assigned")
                return
            }
            #expect(next === caller)
        }
        guard case .park = pool.released() else {
            Issue.record("expected the connection to be parked")
            return
        }
        #expect(pool.openCount == 1)
    }

    @Test func releasedConnectionServesACallerWaitingForANewOne() {
        var pool = Pool(limit: 2)
        let first = Caller()
        let second = Caller()
        _ = pool.acquire(first)
        _ = pool.connected()
        guard case .connect = pool.acquire(second) else {
            Issue.record("expected a second connection")
            return
        }
        guard case .assign(let served) = pool.released() else {
            Issue.record("expected the connection to be assigned")
            return
        }
        #expect(served === second)
        guard case .park = pool.connected() else {
            Issue.record("expected the new connection to be parked")
            return
        }
    }

    @Test func failedAttemptFailsOnlyItsCaller() {
        var pool = Pool(limit: 2)
        let first = Caller()
        let second = Caller()
        guard case .connect = pool.acquire(first), case .connect(let ticket) = pool.acquire(second) else {
            Issue.record("expected two new connections")
            return
        }
        let (failed, next) = pool.connectFailed(for: ticket)
        #expect(failed === second)
        #expect(next == nil)
        guard case .assign(let served) = pool.connected() else {
            Issue.record("expected the connection to be assigned")
            return
        }
        #expect(served === first)
    }

    @Test func failedAttemptStartsOneForTheNextCaller() {
        var pool = Pool(limit: 1)
        let first = Caller()
        let second = Caller()
        guard case .connect(let ticket) = pool.acquire(first), case .wait = pool.acquire(second) else {
            Issue.record("expected one new connection and one queued caller")
            return
        }
        let (failed, next) = pool.connectFailed(for: ticket)
        #expect(failed === first)
        #expect(next?.waiter === second)
        #expect(pool.connectingCount == 1)
    }

    @Test func attemptOfACancelledCallerServesOthers() {
        var pool = Pool(limit: 1)
        let second = Caller()
        guard case .connect(let ticket) = pool.acquire(Caller()), case .wait = pool.acquire(second) else {
            Issue.record("expected one new connection and one queued caller")
            return
        }
        pool.cancel(ticket)
        guard case .assign(let served) = pool.connected() else {
            Issue.record("expected the connection to be assigned")
            return
        }
        #expect(served === second)
    }

    @Test func cancellationPreservesTheQueueOrder() {
        var pool = Pool(limit: 1)
        _ = pool.acquire(Caller())
        _ = pool.connected()
        let callers = (0..<5).map { _ in Caller() }
        let tickets = callers.map { caller -> Pool.Ticket? in
            if case .wait(let ticket) = pool.acquire(caller) { ticket } else { nil }
        }
        for index in [1, 3, 1] { tickets[index].map { pool.cancel($0) } }
        #expect(pool.waitingCount == 3)
        for index in [0, 2, 4] {
            guard case .assign(let served) = pool.released() else {
                Issue.record("expected the connection to be assigned")
                return
            }
            #expect(served === callers[index])
        }
        #expect(pool.waitingCount == 0)
    }

    @Test func oldestConnectionsExpireFirst() {
        var pool = Pool(limit: 4)
        let connections = [FakeConnection(), FakeConnection(), FakeConnection()]
        for _ in connections { _ = pool.acquire(Caller()) }
        for _ in connections { _ = pool.connected() }
        for (moment, connection) in connections.enumerated() {
            _ = pool.released()
            pool.park(connection, now: moment)
        }
        #expect(pool.oldestIdle == 0)
        let expired = pool.expire(idleSince: 1)
        #expect(expired.map(ObjectIdentifier.init) == connections.prefix(2).map(ObjectIdentifier.init))
        #expect(pool.openCount == 1)
        #expect(pool.oldestIdle == 2)
    }

    @Test func lostConnectionFreesASlotForTheQueue() {
        var pool = Pool(limit: 1)
        let waiter = Caller()
        _ = pool.acquire(Caller())
        _ = pool.connected()
        _ = pool.acquire(waiter)
        let attempt = pool.lost()
        #expect(attempt?.waiter === waiter)
        #expect(pool.openCount == 1)
    }

    @Test func freshConnectionIgnoresIdleOnes() {
        var pool = Pool(limit: 2)
        parked(&pool, FakeConnection(), now: 0)
        guard case .connect = pool.acquire(Caller(), fresh: true) else {
            Issue.record("expected a new connection")
            return
        }
    }

    @Test func freshConnectionReplacesAnIdleOneAtTheLimit() {
        var pool = Pool(limit: 1)
        let stale = FakeConnection()
        parked(&pool, stale, now: 0)
        let caller = Caller()
        guard case .wait = pool.acquire(caller, fresh: true) else {
            Issue.record("expected the caller to wait")
            return
        }
        let replaced = pool.replaceOldestIdle()
        #expect(replaced?.0 === stale)
        #expect(replaced?.1?.waiter === caller)
        #expect(pool.openCount == 1)
    }

    /// Checks the invariants with random events.
    @Test func countsHoldForAnyOrderOfEvents() {
        var random = SeededRandom(seed: 1)
        var pool = Pool(limit: 3)
        var busy = 0
        var attempts: [Pool.Ticket] = []
        var tickets: [Pool.Ticket] = []
        var parked: [FakeConnection] = []
        for step in 0..<20_000 {
            switch random.next() % 7 {
            case 0, 1:
                switch pool.acquire(Caller()) {
                case .use(let connection):
                    let youngest = parked.popLast()
                    #expect(connection === youngest)
                    busy += 1
                case .connect(let ticket):
                    attempts.append(ticket)
                    tickets.append(ticket)
                case .wait(let ticket): tickets.append(ticket)
                case .share: Issue.record("no connection is shared")
                }
            case 2 where !attempts.isEmpty:
                attempts.removeFirst()
                settle(pool.connected())
            case 3 where !attempts.isEmpty:
                if let next = pool.connectFailed(for: attempts.removeFirst()).next { attempts.append(next.ticket) }
            case 4 where busy > 0:
                busy -= 1
                settle(pool.released())
            case 5 where busy > 0:
                busy -= 1
                if let next = pool.lost() { attempts.append(next.ticket) }
            case 6 where !tickets.isEmpty:
                pool.cancel(tickets.removeFirst())
            default: break
            }
            #expect(pool.openCount == busy + parked.count + attempts.count)
            #expect(pool.openCount <= 3)
            #expect(pool.connectingCount == attempts.count)
            if pool.waitingCount > 0 {
                #expect(pool.openCount == 3 || attempts.count >= pool.waitingCount, "a caller waits without a reason")
                #expect(parked.isEmpty)
            }
            func settle(_ placed: Pool.Placed) {
                switch placed {
                case .assign: busy += 1
                case .park:
                    let connection = FakeConnection()
                    pool.park(connection, now: step)
                    parked.append(connection)
                }
            }
        }
    }

    // MARK: Confirmation after a change of the network

    @Test func unconfirmedConnectionIsNotUsed() {
        var pool = Pool(limit: 4)
        let (old, young) = (FakeConnection(), FakeConnection())
        parked(&pool, old, now: 1)
        guard case .use = pool.acquire(Caller()) else {
            Issue.record("expected the idle connection")
            return
        }
        parked(&pool, young, now: 2)
        _ = pool.released()
        pool.park(old, now: 3)
        pool.distrustIdle()
        #expect(pool.hasUnconfirmed)
        #expect(pool.unconfirmedConnections.map(ObjectIdentifier.init) == [young, old].map(ObjectIdentifier.init))
        #expect(pool.oldestIdle == 2)
        guard case .connect = pool.acquire(Caller()) else {
            Issue.record("expected a new connection")
            return
        }
        pool.confirm(young)
        #expect(pool.oldestIdle == 2)
        guard case .use(let used) = pool.acquire(Caller()) else {
            Issue.record("expected an idle connection")
            return
        }
        #expect(used === young)
        let wasIdle = pool.lostIdle(old)
        #expect(wasIdle)
        #expect(!pool.hasUnconfirmed)
        let isIdle = pool.lostIdle(old)
        #expect(!isIdle)
        #expect(pool.openCount == 2)
    }

    @Test func unconfirmedConnectionIsReplacedAtTheLimit() {
        var pool = Pool(limit: 1)
        let idle = FakeConnection()
        parked(&pool, idle, now: 1)
        pool.distrustIdle()
        guard case .wait = pool.acquire(Caller()) else {
            Issue.record("expected the limit")
            return
        }
        let replaced = pool.replaceOldestIdle()
        #expect(replaced?.0 === idle)
        #expect(replaced?.1 != nil)
        #expect(pool.openCount == 1)
    }

    @Test func unconfirmedConnectionExpires() {
        var pool = Pool(limit: 2)
        let idle = FakeConnection()
        parked(&pool, idle, now: 1)
        pool.distrustIdle()
        pool.distrustIdle()
        let expired = pool.expire(idleSince: 1)
        #expect(expired.count == 1)
        #expect(pool.isUnused)
    }
}
