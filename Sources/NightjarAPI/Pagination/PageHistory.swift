/// The pages that a paginator has loaded, to distinguish a list that continues from one that repeats itself.
struct PageHistory: Sendable {
    /// The overlap of a page with earlier pages.
    struct Meeting {
        /// Its items are those of the page before it.
        var isPrevious = false
        /// It repeats the end of a list that grows in front while it is read: less than a full page, where places are
        /// counted.
        var isTail = false
        /// Its items are those of an earlier page, and it is no tail.
        var isMet = false
    }

    /// Keys of the items that were met.
    private var known = FingerprintSet()
    /// Of each page with items, what they were: 16 to 37 bytes a page, so up to 4 MB with ``Pagination/maximumPages`` as
    /// it is unless set.
    private var pages = FingerprintSet()
    /// The position of each page that was loaded. As large.
    private var positions = FingerprintSet()
    /// Pages with items, and how many of them in a row, up to the last, had those of an earlier one.
    private(set) var filledPages = 0
    private(set) var metInARow = 0
    /// Of the page loaded last.
    private var previous: FingerprintSet.Fingerprint?
    /// Elements of the largest page so far.
    private var largestPage = 0
    /// In a row, those without anything new.
    private(set) var emptyPages = 0
    /// Items given or ready.
    private(set) var itemCount = 0

    func meeting(_ whole: FingerprintSet.Fingerprint, of count: Int, countsPlaces: Bool) -> Meeting {
        var meeting = Meeting()
        guard count > 0 else { return meeting }
        meeting.isPrevious = whole == previous
        meeting.isTail = meeting.isPrevious && countsPlaces && count < largestPage
        meeting.isMet = !meeting.isTail && pages.contains(whole)
        return meeting
    }

    /// Whether a page was loaded from `next` before. Notes that one was loaded from `current`.
    mutating func isVisited(_ next: PagePosition, after current: PagePosition) -> Bool {
        if let print = current.fingerprint { _ = positions.insert(print) }
        return next.fingerprint.map(positions.contains) ?? false
    }

    /// Places of the elements that are given: those whose keys were not met before.
    func unmet(_ keys: [FingerprintSet.Fingerprint], from skip: Int) -> [Int] {
        var onPage = FingerprintSet()
        return keys.indices.filter { onPage.insert(keys[$0]) && $0 >= skip && !known.contains(keys[$0]) }
    }

    mutating func note(
        _ print: (keys: [FingerprintSet.Fingerprint], whole: FingerprintSet.Fingerprint), of count: Int, kept: Int,
        isMet: Bool
    ) {
        largestPage = max(largestPage, count)
        itemCount += kept
        for key in print.keys { _ = known.insert(key) }
        previous = print.whole
        if count > 0 {
            _ = pages.insert(print.whole)
            filledPages += 1
            metInARow = isMet ? metInARow + 1 : 0
        }
        emptyPages = kept == 0 ? emptyPages + 1 : 0
    }
}
