import NightjarHTTP
import Testing

/// A resource whose actions are texts: "fetch 1", "fetch 2 reload", "cancel 1", "publish", "wait interval 1", "complete 1".
struct ResourceScript {
    var machine: ResourceMachine<String>
    private var lastMutation = 0

    init(_ change: (inout ResourceSettings) -> Void = { _ in }) {
        var settings = ResourceSettings()
        change(&settings)
        machine = ResourceMachine(settings)
    }

    var seen: String {
        let snapshot = machine.snapshot
        var words = [snapshot.phase.rawValue]
        if let data = snapshot.data { words.append(data) }
        if let error = snapshot.error { words.append("error:\(error.message)") }
        if snapshot.isStale { words.append("stale") }
        if let mutation = snapshot.mutation { words.append(mutation.rawValue) }
        return words.joined(separator: " ")
    }

    mutating func observe() -> [String] { texts(machine.observe()) }
    mutating func leave() -> [String] { texts(machine.leave()) }
    mutating func reload(_ number: Int) -> [String] { texts(machine.reload(number)) }
    mutating func load(_ number: Int) -> [String] { texts(machine.load(number)) }
    mutating func cancelReload(_ number: Int) -> [String] { texts(machine.cancelReload(number)) }
    mutating func invalidate() -> [String] { texts(machine.invalidate()) }
    mutating func networkReturned() -> [String] { texts(machine.networkReturned()) }
    mutating func keyChanged() -> [String] { texts(machine.keyChanged()) }
    mutating func close() -> [String] { texts(machine.close(NightjarError(.closed, "closed"))) }

    mutating func responded(_ number: Int, _ value: String, isStale: Bool = false) -> [String] {
        texts(machine.responded(number, value, isStale: isStale, at: .epoch))
    }

    mutating func received(_ number: Int, stale value: String) -> [String] {
        texts(machine.received(number, stale: value, at: .epoch))
    }

    mutating func failed(_ number: Int, _ kind: NightjarError.Kind = .server) -> [String] {
        texts(machine.failed(number, NightjarError(kind, "\(kind)")))
    }

    mutating func expired(_ timer: ResourceMachine<String>.Timer, _ number: Int) -> [String] {
        texts(machine.expired(timer, number))
    }

    mutating func began(_ number: Int, _ phase: ResourceMutationPhase, optimistic: String? = nil) -> [String] {
        texts(machine.mutationBegan(number, phase, optimistic: optimistic))
    }

    mutating func ended(_ number: Int, _ end: ResourceMachine<String>.MutationEnd) -> [String] {
        texts(machine.mutationEnded(number, end))
    }

    private func texts(_ actions: [ResourceMachine<String>.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .fetch(let number, let freshness): "fetch \(number)\(freshness == .standard ? "" : " \(freshness)")"
            case .cancel(let number): "cancel \(number)"
            case .wait(let timer, let number, _): "wait \(timer) \(number)"
            case .complete(let numbers, let error):
                "complete \(numbers.map(String.init).joined(separator: ","))\(error.map { " \($0.kind)" } ?? "")"
            case .useKey: "useKey"
            case .publish: "publish"
            }
        }
    }

    /// A resource with one observer and the data "a".
    static func loaded(_ change: (inout ResourceSettings) -> Void = { _ in }) -> ResourceScript {
        var script = ResourceScript(change)
        _ = script.observe()
        _ = script.responded(1, "a")
        return script
    }
}

@Suite struct ResourceMachineTests {
    @Test func firstObserverLoads() {
        var script = ResourceScript()
        #expect(script.seen == "idle")
        #expect(script.observe() == ["fetch 1", "publish"])
        #expect(script.seen == "loading")
        #expect(script.responded(1, "a") == ["publish"])
        #expect(script.seen == "loaded a")
    }

    // TanStack Query: an observer that joins late stays in the state "pending", or loads again.
    @Test func lateObserverGetsThePresentSnapshotWithoutALoad() {
        var script = ResourceScript.loaded()
        #expect(script.observe() == [])
        #expect(script.seen == "loaded a")
    }

    @Test func lateObserverJoinsTheLoadInProgress() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.observe() == [])
        #expect(script.leave() == [])
        #expect(script.responded(1, "a") == ["publish"])
    }

    @Test func lateObserverRepeatsAFailedLoad() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.failed(1) == ["publish"])
        #expect(script.seen == "failed error:server")
        #expect(script.observe() == ["fetch 2", "publish"])
        #expect(script.seen == "loading error:server")
    }

    @Test func lastObserverCancelsAndNoErrorIsShown() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.leave() == ["cancel 1", "publish"])
        #expect(script.seen == "idle")
        #expect(script.failed(1, .cancelled) == [])
        #expect(script.seen == "idle")
    }

    // TanStack Query: the unmount of a view cancels the fetch of the view that replaces it.
    @Test func lateCancelOfAnEarlierFetchDoesNotEndTheNextOne() {
        var script = ResourceScript()
        _ = script.observe()
        _ = script.leave()
        #expect(script.observe() == ["fetch 2", "publish"])
        #expect(script.failed(1, .cancelled) == [])
        #expect(script.seen == "loading")
        #expect(script.responded(1, "old") == [])
        #expect(script.responded(2, "new") == ["publish"])
        #expect(script.seen == "loaded new")
    }

    // Siesta: a cancelled request appears as the latest error.
    @Test func cancelFromElsewhereIsNoError() {
        var script = ResourceScript.loaded()
        #expect(script.reload(1) == ["fetch 2 reload", "publish"])
        #expect(script.failed(2, .cancelled) == ["publish", "complete 1 cancelled"])
        #expect(script.seen == "loaded a")
    }

    @Test func anErrorKeepsTheData() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        #expect(script.seen == "loading a")
        #expect(script.failed(2, .offline) == ["publish", "complete 1 offline"])
        #expect(script.seen == "failed a error:offline stale")
        _ = script.reload(2)
        #expect(script.responded(3, "b") == ["publish", "complete 2"])
        #expect(script.seen == "loaded b")
    }

    @Test func aResponseOfTheCacheIsFollowedByTheServers() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.received(1, stale: "old") == ["publish"])
        #expect(script.seen == "loading old stale")
        #expect(script.responded(1, "new") == ["publish"])
        #expect(script.seen == "loaded new")
    }

    @Test func eachChangeIncreasesTheGeneration() {
        var script = ResourceScript()
        var generations = [script.machine.snapshot.generation]
        _ = script.observe()
        generations.append(script.machine.snapshot.generation)
        _ = script.responded(1, "a")
        generations.append(script.machine.snapshot.generation)
        #expect(generations == [0, 1, 2])
    }

    @Test func aClosedResourceCompletesItsReloads() {
        var script = ResourceScript()
        _ = script.observe()
        _ = script.reload(1)
        _ = script.reload(2)
        #expect(script.close() == ["cancel 2", "complete 1,2 closed"])
        #expect(script.observe() == [])
        #expect(script.responded(2, "a") == [])
        #expect(script.close() == [])
    }
}

@Suite struct ResourceReloadTests {
    @Test func reloadReplacesALoadThatMayUseTheCache() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.reload(1) == ["cancel 1", "fetch 2 reload", "publish"])
        #expect(script.responded(1, "cached") == [])
        #expect(script.responded(2, "a") == ["publish", "complete 1"])
    }

    @Test func reloadDuringAReloadEndsWithItsOwnFetch() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        #expect(script.reload(2) == [])
        #expect(script.reload(3) == [])
        #expect(script.responded(2, "b") == ["fetch 3 reload", "publish", "complete 1"])
        #expect(script.seen == "loading b")
        #expect(script.responded(3, "c") == ["publish", "complete 2,3"])
    }

    @Test func reloadWithoutObserversContinuesUntilItIsCancelled() {
        var script = ResourceScript()
        #expect(script.reload(1) == ["fetch 1 reload", "publish"])
        _ = script.observe()
        #expect(script.leave() == [])
        #expect(script.cancelReload(1) == ["cancel 1", "publish"])
        #expect(script.seen == "idle")
    }

    @Test func aCancelledReloadDoesNotEndTheLoadOfAnObserver() {
        var script = ResourceScript()
        _ = script.observe()
        _ = script.reload(1)
        #expect(script.cancelReload(1) == [])
        #expect(script.responded(2, "a") == ["publish"])
    }

    @Test func loadEndsAtOnceWithCurrentData() {
        var script = ResourceScript.loaded()
        #expect(script.load(1) == ["complete 1"])
        _ = script.failed(1)
        _ = script.reload(2)
        #expect(script.load(3) == [])
        #expect(script.responded(2, "b") == ["publish", "complete 2,3"])
    }

    @Test func loadBeginsAFetchWithoutData() {
        var script = ResourceScript()
        #expect(script.load(1) == ["fetch 1", "publish"])
        #expect(script.failed(1) == ["publish", "complete 1 server"])
    }

    @Test func intervalReloadsWhileObserved() {
        var script = ResourceScript { $0.interval = .seconds(60) }
        _ = script.observe()
        #expect(script.responded(1, "a") == ["publish", "wait interval 2"])
        #expect(script.expired(.interval, 1) == [])
        #expect(script.expired(.interval, 2) == ["fetch 2 revalidate", "publish"])
        #expect(script.failed(2) == ["publish", "wait interval 4"])
        _ = script.leave()
        #expect(script.expired(.interval, 4) == [])
    }

    @Test func networkReturnReloads() {
        var script = ResourceScript.loaded()
        #expect(script.networkReturned() == ["fetch 2 revalidate", "publish"])
        // The fetch in flight may still fail because of the old network.
        #expect(script.networkReturned() == [])
        #expect(script.failed(2, .offline) == ["fetch 3 revalidate", "publish"])
        #expect(script.failed(3, .offline) == ["publish"])
        _ = script.leave()
        #expect(script.networkReturned() == [])
    }

    @Test func networkReturnIsAnOption() {
        var script = ResourceScript.loaded { $0.reloadsOnNetwork = false }
        #expect(script.networkReturned() == [])
    }
}

@Suite struct ResourceWriteTests {
    @Test func aWriteReloadsWhatIsObserved() {
        var script = ResourceScript.loaded()
        #expect(script.invalidate() == ["fetch 2 revalidate", "publish"])
        #expect(script.seen == "loading a stale")
        #expect(script.responded(2, "b") == ["publish"])
        #expect(script.seen == "loaded b")
    }

    @Test func aResponseFromBeforeAWriteIsNotUsed() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        #expect(script.invalidate() == ["cancel 2", "fetch 3 reload", "publish"])
        #expect(script.responded(2, "before") == [])
        #expect(script.responded(3, "after") == ["publish", "complete 1"])
    }

    @Test func aWriteWithoutObserversMarksTheDataStale() {
        var script = ResourceScript.loaded()
        _ = script.leave()
        #expect(script.invalidate() == ["publish"])
        #expect(script.seen == "loaded a stale")
        #expect(script.observe() == ["fetch 2 revalidate", "publish"])
    }

    @Test func aWriteBeforeTheFirstLoadHasNoEffect() {
        var script = ResourceScript()
        #expect(script.invalidate() == [])
    }

    @Test func anOptimisticValueIsReplacedByTheServers() {
        var script = ResourceScript.loaded()
        #expect(script.began(1, .saving, optimistic: "b") == ["publish"])
        #expect(script.seen == "loaded b saving")
        #expect(script.ended(1, .saved) == ["fetch 2 revalidate", "publish"])
        #expect(script.seen == "loading b stale")
        #expect(script.responded(2, "c") == ["publish"])
        #expect(script.seen == "loaded c")
    }

    @Test func aFailedMutationRestoresTheData() {
        var script = ResourceScript.loaded()
        _ = script.began(1, .saving, optimistic: "b")
        #expect(script.ended(1, .failed(mayHaveBeenProcessed: false)) == ["publish"])
        #expect(script.seen == "loaded a")
        _ = script.began(2, .saving, optimistic: "b")
        #expect(script.ended(2, .failed(mayHaveBeenProcessed: true)) == ["fetch 2 revalidate", "publish"])
        #expect(script.seen == "loading a stale")
    }

    // TanStack Query: a rollback restores a snapshot from before a fetch that has succeeded meanwhile.
    @Test func aRollbackKeepsWhatAFetchHasLoadedMeanwhile() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        _ = script.began(1, .saving, optimistic: "b")
        #expect(script.responded(2, "c") == ["publish", "complete 1"])
        #expect(script.seen == "loaded b saving")
        _ = script.ended(1, .failed(mayHaveBeenProcessed: false))
        #expect(script.seen == "loaded c")
    }

    // TanStack Query: cancelling the first fetch for an optimistic change leaves the query loading without a fetch.
    @Test func anOptimisticValueDuringTheFirstLoadIsNotStuck() {
        var script = ResourceScript()
        _ = script.observe()
        _ = script.began(1, .saving, optimistic: "b")
        #expect(script.seen == "loading b saving")
        #expect(script.ended(1, .saved) == ["cancel 1", "fetch 2 revalidate", "publish"])
        #expect(script.responded(1, "before") == [])
        #expect(script.responded(2, "b!") == ["publish"])
        #expect(script.seen == "loaded b!")
    }

    @Test func aFailureDuringTheFirstLoadIsNotStuck() {
        var script = ResourceScript()
        _ = script.observe()
        _ = script.began(1, .saving, optimistic: "b")
        #expect(script.failed(1) == ["publish"])
        #expect(script.seen == "failed b error:server saving")
        _ = script.ended(1, .failed(mayHaveBeenProcessed: false))
        #expect(script.seen == "failed error:server")
    }

    @Test func mutationsLayer() {
        var script = ResourceScript.loaded()
        _ = script.began(1, .saving, optimistic: "b")
        _ = script.began(2, .deleting, optimistic: "c")
        #expect(script.seen == "loaded c deleting")
        _ = script.ended(2, .failed(mayHaveBeenProcessed: false))
        #expect(script.seen == "loaded b saving")
    }

    @Test func anEarlierMutationDoesNotReplaceALaterOne() {
        var script = ResourceScript.loaded()
        _ = script.began(1, .saving, optimistic: "b")
        _ = script.began(2, .saving, optimistic: "c")
        // One load follows, after the last mutation.
        #expect(script.ended(2, .saved) == ["publish"])
        #expect(script.ended(1, .saved) == ["fetch 2 revalidate", "publish"])
        #expect(script.seen == "loading c stale")
    }

    @Test func aFetchThatEndsDuringAMutationAfterItsWriteBeginsAgain() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        _ = script.began(1, .saving)
        // The write of the mutation itself, which the client reports before its end.
        #expect(script.invalidate() == ["publish"])
        #expect(script.responded(2, "before") == ["fetch 3 reload"])
        #expect(script.ended(1, .saved) == ["cancel 3", "fetch 4 reload", "publish"])
        #expect(script.responded(4, "b") == ["publish", "complete 1"])
    }

    @Test func aDeletedResourceHasNoData() {
        var script = ResourceScript.loaded()
        _ = script.began(1, .deleting)
        #expect(script.seen == "loaded a deleting")
        _ = script.invalidate()
        #expect(script.ended(1, .removed) == ["publish"])
        #expect(script.seen == "idle")
    }
}

@Suite struct ResourceKeyTests {
    @Test func aNewKeyCancelsTheOldFetch() {
        var script = ResourceScript()
        _ = script.observe()
        #expect(script.keyChanged() == ["cancel 1", "useKey", "fetch 2", "publish"])
        #expect(script.responded(1, "old") == [])
        #expect(script.responded(2, "new") == ["publish"])
        #expect(script.seen == "loaded new")
    }

    @Test func aNewKeyHasNoDataOfTheOldOne() {
        var script = ResourceScript.loaded()
        #expect(script.keyChanged() == ["useKey", "fetch 2", "publish"])
        #expect(script.seen == "loading")
    }

    @Test func previousDataIsStale() {
        var script = ResourceScript.loaded { $0.keepsPrevious = true }
        _ = script.keyChanged()
        #expect(script.seen == "loading a stale")
        #expect(script.failed(2) == ["publish"])
        #expect(script.seen == "failed a error:server stale")
    }

    @Test func onlyTheLastChangeOfABurstLoads() {
        var script = ResourceScript.loaded { $0.debounce = .milliseconds(300) }
        #expect(script.keyChanged() == ["wait debounce 1"])
        #expect(script.keyChanged() == ["wait debounce 2"])
        #expect(script.expired(.debounce, 1) == [])
        #expect(script.seen == "loaded a")
        #expect(script.expired(.debounce, 2) == ["useKey", "fetch 2", "publish"])
    }

    @Test func aReloadDoesNotWaitForTheDebounceTime() {
        var script = ResourceScript.loaded { $0.debounce = .milliseconds(300) }
        _ = script.keyChanged()
        #expect(script.reload(1) == ["useKey", "fetch 2 reload", "publish"])
        #expect(script.expired(.debounce, 1) == [])
    }

    @Test func withoutObserversAChangeIsNotDelayed() {
        var script = ResourceScript { $0.debounce = .milliseconds(300) }
        #expect(script.keyChanged() == ["useKey", "publish"])
        _ = script.observe()
        _ = script.responded(1, "a")
        _ = script.keyChanged()
        #expect(script.leave() == ["useKey", "publish"])
    }

    @Test func reloadsEndWithTheFirstFetchOfTheNewKey() {
        var script = ResourceScript.loaded()
        _ = script.reload(1)
        _ = script.reload(2)
        #expect(script.keyChanged() == ["cancel 2", "useKey", "fetch 3 reload", "publish"])
        #expect(script.responded(3, "new") == ["publish", "complete 1,2"])
    }

    @Test func aMutationOfTheOldKeyDoesNotChangeTheNewOne() {
        var script = ResourceScript.loaded()
        _ = script.began(1, .saving, optimistic: "b")
        _ = script.keyChanged()
        #expect(script.seen == "loading")
        #expect(script.ended(1, .saved) == [])
        #expect(script.responded(2, "new") == ["publish"])
        #expect(script.seen == "loaded new")
    }
}
