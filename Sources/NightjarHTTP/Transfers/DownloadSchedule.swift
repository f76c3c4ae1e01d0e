import NIOCore

/// The state machine of a download with ranges. It decides which bytes are requested on which connection, whether a
/// response is used, when the download starts over, and when it has ended. RFC 9110 section 14.
///
///     running ──all bytes received──▶ ended
///      │   ▲ └──permanent failure───▶ ended
///    pause resume
///      ▼   │
///     paused
///
/// Each connection has a number, from 0:
///
///     idle ──request──▶ connecting ──head──▶ receiving ──end──▶ idle
///      ▲                    └──failure──▶ waiting ◀──failure──┘
///      └────────────────── time has passed ──┘
///
/// Bytes of several responses are combined only if all of them have the same strong validator (RFC 9110 section
/// 13.1.5). Content-Range decides where bytes belong, not the status.
package struct DownloadSchedule: Sendable {
    /// The next step of the caller.
    package enum Action: Sendable {
        /// Send a request on the connection, and then call ``opened(_:status:_:)`` or ``ended(_:_:using:)``. Nil: the
        /// whole content.
        case request(Int, RangeRequest?)
        /// Wait, and then call ``waited(_:_:)`` with the number of the wait.
        case wait(Int, Int, Duration)
        /// Cancel the request of the connection. Nothing is reported for it any more.
        case cancel(Int)
        /// Discard the content of the part.
        case reset
        /// The part is complete. Verify it.
        case finish
        case fail(NightjarError)
    }

    /// A request for some bytes.
    package struct RangeRequest: Sendable, Equatable {
        package let bytes: Range<Int>
        /// The validator for If-Range. Nil: the content is not known yet.
        package let validator: StrongValidator?

        /// The value of the Range field.
        package var field: String {
            bytes.upperBound == .max
                ? "bytes=\(bytes.lowerBound)-" : "bytes=\(bytes.lowerBound)-\(bytes.upperBound - 1)"
        }
    }

    /// Where a part of a body belongs.
    package struct Placement: Sendable, Equatable {
        /// The number of bytes at the beginning that are discarded.
        package var skip = 0
        /// The number of bytes after them that are written.
        package var take = 0
        /// The position of the written bytes in the content.
        package var offset = 0
        /// Whether the rest of the body is not needed, and is long. The caller may cancel the request and report its end.
        package var isLast = false
    }

    enum State { case running, paused, ended }

    struct Connection {
        var phase = Phase.idle
        /// The number of failures since the last new byte.
        var failures = 0

        var isActive: Bool {
            switch phase {
            case .connecting, .receiving: true
            case .idle, .waiting, .unused: false
            }
        }
    }

    enum Phase {
        case idle
        /// The number of the wait. The timers of earlier waits are ignored.
        case waiting(Int)
        /// The bytes that were requested. Nil: the whole content.
        case connecting(Range<Int>?)
        case receiving(Receiving)
        /// The server does not accept so many connections.
        case unused
    }

    struct Receiving {
        /// The bytes that precede the wanted ones.
        var skip: Int
        let start: Int
        var next: Int
        /// The end of the wanted bytes. `Int.max` if unknown.
        let end: Int
        /// The end of the range that the server has announced.
        let announcedEnd: Int
        /// The bytes after ``end`` that were discarded.
        var discarded = 0
    }

    /// Whether a request may be sent again.
    let canRepeat: Bool
    let settings: DownloadSettings
    var state = State.running
    var connections: [Connection]
    var actions: [Action] = []
    // The facts about the content:
    package internal(set) var received = RangeSet()
    /// The length in bytes. Nil if it is not known.
    package internal(set) var total: Int?
    var validator: StrongValidator?
    /// The digest that the server has sent.
    package internal(set) var digest: Checksum?
    /// The time of the last modification, in seconds since 1970.
    package internal(set) var modified: Int64?
    /// The file name that the server has suggested.
    package internal(set) var name: String?
    /// Whether the body is compressed, so that ranges of the file cannot be requested.
    var isCoded = false
    /// Whether ranges are requested. False after the server has sent invalid ones, and for other methods than GET.
    var usesRanges = true
    /// Whether the server responds to range requests with the whole content.
    var ignoresRanges = false
    /// The number of responses that were not used since the last start: an invalid range, or a body without its digest.
    var rejections = 0
    /// The number of times that the download has started over.
    var restarts = 0
    /// Whether no byte was written to the part since it was created or reset.
    var isPartEmpty = true
    private var lastWait = 0
    /// The bytes of an earlier download that are used.
    package private(set) var resumed = 0
    /// The body bytes that were received, including those that were discarded.
    package internal(set) var fetched = 0
    /// The number of requests.
    package internal(set) var attempts = 0

    /// - Parameters:
    ///   - record: The part that is continued.
    ///   - canRepeat: Whether the request may be sent again after a response has started. False for other methods than
    ///     GET, which have no ranges either.
    package init(_ settings: DownloadSettings, _ record: DownloadRecord?, canRepeat: Bool = true) {
        var settings = settings
        self.canRepeat = canRepeat
        if !canRepeat {
            (settings.attempts, settings.restarts, settings.connections, usesRanges) = (1, false, 1, false)
        }
        self.settings = settings
        connections = Array(repeating: Connection(), count: settings.connections)
        guard canRepeat, let record, record.validator != nil else { return }
        (received, total, validator) = (record.received, record.total, record.validator)
        (digest, modified, name) = (record.digest, record.modified, record.name)
        resumed = received.count
        isPartEmpty = false
    }

    /// Removes and returns the next action.
    package mutating func next() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    package var isPaused: Bool { state == .paused }
    /// Whether a connection receives data or waits for a response.
    package var isActive: Bool { connections.contains { $0.isActive } }
    package var isReceiving: Bool {
        connections.contains { if case .receiving = $0.phase { true } else { false } }
    }
    package var isWaiting: Bool { connections.contains { if case .waiting = $0.phase { true } else { false } } }
    /// The facts that a later download needs to continue, apart from the part.
    package var record: DownloadRecord {
        var record = DownloadRecord()
        (record.received, record.total, record.validator) = (received, total, validator)
        (record.digest, record.modified, record.name) = (digest, modified, name)
        return record
    }
    /// Whether the received bytes can be used by a later request.
    package var canContinue: Bool { usesRanges && validator != nil && !isCoded }

    // MARK: Commands

    package mutating func start() { plan() }

    package mutating func pause() {
        guard state == .running else { return }
        state = .paused
        cancelConnections()
    }

    package mutating func resume() {
        guard state == .paused else { return }
        state = .running
        for index in connections.indices { connections[index].failures = 0 }
        if !canContinue, !received.isEmpty || attempts > 0 && !canRepeat {
            guard startOver(because: "it was paused") else { return }
        }
        plan()
    }

    /// Ends the download.
    package mutating func close() {
        cancelConnections()
        state = .ended
    }

    // MARK: Events

    /// Handles the end of a wait.
    package mutating func waited(_ number: Int, _ wait: Int) {
        guard case .waiting(wait) = connections[number].phase else { return }
        connections[number].phase = .idle
        plan()
    }

    /// Handles a part of a body. Nil: the part is discarded, because the response is not used any more.
    package mutating func place(_ count: Int, from number: Int) -> Placement? {
        guard case .receiving(var receiving) = connections[number].phase else { return nil }
        fetched &+= count
        var placement = Placement()
        placement.skip = min(receiving.skip, count)
        receiving.skip -= placement.skip
        let rest = count - placement.skip
        (placement.take, placement.offset) = (min(rest, receiving.end - receiving.next), receiving.next)
        receiving.next += placement.take
        if let limit = settings.maximumSize, receiving.next > limit {
            fail(DownloadSchedule.tooLarge(limit))
            return nil
        }
        receiving.discarded &+= rest - placement.take
        connections[number].phase = .receiving(receiving)
        let excess = receiving.announcedEnd - receiving.end
        if receiving.discarded > excess {
            reject(number, "the body is longer than its Content-Range")
            return nil
        }
        placement.isLast = receiving.next == receiving.end && excess > DownloadSchedule.longestExcess
        return placement
    }

    /// Handles bytes that were written to the part.
    package mutating func wrote(_ range: Range<Int>, from number: Int) {
        let before = received.count
        received.insert(range)
        guard received.count > before else { return }
        connections[number].failures = 0
    }

    /// Handles the end of a response, when all its bytes are written, or the failure of the request.
    ///
    /// - Parameter error: Nil if the body has ended normally.
    package mutating func ended(_ number: Int, _ error: NightjarError?, using random: inout some RandomNumberGenerator)
    {
        guard connections[number].isActive else { return }
        if let error { return failed(number, error, using: &random) }
        if case .receiving(let receiving) = connections[number].phase {
            guard receiving.end == .max || receiving.next == receiving.end else {
                let error = NightjarError(
                    .connectionLost, "the response ended before the end of its range", phase: .receive)
                return failed(number, error, using: &random)
            }
            guard receiving.skip == 0 else {
                cancel(number)
                if startOver(because: "the content is shorter than the part") { plan() }
                return
            }
            if receiving.end == .max { total = receiving.next }
        }
        connections[number].phase = .idle
        plan()
    }

    /// Handles the end of a response whose body does not have its digest. Its bytes are requested again.
    package mutating func damaged(
        _ number: Int, _ error: NightjarError, using random: inout some RandomNumberGenerator
    ) {
        guard case .receiving(let receiving) = connections[number].phase else { return }
        received.remove(receiving.start..<receiving.next)
        connections[number].phase = .idle
        rejections += 1
        guard rejections < settings.attempts else { return fail(error) }
        if !canContinue, !received.isEmpty {
            guard startOver(because: error.message) else { return }
        }
        wait(number, TransferSettings.wait(afterFailures: rejections, settings.retryDelay, using: &random))
    }

    /// Handles a content that does not have its digest. If part of it was received by an earlier download, the download
    /// starts over once.
    package mutating func mismatched(_ error: NightjarError) {
        guard resumed > 0, settings.restarts else { return actions.append(.fail(error)) }
        state = .running
        resumed = 0
        if startOver(because: "its digest differed") { plan() }
    }

    // MARK: Ending

    mutating func fail(_ error: NightjarError) {
        guard state != .ended else { return }
        close()
        actions.append(.fail(error))
    }

    mutating func cancel(_ number: Int) {
        if connections[number].isActive { actions.append(.cancel(number)) }
        connections[number].phase = .idle
    }

    private mutating func cancelConnections() {
        for index in connections.indices { cancel(index) }
    }

    /// Discards all bytes. Returns false if the download has failed instead.
    mutating func startOver(because reason: String, keeping number: Int? = nil) -> Bool {
        guard settings.restarts else {
            let advice = canContinue ? "the part is kept; start over without it" : "the part is discarded; start over"
            fail(NightjarError(.contentChanged, "the download cannot continue: \(reason); \(advice)"))
            return false
        }
        restarts += 1
        guard restarts <= settings.attempts else {
            fail(
                NightjarError(
                    .contentChanged, "the download has started over \(settings.attempts) times; last because \(reason)")
            )
            return false
        }
        for index in connections.indices where index != number { cancel(index) }
        isPartEmpty = true
        (received, total, validator) = (RangeSet(), nil, nil)
        (digest, modified, name) = (nil, nil, nil)
        (isCoded, ignoresRanges, rejections, resumed) = (false, false, 0, 0)
        actions.append(.reset)
        return true
    }

    mutating func wait(_ number: Int, _ time: Duration) {
        lastWait += 1
        connections[number].phase = .waiting(lastWait)
        actions.append(.wait(number, lastWait, time))
    }

    static func tooLarge(_ limit: Int) -> NightjarError {
        NightjarError(
            .tooLarge, "the content is larger than max_size (\(limit) bytes); raise max_size", phase: .receive)
    }

    /// Receiving and discarding so many bytes costs less than another connection.
    private static let longestExcess = 64 * 1024
}
