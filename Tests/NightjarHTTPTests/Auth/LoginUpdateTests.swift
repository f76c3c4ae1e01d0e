import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Event sequences of clients that share a credential store: what a client loads, and which versions it replaces.
@Suite struct LoginUpdateTests {
    private static let oauth = LoginUpdate.Capabilities(refreshes: true, logsInByItself: false)
    private static let itself = LoginUpdate.Capabilities(refreshes: true, logsInByItself: true)
    private let alice = Token(access: "a0", refresh: "ra0", lineage: 1)
    private let bob = Token(access: "b0", refresh: "rb0", lineage: 2)
    private let now = Timestamp.epoch

    private func stored(_ token: Token, _ generation: UInt64, pending: String? = nil) -> StoredLogin {
        StoredLogin(
            token: token, generation: generation, pending: pending.map { PendingExchange(key: $0, began: now) })
    }

    private func update(
        _ purpose: LoginUpdate.Purpose = .refresh, held: Token?, configured: Token? = nil, seen: KnownLogin = .unknown,
        _ capabilities: LoginUpdate.Capabilities = oauth
    ) -> LoginUpdate {
        LoginUpdate(
            purpose, held: held, configured: configured.map { ConfiguredToken(token: $0, identity: 7) }, seen: seen,
            capabilities)
    }

    /// Returns the result of a refresh of alice's token that could not be saved.
    private func unsavedRefresh() throws -> UnsavedLogin {
        var random = SeededRandom(seed: 1)
        var first = update(held: alice)
        #expect(first.begin(unsaved: nil) == .load)
        #expect(first.loaded(stored(alice, 5), at: now, using: &random) == .lock)
        #expect(first.locked() == .load)
        guard case .save(let intent, let version, false) = first.loaded(stored(alice, 5), at: now, using: &random)
        else {
            throw NightjarError(.script, "no intent")
        }
        #expect(version == LoginVersion(lineage: 1, generation: 5))
        #expect(intent.version == LoginVersion(lineage: 1, generation: 6) && intent.pending != nil)
        #expect(first.saved(at: now, using: &random) == .exchange(alice, key: intent.pending?.key))
        let new = LoginUpdate.Result.token(Token(access: "a1", refresh: "ra1"))
        guard case .save(let login, intent.version, true) = first.exchanged(new, at: now, using: &random) else {
            throw NightjarError(.script, "no save")
        }
        #expect(login.version == LoginVersion(lineage: 1, generation: 7))
        guard case .end(.unsaved(let unsaved)) = first.saveFailed() else { throw NightjarError(.script, "no end") }
        return unsaved
    }

    // MARK: Old and new logins

    /// If the store and its generation counter are deleted, a login and its tombstone can have the same generation.
    @Test func tombstoneOfTheSameGenerationIsNotALogin() {
        let tombstone = StoredLogin(.loggedOut, lineage: 1, generation: 1)
        let login = stored(alice, 1)
        #expect(tombstone.version != login.version)
        #expect(!stored(alice, 2).mayReplace(tombstone, of: login.version))
    }

    /// The identity prevents another client from redeeming the configured token again.
    @Test func unsavedConfiguredTokenKeepsItsIdentity() throws {
        var random = SeededRandom(seed: 9)
        var first = update(held: nil, configured: alice)
        #expect(first.begin(unsaved: nil) == .load)
        #expect(first.loaded(nil, at: now, using: &random) == .lock)
        #expect(first.locked() == .load)
        guard case .save(let login, nil, true) = first.loaded(nil, at: now, using: &random) else {
            throw NightjarError(.script, "no save")
        }
        #expect(login.configured == 7)
        guard case .end(.unsaved(let unsaved)) = first.saveFailed() else { throw NightjarError(.script, "no end") }
        var next = update(held: unsaved.token, configured: alice)
        #expect(next.begin(unsaved: unsaved) == .load)
        #expect(next.loaded(nil, at: now, using: &random) == .lock)
        #expect(next.locked() == .load)
        guard case .save(let intent, nil, false) = next.loaded(nil, at: now, using: &random) else {
            throw NightjarError(.script, "no intent")
        }
        #expect(intent.configured == 7)
    }

    /// A logout that could not be saved ends both the stored login and the client's own login.
    @Test func failedLogoutEndsTheLoginOfTheClient() throws {
        var random = SeededRandom(seed: 10)
        var session = TokenSession(configured: nil, Self.oauth)
        _ = session.setToken(Token(access: "b0", refresh: "rb0"), using: &random)
        let own = try #require(session.token)
        var logout = session.logOut()
        #expect(session.begin(&logout, since: session.changes) == .load)
        guard case .save = logout.loaded(stored(alice, 3), at: now, using: &random),
            case .end(let outcome) = logout.saveFailed()
        else { throw NightjarError(.script, "no end") }
        let isWanted = session.completed(logout, outcome, since: session.changes)
        #expect(isWanted)
        for login in [stored(alice, 3), stored(own, 4)] {
            var look = session.update()
            #expect(session.begin(&look, since: session.changes) == .load)
            guard case .save(let tombstone, login.version, true) = look.loaded(login, at: now, using: &random) else {
                Issue.record("the login \(login) is treated as a new login")
                continue
            }
            #expect(tombstone.ending == .loggedOut && tombstone.lineage == login.lineage)
        }
    }

    @Test func olderLoginDoesNotReplaceANewerOne() throws {
        var random = SeededRandom(seed: 2)
        let unsaved = try unsavedRefresh()
        var next = update(held: unsaved.token)
        #expect(next.begin(unsaved: unsaved) == .load)
        #expect(next.loaded(stored(bob, 8), at: now, using: &random) == .end(.adopted(bob)))
    }

    @Test func olderLoginIsNotRestoredAfterALogout() throws {
        var random = SeededRandom(seed: 2)
        let unsaved = try unsavedRefresh()
        for ending in [StoredLogin.Ending.loggedOut, .refused] {
            var next = update(held: unsaved.token)
            #expect(next.begin(unsaved: unsaved) == .load)
            var action = next.loaded(StoredLogin(ending, lineage: 1, generation: 7), at: now, using: &random)
            if action == .lock {
                #expect(next.locked() == .load)
                action = next.loaded(StoredLogin(ending, lineage: 1, generation: 7), at: now, using: &random)
            }
            #expect(action == .end(.ended))
        }
    }

    @Test func unsavedTokenIsUsedForTheNextRefresh() throws {
        var random = SeededRandom(seed: 2)
        let unsaved = try unsavedRefresh()
        // Another process has taken over the intent, and its refresh has also failed.
        let key = try #require({ if case .refresh(let key, _) = unsaved.origin { key } else { nil } }())
        let intent = stored(alice, 9, pending: key)
        var next = update(held: unsaved.token)
        #expect(next.begin(unsaved: unsaved) == .load)
        #expect(next.loaded(intent, at: now, using: &random) == .lock)
        #expect(next.locked() == .load)
        guard case .save(let login, intent.version, false) = next.loaded(intent, at: now, using: &random) else {
            Issue.record("the intent is not saved")
            return
        }
        #expect(login.token?.refresh == "ra1" && login.generation == 10 && login.pending?.key != key)
    }

    /// The store could not be read when bob's login was set, so bob's login must not replace the stored one.
    @Test func unsavedLoginDoesNotReplaceAnUnseenOne() throws {
        var random = SeededRandom(seed: 3)
        var keeping = update(.saveToken(bob), held: bob)
        #expect(keeping.begin(unsaved: nil) == .load)
        guard case .end(.unsaved(let unsaved)) = keeping.loadFailed() else {
            Issue.record("the login is not reported as unsaved")
            return
        }
        var next = update(held: bob)
        #expect(next.begin(unsaved: unsaved) == .load)
        // Bob's login is refreshed without the store, which keeps alice's login.
        guard case .exchange(bob, let key?) = next.loaded(stored(alice, 5), at: now, using: &random) else {
            Issue.record("the login is not refreshed")
            return
        }
        // After a lost response, the refresh is repeated with the same key.
        #expect(next.exchanged(.unknown(.network), at: now, using: &random) == .end(.failed(.network)))
        var again = update(held: bob)
        #expect(again.begin(unsaved: next.unsaved) == .load)
        #expect(again.loaded(stored(alice, 5), at: now, using: &random) == .exchange(bob, key: key))
        // An empty store accepts bob's login.
        var third = update(held: alice)
        #expect(third.begin(unsaved: unsaved) == .load)
        #expect(third.loaded(nil, at: now, using: &random) == .lock)
        #expect(third.locked() == .load)
        #expect(
            third.loaded(nil, at: now, using: &random)
                == .save(stored(bob, 1), replacing: nil, isCritical: true))
    }

    @Test func loginDuringAnExchangeIsPreserved() throws {
        var random = SeededRandom(seed: 4)
        var first = update(held: alice)
        _ = first.begin(unsaved: nil)
        _ = first.loaded(stored(alice, 5), at: now, using: &random)
        _ = first.locked()
        _ = first.loaded(stored(alice, 5), at: now, using: &random)
        _ = first.saved(at: now, using: &random)
        _ = first.exchanged(.token(Token(access: "a1", refresh: "ra1")), at: now, using: &random)
        #expect(first.conflicted(afterFailure: false) == .load)
        #expect(first.loaded(stored(bob, 7), at: now, using: &random) == .end(.adopted(bob)))
    }

    // MARK: Logging out

    @Test func loggedOutStoreIsNotAnEmptyStore() {
        var random = SeededRandom(seed: 5)
        let tombstone = StoredLogin(.loggedOut, lineage: 1, generation: 7)
        for capabilities in [LoginUpdateTests.oauth, LoginUpdateTests.itself] {
            var next = update(held: nil, configured: alice, capabilities)
            #expect(next.begin(unsaved: nil) == .load)
            #expect(next.loaded(tombstone, at: now, using: &random) == .end(.ended))
        }
        // Only an explicit login replaces the tombstone.
        var logIn = update(.logIn, held: nil, LoginUpdateTests.itself)
        _ = logIn.begin(unsaved: nil)
        #expect(logIn.loaded(tombstone, at: now, using: &random) == .lock)
        #expect(logIn.locked() == .load)
        #expect(logIn.loaded(tombstone, at: now, using: &random) == .exchange(nil, key: nil))
    }

    /// Only exchanges with the server need the lock.
    @Test func loginsAndLogoutsNeedNoLock() {
        var random = SeededRandom(seed: 6)
        var logout = update(.logOut, held: alice)
        #expect(logout.mustFinish)
        #expect(logout.begin(unsaved: nil) == .load)
        let end = StoredLogin(.loggedOut, lineage: 1, generation: 6)
        let version = stored(alice, 5).version
        #expect(
            logout.loaded(stored(alice, 5), at: now, using: &random)
                == .save(end, replacing: version, isCritical: true))
        #expect(logout.conflicted(afterFailure: false) == .load)
        let later = StoredLogin(.loggedOut, lineage: 2, generation: 9)
        #expect(
            logout.loaded(stored(bob, 8), at: now, using: &random)
                == .save(later, replacing: stored(bob, 8).version, isCritical: true))
        #expect(logout.saved(at: now, using: &random) == .end(.ended))
        #expect(!logout.mustFinish)
    }

    @Test func unsavedLogoutIsSavedByTheNextCall() throws {
        var random = SeededRandom(seed: 7)
        var session = TokenSession(configured: nil, LoginUpdateTests.oauth)
        session.hold(alice)
        var logout = session.logOut()
        _ = session.begin(&logout, since: session.changes)
        #expect(logout.loadFailed() == .end(.failed(.storage)))
        let isWanted = session.completed(logout, .failed(.storage), since: session.changes)
        #expect(isWanted)
        // Another process has refreshed the token. The logout still applies to this login.
        let refreshed = stored(Token(access: "a1", refresh: "ra1", lineage: 1), 7)
        var look = session.update()
        #expect(session.begin(&look, since: session.changes) == .load)
        let end = StoredLogin(.loggedOut, lineage: 1, generation: 8)
        #expect(
            look.loaded(refreshed, at: now, using: &random)
                == .save(end, replacing: refreshed.version, isCritical: true))
        #expect(look.saved(at: now, using: &random) == .end(.ended))
        // A new login of another process is adopted.
        let isStillWanted = session.completed(look, .ended, since: session.changes)
        #expect(isStillWanted)
        var next = session.update()
        _ = session.begin(&next, since: session.changes)
        #expect(next.loaded(stored(bob, 9), at: now, using: &random) == .end(.adopted(bob)))
    }

    /// In the first round, the ended login in the store came from the configured token, so the token is not used again.
    /// In the second round, the login came from another configured token.
    @Test func configuredTokenIsUsedOnce() {
        var random = SeededRandom(seed: 8)
        var refused = StoredLogin(.refused, lineage: 1, generation: 7, configured: 7)
        for _ in 0..<2 {
            var next = update(held: nil, configured: alice)
            _ = next.begin(unsaved: nil)
            #expect(next.loaded(refused, at: now, using: &random) == .lock)
            _ = next.locked()
            let action = next.loaded(refused, at: now, using: &random)
            if refused.configured == 7 {
                #expect(action == .end(.ended))
            } else if case .save(let login, refused.version, true) = action {
                #expect(login.token?.access == "a0" && login.lineage != 1)
            } else {
                Issue.record("the configured token is not used")
            }
            refused.configured = 8
        }
    }

    // MARK: Order

    /// Two simultaneous refreshes of one client would redeem one refresh token twice.
    @Test func refreshesOfOneClientAreSequential() {
        var queue = LoginUpdateQueue()
        let first = queue.append(changesLogin: false)
        #expect(queue.next() == first)
        let second = queue.append(changesLogin: false)
        #expect(queue.next() == nil)
        // A logout does not wait for a refresh. Refreshes that are queued after the logout wait for the logout.
        let logout = queue.append(changesLogin: true)
        #expect(queue.next() == logout)
        let login = queue.append(changesLogin: true)
        let third = queue.append(changesLogin: false)
        #expect(queue.next() == nil)
        queue.remove(first)
        #expect(queue.next() == second)
        queue.remove(second)
        #expect(queue.next() == nil)
        queue.remove(logout)
        #expect(queue.next() == login)
        #expect(queue.next() == nil)
        queue.remove(login)
        #expect(queue.next() == third)
        queue.remove(third)
        #expect(queue.isEmpty)
    }
}
