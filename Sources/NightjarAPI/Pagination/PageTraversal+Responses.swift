import NIOCore

/// Handles the pages that the server sends.
extension PageTraversal {
    /// Reads a page and determines the position after it.
    mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ headers: Headers, at url: RequestURL, _ place: PagePlace
    ) throws(NightjarError) {
        let isBlank = bytes.allSatisfy(ASCII.isWhitespace)
        if !isBlank {
            do throws(NightjarError) {
                try JSONValue.check(bytes)
            } catch {
                guard error.kind == .decoding else { throw error }
                throw NightjarError(.decoding, "page \(place.number) is \(error.message)")
            }
        }
        let ranges = JSONRanges(bytes)
        let response = PageResponse(
            headers: headers, ranges: ranges, document: isBlank ? nil : ranges.document, number: place.number)
        var guessed: [String] = []
        let plan: PagePlan
        if let known = self.plan {
            plan = known
        } else {
            (plan, guessed) = try PagePlan.make(options, response, first)
        }
        let reading = PageReading(options: options, plan: plan, response: response, place: place, first: first)
        let elements = try reading.elements()
        let print = try reading.fingerprints(elements)
        let overlap = history.overlap(print.whole, of: elements.count, countsPlaces: reading.countsPlaces)
        let step = try step(from: reading, elements, overlap, at: url)
        let kept =
            if overlap.isTail { [Int]() } else if options.key != nil {
                history.newIndices(print.keys, from: place.skip)
            } else {
                Array(min(place.skip, elements.count)..<elements.count)
            }
        try checkBounds(kept.count, ends: step.next == .end)
        history.note(print, of: elements.count, kept: kept.count, isKnown: overlap.isKnown)
        isProbingBeyondTotal = step.requestsBeyond
        if response.document != nil { self.plan = plan }
        if !guessed.isEmpty { explanation = "guessed: " + PageTraversal.sentence(guessed) }
        // A page that only marks the end of a numbered list is not delivered.
        let onlyEnds =
            (elements.isEmpty || overlap.isTail) && reading.countsPlaces && step.next == .end && place.number > 1
        if !onlyEnds {
            ready.append(
                LoadedPage(
                    number: place.number, items: kept.map { elements[$0] }, indices: kept, count: elements.count,
                    place: SavedPlace(place: place, skip: place.skip, plan: plan),
                    after: step.next == nil ? nil : SavedPlace(place: step.place, skip: 0, plan: plan), origin: origin))
        }
        if step.next == nil {
            frontier = .awaitingNext(place, responseURL: url)
        } else {
            frontier = step.place.position == .end ? .end : .at(step.place)
        }
    }

    /// The transition from one page to the next.
    private struct Step {
        /// Nil if the caller must set the next page (style custom).
        var next: PageReading.Next?
        /// The place of the next page. Its position is valid only if `next` is not nil.
        var place: PagePlace
        /// True if the list ends by the counts in the response, but the next page is requested to check that the server
        /// uses the page number or offset.
        var requestsBeyond = false
    }

    /// Determines the transition from the page of `reading` to the next one.
    ///
    /// - Throws: `protocol` if the list repeats itself, its next page was loaded before, or the URL of the next page is
    ///   invalid; `decoding` if the response does not match the options.
    private mutating func step(
        from reading: PageReading, _ elements: [Range<Int>], _ overlap: PageHistory.PageOverlap, at url: RequestURL
    ) throws(NightjarError) -> Step {
        let place = reading.place
        func repeated() -> NightjarError { reading.repeated(ofPrevious: overlap.isPrevious) }
        if overlap.isKnown, isProbingBeyondTotal || reading.areDistinctive(elements) { throw repeated() }
        var step = Step(next: overlap.isTail ? .end : try reading.next(elements), place: place.next)
        let consecutiveKnownPages = history.consecutiveKnownPages + 1
        if overlap.isKnown, consecutiveKnownPages > PageTraversal.maximumConsecutiveKnownPages {
            throw reading.repeated(inARow: consecutiveKnownPages)
        }
        if overlap.isKnown, step.next == .end, consecutiveKnownPages == history.filledPages,
            let beyond = try reading.positionBeyondTotal(elements)
        {
            (step.next, step.requestsBeyond) = (beyond, true)
        }
        step.place.seen += elements.count
        guard let next = step.next else { return step }
        step.place.position = try position(next, from: url)
        let current = place.position == .first ? PagePosition.url(first) : place.position
        guard history.isVisited(step.place.position, after: current) else { return step }
        guard try reading.endsByRepeating(step.place.position, elements) else {
            throw overlap.isKnown ? repeated() : reading.noProgress(isSame: step.place.position == current)
        }
        step.next = .end
        step.place.position = .end
        return step
    }

    /// Checks the limits on items and on consecutive pages without new items.
    ///
    /// - Throws: `too_large` for more items than ``Pagination/maximumItems``; `protocol` for too many pages without new
    ///   items.
    private func checkBounds(_ kept: Int, ends: Bool) throws(NightjarError) {
        guard history.itemCount + kept <= options.maximumItems else {
            throw NightjarError(
                .tooLarge,
                "the list has more than \(options.maximumItems) items, \(history.itemCount) of which were loaded; "
                    + "raise max_items to continue")
        }
        guard kept > 0 || history.emptyPages < PageTraversal.maximumEmptyPages || ends else {
            throw NightjarError(
                .protocol,
                "\(history.emptyPages + 1) consecutive pages had no new items, but the server says that more items "
                    + "follow")
        }
    }

    /// Handles a 304 response to conditional header fields that the caller has set.
    mutating func takeUnmodified(_ place: PagePlace) throws(NightjarError) {
        guard place.number == 1 else {
            throw NightjarError(
                .decoding,
                "page \(place.number) has status 304 and no content; send conditional header fields only for lists "
                    + "of one page")
        }
        var behind = place.next
        behind.position = .end
        let saved = SavedPlace(place: place, skip: place.skip, plan: nil)
        ready.append(
            LoadedPage(
                number: 1, items: [], indices: [], count: 0, place: saved,
                after: SavedPlace(place: behind, skip: 0, plan: nil), origin: origin))
        frontier = .end
    }
}
