/// The pages that a paginator has loaded. Distinguishes a list that continues from a list that repeats itself.
struct PageHistory: Sendable {
    /// The overlap of a page with earlier pages.
    struct PageOverlap {
        /// The page's items equal those of the previous page.
        var isPrevious = false
        /// The page repeats the end of a list that grows at the front while it is read. Only a partial page, in style
        /// page or offset, is a tail.
        var isTail = false
        /// The page's items equal those of an earlier page, and the page is not a tail.
        var isKnown = false
    }

    /// The keys of all items so far.
    private var known = FingerprintSet()
    /// The fingerprints of the items of each non-empty page. Takes 2 MB for 100,000 pages, the default of
    /// ``Pagination/maximumPages``.
    private var pages = FingerprintSet()
    /// The fingerprints of the positions of the loaded pages. Takes about as much memory as ``pages``.
    private var positions = FingerprintSet()
    /// The number of non-empty pages.
    private(set) var filledPages = 0
    /// The number of consecutive non-empty pages, up to the latest page, that repeat earlier pages.
    private(set) var consecutiveKnownPages = 0
    /// The fingerprint of the last loaded page.
    private var previous: FingerprintSet.Fingerprint?
    /// The number of elements of the largest page so far.
    private var largestPage = 0
    /// The number of consecutive pages without new items.
    private(set) var emptyPages = 0
    /// The number of items delivered or loaded in advance.
    private(set) var itemCount = 0

    func overlap(_ whole: FingerprintSet.Fingerprint, of count: Int, countsPlaces: Bool) -> PageOverlap {
        var overlap = PageOverlap()
        guard count > 0 else { return overlap }
        overlap.isPrevious = whole == previous
        overlap.isTail = overlap.isPrevious && countsPlaces && count < largestPage
        overlap.isKnown = !overlap.isTail && pages.contains(whole)
        return overlap
    }

    /// Returns true if a page was loaded from `next` before. Records that a page was loaded from `current`.
    mutating func isVisited(_ next: PagePosition, after current: PagePosition) -> Bool {
        if let print = current.fingerprint { _ = positions.insert(print) }
        return next.fingerprint.map(positions.contains) ?? false
    }

    /// Returns the indices of the elements to deliver: all elements from index `skip` with new keys.
    func newIndices(_ keys: [FingerprintSet.Fingerprint], from skip: Int) -> [Int] {
        var onPage = FingerprintSet()
        return keys.indices.filter { onPage.insert(keys[$0]) && $0 >= skip && !known.contains(keys[$0]) }
    }

    mutating func note(
        _ print: (keys: [FingerprintSet.Fingerprint], whole: FingerprintSet.Fingerprint), of count: Int, kept: Int,
        isKnown: Bool
    ) {
        largestPage = max(largestPage, count)
        itemCount += kept
        for key in print.keys { _ = known.insert(key) }
        previous = print.whole
        if count > 0 {
            _ = pages.insert(print.whole)
            filledPages += 1
            consecutiveKnownPages = isKnown ? consecutiveKnownPages + 1 : 0
        }
        emptyPages = kept == 0 ? emptyPages + 1 : 0
    }
}
