import DequeModule
import NIOCore
import NightjarHTTP

/// Applies the rate limit, the concurrency limit and the circuit breaker of an origin or a group, as decided by
/// `LimitGate`. A pause that a response requests (429 or 503 with Retry-After) holds back the calls of the origin or of
/// the resource: see ``PauseScope``. A pause that the ``PauseHeader`` of any response requests holds back the calls of
/// the origin or group.
///
/// Without limits and requested pauses, there is no gate, and the stage costs almost nothing.
final class Limit: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .responded, .failed, .abandoned, .expired, .ended] }
    private let progressKey = CallStateKey<Progress>()
    private let settings: LimitSettings
    private let groups: ExactDictionary<LimitSettings>
    private let longestWait: Duration
    private let pauseHeader: PauseHeader?
    /// The calls for resources whose servers requested a pause.
    private let pauses: PausedCalls
    /// Whether no limits are configured. Even then, gates exist for servers that requested a pause.
    private let isUnlimited: Bool
    private var gates: [Scope: Gate] = [:]
    /// The last used gate. Most calls of a client go to one origin.
    private var last: Gate?
    /// The number of gates at which unused gates are removed next.
    private var nextSweep = Limit.gateLowWatermark
    private var lastID: LimitGate.ID = 0

    /// - Parameter longestWait: If a server requests a longer pause, calls fail at once.
    init(
        _ settings: LimitSettings, groups: ExactDictionary<LimitSettings>, longestWait: Duration,
        pauseHeader: PauseHeader?
    ) {
        self.pauseHeader = pauseHeader
        self.settings = settings
        self.groups = groups
        self.longestWait = longestWait
        pauses = PausedCalls(longestWait: longestWait, maximumCount: settings.maximumQueued)
        isUnlimited = settings.isNothing && groups.isEmpty
    }

    fileprivate enum Scope: Hashable, Sendable {
        case origin(Origin)
        case group(ExactText)

        var name: String {
            switch self {
            case .origin(let origin): "\(origin)"
            case .group(let name): "group \(quoted(name.text))"
            }
        }
    }

    fileprivate final class Gate {
        let scope: Scope
        /// Nil for a group.
        let origin: Origin?
        var machine: LimitGate
        var waiting: [LimitGate.ID: Call] = [:]
        /// Releases that have not been carried out yet.
        var due = Deque<LimitGate.Release>()
        var isReleasing = false
        /// When the gate's timer fires.
        var alarm: UInt64?
        /// Whether the gate has no limits and exists only for a pause that a server requested.
        let isForServer: Bool

        init(_ scope: Scope, _ settings: LimitGate.Settings, isForServer: Bool) {
            self.scope = scope
            if case .origin(let origin) = scope { self.origin = origin } else { origin = nil }
            self.isForServer = isForServer
            machine = LimitGate(settings)
        }
    }

    /// The state of a call's current exchange.
    private final class Progress: CallState {
        let gate: Gate
        let id: LimitGate.ID
        var permit: LimitGate.Permit?
        var waitsSince: NIODeadline?
        /// The status of the response in progress; nil: none.
        var status: Int?
        /// Whether the total timeout expired during the exchange.
        var hasTimedOut = false

        init(_ gate: Gate, _ id: LimitGate.ID) {
            self.gate = gate
            self.id = id
        }

        /// The result for the circuit breaker if the response is not read to its end.
        var ending: CircuitBreaker.Ending {
            hasTimedOut ? .failed : status.map(Limit.ending) ?? .inconclusive
        }
    }

    // MARK: Calls

    override func outgoing(_ call: Call) -> Verdict {
        assert(call.states[progressKey] == nil, "the previous exchange of this call still holds its permit")
        leave(call, .inconclusive)
        if isUnlimited, gates.isEmpty, pauses.isEmpty { return .proceed }
        if !pauses.isEmpty, let verdict = pauses.hold(call, enter) { return verdict }
        return enter(call)
    }

    private func enter(_ call: Call) -> Verdict {
        guard let gate = gate(for: call) else { return .proceed }
        lastID += 1
        let progress = Progress(gate, lastID)
        let now = call.loop.clock.now
        let arrival = gate.machine.arrive(
            progress.id, deadline: call.limits.total?.uptimeNanoseconds,
            ignoresPause: !call.options.respectsRetryAfter, now: now.uptimeNanoseconds)
        switch arrival {
        case .enter(let permit):
            progress.permit = permit
            call.states[progressKey] = progress
            return .proceed
        case .wait:
            progress.waitsSince = now
            call.states[progressKey] = progress
            gate.waiting[progress.id] = call
            arm(gate, call.loop)
            return .wait
        case .refuse(let refusal): return .fail(refusal.error(of: gate.scope.name))
        }
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        let requestsPause = head.status == 429 || head.status == 503
        let progress = call.states[progressKey]
        let headerPause = pauseHeader.flatMap { header in
            call.options.respectsRetryAfter ? header.pause(head.headers, now: WallClock.secondsSince1970()) : nil
        }
        if progress == nil, !requestsPause, headerPause == nil, pauses.isEmpty { return .proceed }
        if !pauses.isEmpty, head.status < 400 { pauses.succeeded(call) }
        let pause = requestsPause && call.options.respectsRetryAfter ? pauses.received(head, call) : nil
        let needsGate = pause == .origin || headerPause != nil
        guard let gate = progress?.gate ?? (needsGate ? gate(of: scope(of: call)) : nil) else { return .proceed }
        if let headerPause {
            let now = call.loop.clock.now.uptimeNanoseconds
            perform(gate.machine.pause(for: headerPause, now: now), gate, call.loop)
        }
        var permit = progress?.permit
        let releases = gate.machine.received(
            &permit, status: head.status, head.headers, respectsRetryAfter: call.options.respectsRetryAfter,
            now: call.loop.clock.now.uptimeNanoseconds, wallClock: WallClock.secondsSince1970())
        progress?.permit = permit
        progress?.status = head.status
        perform(releases, gate, call.loop)
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        leave(call, Limit.ending(response.status))
        return .proceed
    }

    override func failed(_ error: NightjarError, _ call: Call) -> Verdict {
        leave(call, error.isServersFault ? .failed : .inconclusive)
        return .proceed
    }

    /// Releases the permit before the next attempt waits. Otherwise two calls could wait for each other's permits.
    override func abandoned(_ call: Call) {
        if let progress = call.states[progressKey] { leave(call, progress.ending) }
    }

    /// Removes a waiting call from the queue, because the call may still get a stored response. An exchange in progress
    /// counts as failed.
    override func expired(_ error: NightjarError, _ call: Call) -> Verdict {
        guard let progress = call.states[progressKey], progress.permit != nil else {
            leave(call, .inconclusive)
            return .proceed
        }
        progress.hasTimedOut = true
        return .proceed
    }

    /// Releases the permit of the call. A timeout during the exchange counts as a server failure.
    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        pauses.leave(call)
        guard let progress = call.states[progressKey] else { return }
        if case .failure(let error) = result, error.kind == .timeout { return leave(call, .failed) }
        leave(call, progress.ending)
    }

    private static func ending(_ status: Int) -> CircuitBreaker.Ending { status >= 500 ? .failed : .succeeded }

    private func leave(_ call: Call, _ ending: CircuitBreaker.Ending) {
        pauses.leave(call)
        guard let progress = call.states[progressKey].take() else { return }
        let now = call.loop.clock.now.uptimeNanoseconds
        let gate = progress.gate
        if let permit = progress.permit {
            let (releases, circuit) = gate.machine.leaveReporting(permit, ending, now: now)
            if let circuit { call.note(.warning, "the circuit of \(gate.scope.name) is now \(circuit.name)") }
            perform(releases, gate, call.loop)
        } else {
            gate.waiting[progress.id] = nil
            perform(gate.machine.removeWaiter(progress.id, now: now), gate, call.loop)
        }
        // A gate that exists only for a requested pause is not needed after the pause.
        if gate.isForServer, gate.machine.isIdle(now: now) { forget(gate) }
    }

    // MARK: Gates

    private func scope(of call: Call) -> Scope {
        call.options.limitGroup.map { .group(ExactText($0)) } ?? .origin(call.request.origin)
    }

    /// Returns the gate of a call. Nil if the call has no limits and its origin or group is not paused.
    private func gate(for call: Call) -> Gate? {
        if let last, call.options.limitGroup == nil, last.origin == call.request.origin { return last }
        let scope = scope(of: call)
        let gate = gates[scope] ?? (settings(of: scope).isNothing ? nil : self.gate(of: scope))
        last = gate
        return gate
    }

    private func gate(of scope: Scope) -> Gate {
        if let known = gates[scope] { return known }
        if gates.count >= nextSweep { sweep() }
        let settings = settings(of: scope)
        let gate = Gate(scope, settings.gate(longestWait: longestWait), isForServer: settings.isNothing)
        gates[scope] = gate
        return gate
    }

    private func settings(of scope: Scope) -> LimitSettings {
        switch scope {
        case .origin: settings
        case .group(let name): groups[name.text] ?? settings
        }
    }

    /// Removes idle gates, which have the same state as new gates. Removes other gates only if too many remain.
    private func sweep() {
        let now = NIODeadline.now().uptimeNanoseconds
        for gate in gates.values where gate.machine.isIdle(now: now) { forget(gate) }
        // If too many gates remain, those without calls are removed. Their pauses and open circuits are then lost.
        if gates.count >= Limit.maximumGates {
            for gate in gates.values where gate.machine.inFlight == 0 && gate.machine.queued == 0 { forget(gate) }
        }
        nextSweep = max(Limit.gateLowWatermark, 2 * gates.count)
    }

    private func forget(_ gate: Gate) {
        gates[gate.scope] = nil
        if last === gate { last = nil }
    }

    /// Carries out releases. A released call may end at once and release other calls. These releases are queued in
    /// `gate.due` instead of carried out recursively, because a long queue would need a deep stack.
    private func perform(_ releases: [LimitGate.Release], _ gate: Gate, _ loop: ClientLoop) {
        gate.due.append(contentsOf: releases)
        guard !gate.isReleasing else { return }
        gate.isReleasing = true
        while let release = gate.due.popFirst() { perform(release, gate, loop) }
        gate.isReleasing = false
        arm(gate, loop)
    }

    private func perform(_ release: LimitGate.Release, _ gate: Gate, _ loop: ClientLoop) {
        switch release {
        case .enter(let id, let permit, let hold):
            guard let call = gate.waiting.removeValue(forKey: id) else {
                // The call has left since it was admitted.
                let now = loop.clock.now.uptimeNanoseconds
                gate.due.append(contentsOf: gate.machine.left(permit, .inconclusive, now: now))
                return
            }
            let progress = call.states[progressKey]
            progress?.permit = permit
            if let since = progress?.waitsSince {
                let wait = Duration.nanoseconds((loop.clock.now - since).nanoseconds)
                call.decide(.waited(wait, for: "\(hold.name(pauseHeader)) of \(gate.scope.name)"))
            }
            call.resume(.proceed)
        case .refuse(let id, let refusal):
            guard let call = gate.waiting.removeValue(forKey: id) else { return }
            call.states[progressKey] = nil
            call.resume(.fail(refusal.error(of: gate.scope.name)))
        }
    }

    private func arm(_ gate: Gate, _ loop: ClientLoop) {
        guard !gate.waiting.isEmpty, let deadline = gate.machine.deadline, gate.alarm.map({ deadline < $0 }) ?? true
        else { return }
        gate.alarm = deadline
        let now = loop.clock.now.uptimeNanoseconds
        let wait = Duration.nanoseconds(Int64(clamping: deadline > now ? deadline - now : 0))
        let scope = gate.scope
        loop.after(wait) { [self] in timerFired(scope, deadline, loop) }
    }

    private func timerFired(_ scope: Scope, _ deadline: UInt64, _ loop: ClientLoop) {
        guard let gate = gates[scope], gate.alarm == deadline else { return }
        gate.alarm = nil
        perform(gate.machine.timerFired(now: loop.clock.now.uptimeNanoseconds), gate, loop)
    }

    // MARK: State

    func states() -> [LimitState] {
        let now = NIODeadline.now().uptimeNanoseconds
        return gates.values.map { gate in
            LimitState(
                name: gate.scope.name, inFlight: gate.machine.inFlight, queued: gate.machine.queued,
                circuit: gate.machine.circuit,
                pause: gate.machine.pausedUntil(now: now).map { .nanoseconds(Int64(clamping: $0 - now)) })
        }.sorted { $0.name < $1.name } + pauses.states(now: now)
    }

    /// The number of gates below which unused gates are not removed.
    private static let gateLowWatermark = 256
    private static let maximumGates = 4096
}

extension LimitGate {
    /// Handles the end of an exchange. `circuit` is the new state if the state has changed.
    fileprivate mutating func leaveReporting(
        _ permit: Permit, _ ending: CircuitBreaker.Ending, now: UInt64
    ) -> (releases: [Release], circuit: CircuitBreaker.Visible?) {
        let before = circuit
        let releases = left(permit, ending, now: now)
        return (releases, circuit == before ? nil : circuit)
    }
}

extension LimitGate.BlockingLimit {
    fileprivate func name(_ header: PauseHeader?) -> String {
        switch self {
        case .concurrency: "the concurrency limit"
        case .rate(.configuredRate): "the rate limit"
        case .rate(.serverQuota): "the server's rate limit"
        case .rate(.serverPause): "the pause requested by the server (Retry-After)"
        case .rate(.pauseHeader): "the pause requested by the server (\(header?.name ?? ""))"
        case .probe: "the probe of the circuit"
        }
    }
}

extension NightjarError {
    /// Whether the error counts as a server failure for the circuit breaker.
    fileprivate var isServersFault: Bool {
        switch kind {
        case .dns, .connect, .tls, .connectionLost, .timeout, .protocol: true
        default: false
        }
    }
}
