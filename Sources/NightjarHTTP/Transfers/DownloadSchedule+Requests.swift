/// The choice of the bytes that are requested next.
extension DownloadSchedule {
    private var isComplete: Bool { total.map { received.contains(0..<$0) } ?? false }

    /// The number of connections that may be used at once.
    private var maximumActive: Int {
        canContinue && total != nil && !ignoresRanges ? settings.connections : 1
    }

    /// Requests what is missing.
    mutating func plan() {
        guard state == .running else { return }
        if let total, !admits(total) { return }
        if isComplete {
            // The end of a response shows whether it has its digest.
            guard !isReceiving else { return }
            close()
            return actions.append(.finish)
        }
        var active = connections.count { $0.isActive }
        for index in connections.indices where active < maximumActive {
            guard case .idle = connections[index].phase else { continue }
            guard let bytes = nextBytes(isFirst: active == 0) else { break }
            active += 1
            request(index, bytes)
        }
    }

    private mutating func request(_ number: Int, _ bytes: Range<Int>) {
        attempts += 1
        guard bytes != DownloadSchedule.everything else {
            connections[number].phase = .connecting(nil)
            return actions.append(.request(number, nil))
        }
        connections[number].phase = .connecting(bytes)
        actions.append(.request(number, RangeRequest(bytes: bytes, validator: validator)))
    }

    /// Returns the bytes to request next, or nil if all are requested.
    ///
    /// - Parameter isFirst: Whether no other request is in progress.
    private func nextBytes(isFirst: Bool) -> Range<Int>? {
        guard canContinue else {
            guard isFirst else { return nil }
            // The first range also shows whether the server supports ranges.
            let isProbe = usesRanges && settings.connections > 1 && validator == nil && received.isEmpty
            return isProbe ? 0..<DownloadSchedule.smallestPiece : DownloadSchedule.everything
        }
        guard let total else { return isFirst ? received.prefixEnd..<Int.max : nil }
        guard let gap = received.union(requested()).firstGap(below: total) else { return nil }
        if gap == 0..<total, settings.connections == 1 { return DownloadSchedule.everything }
        guard maximumActive > 1 else { return gap }
        let piece = max(total / (4 * settings.connections), DownloadSchedule.smallestPiece)
        return gap.prefix(min(piece, DownloadSchedule.largestPiece))
    }

    /// Returns the end of the bytes that a response can supply: the first position after the requested bytes that was
    /// received, or that another connection has requested.
    func suppliedEnd(_ number: Int, after wanted: Range<Int>) -> Int {
        let taken = received.union(requested(except: number))
        guard let next = taken.ranges.first(where: { $0.upperBound > wanted.upperBound }) else { return .max }
        return max(next.lowerBound, wanted.upperBound)
    }

    /// Returns the bytes that the connections have requested.
    private func requested(except number: Int? = nil) -> RangeSet {
        var set = RangeSet()
        for index in connections.indices where index != number {
            switch connections[index].phase {
            case .connecting(let bytes): set.insert(bytes ?? DownloadSchedule.everything)
            case .receiving(let receiving): set.insert(receiving.start..<receiving.end)
            case .idle, .waiting, .unused: break
            }
        }
        return set
    }

    private static let everything = 0..<Int.max
    /// Smaller pieces would cost more round trips than they gain.
    private static let smallestPiece = 1 << 20
    /// With larger pieces, a slow connection would delay the end.
    private static let largestPiece = 64 << 20
}
