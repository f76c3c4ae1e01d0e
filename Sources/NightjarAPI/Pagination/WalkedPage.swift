/// A page of a list, as ``PageWalk`` gives it: where in the body of the answer its items are.
public struct WalkedPage: Sendable {
    /// Counts from 1; pages without items count too.
    public let number: Int
    /// The items, in the bytes of the body. Without those that were given before, by their keys.
    public let items: [Range<Int>]
    /// The place of each in the array of the answer.
    public let indices: [Int]
    /// Elements of the answer's array.
    public let count: Int
    let place: SavedPlace
    /// Nil: the caller decides.
    let after: SavedPlace?
    let origin: PageStateOrigin

    /// The position behind the first `consumed` items of this page, for resuming a walk there.
    ///
    /// Within a page it is a count of places: the page is loaded again, and so many elements of it are passed over. Where
    /// the server's page has changed meanwhile, an item deleted in front of the place shifts what is given: as many as
    /// were deleted are missed, and as many as were inserted come again. A position at the page's end does not have this.
    ///
    /// - Parameter consumed: all of them and more: behind the page.
    public func state(consumed: Int) -> String { position(consumed: consumed).state }

    /// The same, to be made a text when that is wanted.
    public func position(consumed: Int) -> SavedPosition {
        SavedPosition(saved: saved(consumed: consumed), origin: origin)
    }

    func saved(consumed: Int) -> SavedPlace {
        guard consumed < indices.count else {
            if let after { return after }
            var behind = place
            behind.skip = count
            return behind
        }
        var within = place
        if consumed > 0 { within.skip = indices[consumed - 1] + 1 }
        return within
    }
}

/// A place in a list.
public struct SavedPosition: Sendable {
    let saved: SavedPlace
    let origin: PageStateOrigin

    /// As a text for another run.
    public var state: String { origin.write(saved) }
}

/// Where in a walk a page is.
struct PagePlace: Sendable, Equatable {
    var position = PagePosition.first
    /// Counts from 1.
    var number = 1
    /// Elements of the pages before.
    var seen = 0
    /// Elements at the beginning of the page that were given before.
    var skip = 0

    /// Its position is still to be set.
    var next: PagePlace { PagePlace(number: number + 1, seen: seen) }
}

struct SavedPlace: Sendable {
    var place: PagePlace
    var skip: Int {
        get { place.skip }
        set { place.skip = newValue }
    }
    /// What was found out, where the position depends on it.
    var plan: PagePlan?

    init(place: PagePlace, skip: Int, plan: PagePlan?) {
        self.place = place
        self.plan = plan
        self.skip = skip
    }
}
