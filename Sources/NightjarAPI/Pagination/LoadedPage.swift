/// A page of a list, with the ranges of its items in the response body.
package struct LoadedPage: Sendable {
    /// The number of the page, from 1. Empty pages count too.
    package let number: Int
    /// The ranges of the items in the body. Items that were delivered before, by their keys or by the position from
    /// which the list was resumed, are not included.
    package let items: [Range<Int>]
    /// The index of each item in the response's array.
    package let indices: [Int]
    /// The number of elements of the response's array.
    package let count: Int
    let place: SavedPlace
    /// The place after this page. Nil if the caller must set the next page (style custom).
    let after: SavedPlace?
    let origin: PageStateOrigin

    /// Returns the position after the first `consumed` items of this page as text, to resume from.
    ///
    /// A position within a page is a count of elements: the page is loaded again and that many elements are skipped. If
    /// the server's page has changed in the meantime, deleted items cause others to be missed, and inserted items cause
    /// others to be repeated. A position at the end of a page has this limitation in the styles page, offset and
    /// custom. In the other styles, the limitation depends on the server.
    ///
    /// - Parameter consumed: the number of items of this page that the caller has processed. If it is not less than the
    ///   number of items, the position is after the page.
    package func state(consumed: Int) -> String { position(consumed: consumed).state }

    /// Returns the same position as ``state(consumed:)``, serialized on demand.
    package func position(consumed: Int) -> SavedPosition {
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

/// A position in a list.
package struct SavedPosition: Sendable {
    let saved: SavedPlace
    let origin: PageStateOrigin

    /// The position as text, to resume in another run.
    package var state: String { origin.write(saved) }
}

/// The place of a page in the sequence of pages.
struct PagePlace: Sendable, Equatable {
    var position = PagePosition.first
    /// The number of the page, from 1.
    var number = 1
    /// The number of elements on earlier pages. Not counted in style custom.
    var seen = 0
    /// The number of elements at the beginning of the page that were already delivered.
    var skip = 0

    /// The place of the next page. The caller must set its position.
    var next: PagePlace { PagePlace(number: number + 1, seen: seen) }
}

struct SavedPlace: Sendable {
    var place: PagePlace
    var skip: Int {
        get { place.skip }
        set { place.skip = newValue }
    }
    /// The plan of the list. Nil before the first page, after a 304 response and, in style custom, until a response has
    /// content.
    var plan: PagePlan?

    init(place: PagePlace, skip: Int, plan: PagePlan?) {
        self.place = place
        self.plan = plan
        self.skip = skip
    }
}
