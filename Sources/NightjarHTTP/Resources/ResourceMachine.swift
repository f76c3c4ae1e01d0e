/// The state machine of a resource: decides when its data is loaded, which response counts, and what observers see.
///
///     idle ──observe, reload──▶ loading ──response──▶ loaded
///      ▲                         │  │  ▲                │
///      │      cancel without data│  │  └──reload, write, interval, network, new key──┐
///      └─────────────────────────┘  └──failure──▶ failed ──────────────────────────┘
///
/// At most one fetch is in flight. Each fetch has a number, and only the result of the last one counts. A fetch that
/// began before a write is repeated, so its response does not overwrite newer data. A key is the request of the
/// resource. The caller keeps it, and sends the newest one after ``Action/useKey``.
package struct ResourceMachine<Value: Sendable>: Sendable {
    /// How a fetch uses the cache.
    package enum Freshness: Sendable, Equatable {
        /// By the policy of the request.
        case standard
        /// Stored responses are validated with the server.
        case revalidate
        /// Stored responses are not used.
        case reload
    }

    package enum Timer: Sendable, Equatable { case debounce, interval }

    /// A step of the caller. The steps are carried out in order.
    package enum Action: Sendable {
        /// Begin the fetch with this number, and then call ``responded(_:_:isStale:at:)`` or ``failed(_:_:)``.
        case fetch(Int, Freshness)
        case cancel(Int)
        /// Call ``expired(_:_:)`` with the timer and its number after the duration.
        case wait(Timer, Int, Duration)
        /// The reloads with these numbers have ended.
        case complete([Int], NightjarError?)
        /// Use the newest key for the following fetches.
        case useKey
        /// Pass ``ResourceMachine/snapshot`` to the observers.
        case publish
    }

    struct Fetch: Sendable {
        let number: Int
        let freshness: Freshness
        /// The reloads that end with the fetch.
        var reloads: [Int]
        /// Whether a write has completed after the fetch began.
        var isOutdated = false
        /// Whether the fetch is repeated if it fails, because the network has returned meanwhile.
        var repeatsAfterFailure = false
    }

    struct Mutation: Sendable {
        let number: Int
        let phase: ResourceMutationPhase
        let optimistic: Value?
    }

    let settings: ResourceSettings
    package private(set) var observers = 0
    var fetch: Fetch?
    private var fetches = 0
    /// The reloads that wait for the fetch after the one in flight, which is itself a reload.
    private var queued: [Int] = []
    /// The server's data, without optimistic values of mutations in progress.
    package internal(set) var data: Value?
    package internal(set) var error: NightjarError?
    var isStale = false
    /// Whether the data must be validated with the server, because a write may have changed it.
    var isInvalidated = false
    var updatedAt: Timestamp?
    /// The mutations in progress, first to last.
    var mutations: [Mutation] = []
    /// The last mutation whose optimistic value has become data.
    var committed = 0
    private(set) var generation = 0
    private var isDebouncing = false
    private var debounces = 0
    private var intervals = 0
    private var isClosed = false

    package init(_ settings: ResourceSettings) { self.settings = settings }

    package var snapshot: ResourceSnapshot<Value> {
        var snapshot = ResourceSnapshot<Value>()
        snapshot.data = mutations.last { $0.optimistic != nil && $0.number > committed }?.optimistic ?? data
        snapshot.error = error
        snapshot.phase =
            fetch != nil ? .loading : error != nil ? .failed : snapshot.data != nil ? .loaded : .idle
        snapshot.isStale = isStale
        snapshot.mutation = mutations.last?.phase
        snapshot.generation = generation
        snapshot.updatedAt = updatedAt
        return snapshot
    }

    // MARK: Observers

    /// Handles a new observer. The first one, and each one that finds stale data or an error, begins a fetch.
    package mutating func observe() -> [Action] {
        guard !isClosed else { return [] }
        observers += 1
        guard fetch == nil, !isDebouncing, observers == 1 || isStale || error != nil else { return [] }
        return start(isInvalidated ? .revalidate : .standard)
    }

    /// Handles an observer that leaves. The last one cancels the fetch, unless a reload waits for it.
    package mutating func leave() -> [Action] {
        guard observers > 0 else { return [] }
        observers -= 1
        guard observers == 0 else { return [] }
        intervals += 1
        return (isDebouncing ? adoptKey() : []) + cancelUnneeded()
    }

    /// Ends the fetch and all reloads. Later events have no effect.
    package mutating func close(_ error: NightjarError) -> [Action] {
        guard !isClosed else { return [] }
        isClosed = true
        let reloads = (fetch?.reloads ?? []) + queued
        let cancels = fetch.map { [Action.cancel($0.number)] } ?? []
        (fetch, queued, observers) = (nil, [], 0)
        intervals += 1
        debounces += 1
        return cancels + (reloads.isEmpty ? [] : [.complete(reloads, error)])
    }

    // MARK: Reloading

    /// Begins a reload, which ends with a fetch that begins after this call.
    ///
    /// - Parameter number: Identifies the reload in ``Action/complete(_:_:)``.
    package mutating func reload(_ number: Int) -> [Action] {
        guard !isDebouncing else { return adoptKey(for: [number], .reload) }
        guard let fetch else { return start(.reload, [number]) }
        guard fetch.freshness == .reload, !fetch.isOutdated else { return restart(.reload, adding: [number]) }
        queued.append(number)
        return []
    }

    /// Begins a wait for data: ends at once if the data is current, and otherwise with the fetch in flight or a new one.
    ///
    /// - Parameter number: As for ``reload(_:)``.
    package mutating func load(_ number: Int) -> [Action] {
        guard !isDebouncing else { return adoptKey(for: [number]) }
        guard fetch == nil else {
            fetch?.reloads.append(number)
            return []
        }
        guard data == nil || isStale || error != nil else { return [.complete([number], nil)] }
        return start(isInvalidated ? .revalidate : .standard, [number])
    }

    /// Handles a reload or a load that its caller has cancelled.
    package mutating func cancelReload(_ number: Int) -> [Action] {
        fetch?.reloads.removeAll { $0 == number }
        queued.removeAll { $0 == number }
        return cancelUnneeded()
    }

    /// Handles a write of this client, or of a caller that reports one, that may have changed the data. While mutations
    /// of the resource are in progress, the fetch waits for their end.
    package mutating func invalidate() -> [Action] {
        guard !isClosed, data != nil || fetch != nil || error != nil || !mutations.isEmpty else { return [] }
        isInvalidated = true
        isStale = data != nil
        guard mutations.isEmpty else {
            fetch?.isOutdated = true
            return [publish()]
        }
        return refetch()
    }

    /// Begins a fetch, or begins the one in flight again.
    mutating func refetch() -> [Action] {
        if let fetch { return restart(fetch.freshness == .reload ? .reload : .revalidate) }
        return observers > 0 && !isDebouncing ? start(.revalidate) : [publish()]
    }

    /// Handles the return of the network.
    package mutating func networkReturned() -> [Action] {
        guard settings.reloadsOnNetwork, observers > 0, !isClosed else { return [] }
        guard fetch == nil else {
            fetch?.repeatsAfterFailure = true
            return []
        }
        return isDebouncing ? [] : start(.revalidate)
    }

    // MARK: Keys and timers

    /// Handles a change of the key. The change takes effect when no further change has come for the debounce time, or
    /// at once if there is no observer. Reloads in progress then end with the first fetch of the new key.
    package mutating func keyChanged() -> [Action] {
        guard !isClosed else { return [] }
        guard settings.debounce > .zero, observers > 0 else { return adoptKey() }
        isDebouncing = true
        debounces += 1
        return [.wait(.debounce, debounces, settings.debounce)]
    }

    /// - Parameters:
    ///   - waiting: The reloads and loads for which the key is adopted.
    ///   - freshness: That of the fetch, if no reload was in progress.
    private mutating func adoptKey(for waiting: [Int] = [], _ freshness: Freshness = .standard) -> [Action] {
        isDebouncing = false
        debounces += 1
        let reloads = (fetch?.reloads ?? []) + queued
        let cancels = fetch.map { [Action.cancel($0.number)] } ?? []
        (fetch, queued) = (nil, [])
        if !settings.keepsPrevious { (data, updatedAt) = (nil, nil) }
        (error, isStale, isInvalidated, mutations) = (nil, data != nil, false, [])
        let isNeeded = observers > 0 || !(reloads + waiting).isEmpty
        let begins = isNeeded ? start(reloads.isEmpty ? freshness : .reload, reloads + waiting) : [publish()]
        return cancels + [.useKey] + begins
    }

    /// Handles the end of a wait. A timer that was replaced has no effect.
    package mutating func expired(_ timer: Timer, _ number: Int) -> [Action] {
        switch timer {
        case .debounce: return isDebouncing && number == debounces ? adoptKey() : []
        case .interval:
            guard number == intervals, observers > 0, fetch == nil, !isDebouncing else { return [] }
            return start(.revalidate)
        }
    }

    // MARK: Fetching

    /// Handles a stale response of the cache while the fetch continues in the background.
    package mutating func received(_ number: Int, stale value: Value, at time: Timestamp) -> [Action] {
        guard let fetch, fetch.number == number, !fetch.isOutdated else { return [] }
        (data, isStale, updatedAt) = (value, true, time)
        return [publish()]
    }

    /// Handles the response of a fetch.
    ///
    /// - Parameter isStale: Whether the cache has served a stale response.
    package mutating func responded(_ number: Int, _ value: Value, isStale: Bool, at time: Timestamp) -> [Action] {
        guard let ended = fetch, ended.number == number else { return [] }
        guard !ended.isOutdated else { return begin(ended.freshness, ended.reloads) }
        (data, error, updatedAt) = (value, nil, time)
        (self.isStale, isInvalidated) = (isStale, false)
        return end(ended, nil)
    }

    /// Handles the failure of a fetch. The error `cancelled` is not shown to observers.
    package mutating func failed(_ number: Int, _ error: NightjarError) -> [Action] {
        guard let ended = fetch, ended.number == number else { return [] }
        guard error.kind != .cancelled else { return end(ended, error) }
        guard !ended.isOutdated else { return begin(ended.freshness, ended.reloads) }
        self.error = error
        isStale = data != nil
        return end(ended, error)
    }

    private mutating func end(_ ended: Fetch, _ failure: NightjarError?) -> [Action] {
        fetch = nil
        let completes = ended.reloads.isEmpty ? [] : [Action.complete(ended.reloads, failure)]
        let waiting = queued
        queued = []
        if !waiting.isEmpty { return start(.reload, waiting) + completes }
        if failure != nil, failure?.kind != .cancelled, ended.repeatsAfterFailure, observers > 0 {
            return start(.revalidate) + completes
        }
        return [publish()] + completes + awaitInterval()
    }

    private mutating func awaitInterval() -> [Action] {
        guard observers > 0, let interval = settings.interval else { return [] }
        intervals += 1
        return [.wait(.interval, intervals, interval)]
    }

    private mutating func start(_ freshness: Freshness, _ reloads: [Int] = []) -> [Action] {
        guard !isClosed else { return [] }
        return begin(freshness, reloads) + [publish()]
    }

    private mutating func begin(_ freshness: Freshness, _ reloads: [Int]) -> [Action] {
        fetches += 1
        intervals += 1
        fetch = Fetch(number: fetches, freshness: freshness, reloads: reloads)
        return [.fetch(fetches, freshness)]
    }

    /// Replaces the fetch in flight.
    private mutating func restart(_ freshness: Freshness, adding reloads: [Int] = []) -> [Action] {
        guard let replaced = fetch else { return start(freshness, reloads) }
        return [.cancel(replaced.number)] + start(freshness, replaced.reloads + reloads)
    }

    private mutating func cancelUnneeded() -> [Action] {
        guard observers == 0, queued.isEmpty, let unneeded = fetch, unneeded.reloads.isEmpty else { return [] }
        fetch = nil
        return [.cancel(unneeded.number), publish()]
    }

    mutating func publish() -> Action {
        generation += 1
        return .publish
    }
}
