import Testing

@testable import NightjarHTTP

@Suite struct TokenRefreshTests {
    typealias Action = TokenRefresh.Action

    /// Returns the moment `seconds` after the start of the test.
    static func at(_ seconds: Int64) throws -> TokenRefresh.Moment {
        TokenRefresh.Moment(
            wall: try #require(Timestamp(secondsSince1970: 1_800_000_000 + seconds)),
            steady: UInt64(seconds) * 1_000_000_000)
    }

    static func expiry(_ seconds: Int64) throws -> Timestamp { try at(seconds).wall }

    static func loggedIn(expiry: Int64? = nil, canRefresh: Bool = true) throws -> TokenRefresh {
        var machine = TokenRefresh()
        let end = try expiry.map { try self.expiry($0) }
        #expect(machine.loggedIn(expiry: end, canRefresh: canRefresh, at: try at(0)).isEmpty)
        return machine
    }

    static func started(_ actions: [Action]) throws -> TokenRefresh.Refresh {
        let refreshes = actions.compactMap { if case .startRefresh(let refresh) = $0 { refresh } else { nil } }
        #expect(refreshes.count == 1)
        return try #require(refreshes.first)
    }

    @Test func thousandRejectedCallsShareOneRefreshAndAreReplayedInOrder() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        for call in 1...1000 as ClosedRange<UInt64> {
            #expect(machine.requestToken(call, at: now) == [.attach(call, 1)])
        }
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        for call in 2...1000 as ClosedRange<UInt64> {
            #expect(machine.refused(call, sentWith: 1, at: now) == [.wait(call)])
        }
        let actions = machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now)
        #expect(actions == (1...1000).map { .replay($0, 2) })
        #expect(machine.waiterCount == 0 && !machine.isRefreshing)
    }

    @Test func expiringTokenIsRefreshedBeforeSending() throws {
        var machine = try Self.loggedIn(expiry: 600)
        #expect(machine.requestToken(1, at: try Self.at(569)) == [.attach(1, 1)])
        let actions = machine.requestToken(2, at: try Self.at(570))
        #expect(actions.first == .wait(2))
        let refresh = try Self.started(actions)
        #expect(machine.requestToken(3, at: try Self.at(571)) == [.wait(3)])
        let end = try Self.expiry(1171)
        #expect(
            machine.succeeded(refresh, expiry: end, canRefresh: true, at: try Self.at(571))
                == [.attach(2, 2), .attach(3, 2)])
    }

    @Test func zeroTimeoutIsUnlimited() throws {
        var settings = TokenRefresh.Settings()
        settings.timeout = .zero
        var machine = TokenRefresh(settings)
        #expect(machine.loggedIn(expiry: nil, canRefresh: true, at: try Self.at(0)).isEmpty)
        _ = try Self.started(machine.refused(1, sentWith: 1, at: try Self.at(1)))
        #expect(machine.timerFired(at: try Self.at(100_000)).isEmpty)
        #expect(machine.isRefreshing)
    }

    @Test func tokenWithALifetimeBelowTheSkewIsUsed() throws {
        var machine = try Self.loggedIn(expiry: 20)
        #expect(machine.requestToken(1, at: try Self.at(14)) == [.attach(1, 1)])
        _ = try Self.started(machine.requestToken(2, at: try Self.at(15)))
    }

    @Test func callWithAnOlderTokenIsReplayedWithoutARefresh() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        _ = machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now)
        #expect(machine.refused(2, sentWith: 1, at: now) == [.replay(2, 2)])
    }

    @Test func callIsReplayedOnce() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        _ = machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now)
        #expect(machine.refused(1, sentWith: 2, at: now) == [.fail(1, .unauthorized)])
        #expect(!machine.isRefreshing)
        machine.ended(1)
        _ = try Self.started(machine.refused(1, sentWith: 2, at: now))
    }

    /// A WebSocket was opened with the token, and closed because of it.
    @Test func tokenThatIsRejectedAfterItsCallIsRefreshedBeforeTheNextCall() throws {
        var machine = try Self.loggedIn()
        #expect(machine.requestToken(1, at: try Self.at(0)) == [.attach(1, 1)])
        machine.ended(1)
        let refresh = try Self.started(machine.rejected(1, at: try Self.at(1)))
        // A second connection with the same token.
        #expect(machine.rejected(1, at: try Self.at(1)).isEmpty)
        #expect(machine.requestToken(2, at: try Self.at(1)) == [.wait(2)])
        #expect(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: try Self.at(2)) == [.attach(2, 2)])
        #expect(machine.rejected(1, at: try Self.at(3)).isEmpty)
    }

    @Test func rejectedTokenThatCannotBeRefreshedNeedsALogin() throws {
        var machine = try Self.loggedIn(canRefresh: false)
        #expect(machine.rejected(1, at: try Self.at(1)) == [.clear, .callLoginRequired])
        #expect(machine.rejected(1, at: try Self.at(2)).isEmpty)
    }

    @Test func invalidGrantClearsTheLoginAndRequestsOneNewLogin() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        #expect(machine.refused(2, sentWith: 1, at: now) == [.wait(2)])
        #expect(
            machine.failed(refresh, .invalidGrant)
                == [.clear, .fail(1, .loginRequired), .fail(2, .loginRequired), .callLoginRequired])
        #expect(machine.failed(refresh, .invalidGrant).isEmpty)
        #expect(machine.refused(3, sentWith: 1, at: now) == [.fail(3, .loginRequired)])
        #expect(machine.requestToken(4, at: now) == [.fail(4, .loginRequired)])
        #expect(machine.loggedIn(expiry: nil, canRefresh: true, at: now).isEmpty)
        #expect(machine.requestToken(5, at: now) == [.attach(5, 2)])
        #expect(machine.refused(6, sentWith: 1, at: now) == [.replay(6, 2)])
    }

    @Test(arguments: [TokenRefresh.Failure.network, .refused, .rateLimited, .serverFailed, .providerFailed, .timedOut])
    func otherFailureKeepsTheLoginButDiscardsTheToken(failure: TokenRefresh.Failure) throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        #expect(machine.failed(refresh, failure) == [.fail(1, .refreshFailed(failure))])
        // The rejection of a request that was sent before the failure causes neither a replay nor another refresh.
        #expect(machine.refused(2, sentWith: 1, at: now) == [.fail(2, .refreshFailed(failure))])
        // A new call does not use the old token.
        let second = try Self.started(machine.requestToken(3, at: now))
        #expect(second != refresh)
        #expect(machine.succeeded(second, expiry: nil, canRefresh: true, at: now) == [.attach(3, 2)])
    }

    @Test func cancelledWaiterDoesNotCancelTheRefresh() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        _ = machine.refused(2, sentWith: 1, at: now)
        machine.ended(1)
        #expect(machine.isRefreshing && machine.waiterCount == 1)
        machine.ended(2)
        #expect(machine.isRefreshing && machine.waiterCount == 0)
        #expect(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now).isEmpty)
        #expect(machine.version == 2)
    }

    @Test func refreshHasItsOwnTimeoutAndMayCompleteLater() throws {
        var machine = try Self.loggedIn()
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: try Self.at(1)))
        #expect(machine.deadline == 31_000_000_000)
        #expect(machine.timerFired(at: try Self.at(30)).isEmpty)
        #expect(machine.timerFired(at: try Self.at(31)) == [.fail(1, .refreshFailed(.timedOut))])
        #expect(machine.timerFired(at: try Self.at(32)).isEmpty)
        let second = try Self.started(machine.requestToken(2, at: try Self.at(33)))
        // The late result of the first refresh is used, because the server has already consumed the refresh token.
        #expect(
            machine.succeeded(refresh, expiry: nil, canRefresh: true, at: try Self.at(34)) == [.attach(2, 2)])
        #expect(machine.failed(second, .invalidGrant).isEmpty)
        #expect(machine.requestToken(3, at: try Self.at(35)) == [.attach(3, 2)])
    }

    @Test func moreThanFiveRefreshesInThirtySecondsAreAnError() throws {
        var machine = try Self.loggedIn()
        for call in 0..<5 as Range<UInt64> {
            let now = try Self.at(Int64(call))
            let refresh = try Self.started(machine.refused(call, sentWith: call + 1, at: now))
            _ = machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now)
        }
        let reason = TokenRefresh.Reason.tooManyRefreshes(retryAfter: .seconds(20))
        #expect(
            machine.refused(10, sentWith: 6, at: try Self.at(10)) == [.wait(10), .fail(10, reason)])
        #expect(reason.error.message.contains("too many token refreshes"))
        #expect(reason.error.retryAfter == .seconds(20))
        _ = try Self.started(machine.requestToken(11, at: try Self.at(30)))
    }

    @Test func loginDuringARefreshDiscardsItsResult() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        #expect(machine.loggedIn(expiry: nil, canRefresh: true, at: now) == [.replay(1, 2)])
        #expect(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now).isEmpty)
        #expect(machine.failed(refresh, .invalidGrant).isEmpty)
        #expect(machine.version == 2)
    }

    @Test func logoutDuringARefreshFailsTheWaitersAndDiscardsTheToken() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(1, sentWith: 1, at: now))
        #expect(machine.loggedOut() == [.clear, .fail(1, .loginRequired)])
        #expect(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now).isEmpty)
        #expect(machine.version == nil)
    }

    @Test func tokenWithoutRefreshIsUsedUntilItIsRejected() throws {
        var machine = try Self.loggedIn(expiry: 10, canRefresh: false)
        #expect(machine.requestToken(1, at: try Self.at(20)) == [.attach(1, 1)])
        #expect(
            machine.refused(1, sentWith: 1, at: try Self.at(20))
                == [.wait(1), .clear, .fail(1, .loginRequired), .callLoginRequired])
    }

    @Test func rejectedTokenWithoutRefreshIsLookedUpInTheStore() throws {
        var machine = TokenRefresh(isShared: true)
        _ = machine.loggedIn(expiry: try Self.expiry(10), canRefresh: false, at: try Self.at(0))
        #expect(machine.requestToken(1, at: try Self.at(20)) == [.attach(1, 1)])
        let look = try Self.started(machine.refused(1, sentWith: 1, at: try Self.at(20)))
        let actions = machine.succeeded(
            look, expiry: nil, canRefresh: false, wasExchanged: false, at: try Self.at(20))
        #expect(actions == [.replay(1, 2)])
        let second = try Self.started(machine.refused(2, sentWith: 2, at: try Self.at(21)))
        #expect(
            machine.failed(second, .invalidGrant, wasExchanged: false)
                == [.clear, .fail(2, .loginRequired), .callLoginRequired])
    }

    @Test func storeLookupIsNotCountedAsARefresh() throws {
        var machine = TokenRefresh(isShared: true)
        for call in 0..<20 as Range<UInt64> {
            _ = machine.loggedIn(expiry: try Self.expiry(0), canRefresh: true, at: try Self.at(1))
            let look = try Self.started(machine.requestToken(call, at: try Self.at(1)))
            #expect(machine.failed(look, .invalidGrant, wasExchanged: false).contains(.fail(call, .loginRequired)))
        }
    }

    @Test func shortLivedTokensDoNotExceedTheRefreshLimit() throws {
        var machine = try Self.loggedIn(expiry: 4)
        for call in 0..<5 as Range<UInt64> {
            let now = try Self.at(4 * Int64(call + 1))
            let refresh = try Self.started(machine.requestToken(call, at: now))
            let end = try Self.expiry(4 * Int64(call + 2))
            _ = machine.succeeded(refresh, expiry: end, canRefresh: true, at: now)
        }
        // At the limit, the existing token is attached. The server rejects the token if it is invalid.
        #expect(machine.requestToken(6, at: try Self.at(24)) == [.attach(6, 6)])
        let reason = TokenRefresh.Reason.tooManyRefreshes(retryAfter: .seconds(10))
        #expect(machine.refused(6, sentWith: 6, at: try Self.at(24)) == [.wait(6), .fail(6, reason)])
        _ = try Self.started(machine.requestToken(7, at: try Self.at(34)))
    }

    /// The caller may report the result of a refresh before it has performed the remaining actions.
    @Test func refreshMayCompleteImmediately() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        var done: [Action] = []
        func perform(_ actions: [Action]) {
            for action in actions {
                done.append(action)
                guard case .startRefresh(let refresh) = action else { continue }
                perform(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now))
            }
        }
        perform(machine.refused(1, sentWith: 1, at: now))
        #expect(done.count == 3)
        #expect(done.first == .wait(1) && done.last == .replay(1, 2))
    }

    @Test func cancelledWaitersAreRemoved() throws {
        var machine = try Self.loggedIn()
        let now = try Self.at(1)
        let refresh = try Self.started(machine.refused(0, sentWith: 1, at: now))
        for call in 1...10_000 as ClosedRange<UInt64> {
            #expect(machine.requestToken(call, at: now) == [.wait(call)])
            machine.ended(call)
        }
        #expect(machine.waiterCount == 1)
        #expect(machine.succeeded(refresh, expiry: nil, canRefresh: true, at: now) == [.replay(0, 2)])
    }
}
