/// Which URLs were written to of late: an answer that was asked for before a write, and comes behind it, may tell of what was
/// there before.
struct RecentWrites {
    typealias Moment = UInt64

    /// Counts writes.
    private(set) var now: Moment = 0
    private var last: [String: Moment] = [:]
    /// Whatever was asked for before it may be from before a write that is forgotten.
    private var horizon: Moment = 0

    mutating func note(_ url: String) {
        now += 1
        if last.count >= RecentWrites.most {
            last.removeAll()
            horizon = now
        }
        last[url] = now
    }

    /// Whether the URL may have been written to since.
    func mayHaveChanged(_ url: String, since moment: Moment) -> Bool {
        moment < horizon || last[url].map { moment < $0 } ?? false
    }

    private static let most = 1024
}
