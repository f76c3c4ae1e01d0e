extension PagePlan {
    /// Completes the caller's options with guesses from the first response.
    ///
    /// - Returns: the plan, and a clause for messages about each guess.
    /// - Throws: `decoding` if the response does not reveal enough.
    static func make(
        _ options: Pagination, _ response: PageResponse, _ first: RequestURL
    ) throws(NightjarError) -> (plan: PagePlan, guessed: [String]) {
        let hints = PageHints(response: response)
        var guessed: [String] = []
        var plan = PagePlan(options.style, items: JSONPointer())
        if let items = options.items {
            plan.items = items
        } else if response.document != nil || options.style == .guess {
            plan.items = try hints.items()
            guessed.append(
                plan.items.tokens.isEmpty
                    ? "the response itself is the list" : "the items are at \(quoted(plan.items.description))")
        }
        plan.next = options.next
        plan.more = options.more
        plan.total = options.total
        switch options.style {
        case .guess: try plan.guess(options, hints, first, &guessed)
        case .page: plan.parameter = options.parameter ?? "page"
        case .offset: plan.parameter = options.parameter ?? "offset"
        case .header:
            plan.parameter = options.parameter ?? ""
            plan.header = options.header ?? ""
        case .cursor:
            if plan.next == nil, let known = hints.cursor() {
                plan.next = known.pointer
                guessed.append("the cursor is at \(quoted(known.pointer.description))")
            }
            let parameter = options.cursorParameter(usual: PageHints.parameter(for: plan.next))
            plan.parameter = parameter.name
            if parameter.isGuessed { guessed.append("the query item \(quoted(parameter.name)) takes the cursor") }
        case .next:
            if plan.next == nil, let pointer = hints.url()?.pointer ?? hints.ambiguous() {
                plan.next = pointer
                guessed.append("the URL of the next page is at \(quoted(pointer.description))")
            }
        case .link, .custom: break
        }
        return (plan, guessed)
    }

    private mutating func guess(
        _ options: Pagination, _ hints: PageHints, _ first: RequestURL, _ guessed: inout [String]
    ) throws(NightjarError) {
        if let next { return try guessKind(of: next, options, hints, &guessed) }
        if LinkField.next(in: hints.response.links) != nil {
            style = .link
            guessed.append("a Link field names the next page")
            return
        }
        let (url, cursor) = (hints.url(), hints.cursor())
        if let url, url.hasNext || cursor?.hasNext != true && hints.moreFlag() == nil {
            style = .next
            next = url.pointer
            guessed.append("the URL of the next page is at \(quoted(url.pointer.description))")
            applyMoreFlag(hints, &guessed)
        } else if let cursor, cursor.hasNext || hints.moreFlag() == nil {
            adopt(cursor.pointer, options.cursorParameter(usual: cursor.parameter).name, &guessed)
            applyMoreFlag(hints, &guessed)
        } else if !guessLastId(options, hints, &guessed), !guessLastItem(options, hints, first, &guessed),
            !guessNumbers(options, hints, &guessed), !guessField(hints, &guessed)
        {
            try guessByRequest(options, hints, first, &guessed)
        }
    }

    /// Adopts the response's flag for more items if there is one, unless the caller has set its location. APIs such as
    /// Relay's connections send a cursor on the last page too, so only the flag marks the end.
    private mutating func applyMoreFlag(_ hints: PageHints, _ guessed: inout [String]) {
        guard more == nil, let flag = hints.moreFlag() else { return }
        more = flag
        guessed.append("\(quoted(flag.description)) says whether more items follow")
    }

    private mutating func adopt(_ pointer: JSONPointer, _ parameter: String, _ guessed: inout [String]) {
        style = .cursor
        next = pointer
        self.parameter = parameter
        guessed.append("the cursor is at \(quoted(pointer.description))")
        guessed.append("the query item \(quoted(parameter)) takes the cursor")
    }

    /// Selects a style for a location that the caller has set without a style: cursor if the response has a value there
    /// that does not look like a URL, otherwise next.
    private mutating func guessKind(
        of pointer: JSONPointer, _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) throws(NightjarError) {
        guard case .value(let text) = try hints.response.seek(pointer, "a cursor or a URL"), !PageHints.isURL(text)
        else {
            style = .next
            guessed.append("the value at \(quoted(pointer.description)) is the URL of the next page")
            return
        }
        adopt(pointer, options.cursorParameter(usual: PageHints.parameter(for: pointer)).name, &guessed)
    }

    /// Selects style cursor if the response has a `has_more` flag and a `last_id`, as in OpenAI's API. Otherwise
    /// returns false.
    private mutating func guessLastId(
        _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) -> Bool {
        guard let flag = options.more ?? hints.moreFlag(), let id = hints.lastId() else { return false }
        more = flag
        adopt(id, options.cursorParameter(usual: "after").name, &guessed)
        guessed.append("\(quoted(flag.description)) says whether more items follow")
        return true
    }

    /// Selects style header if a field other than Link contains the URL of the next page. Otherwise returns false.
    private mutating func guessField(_ hints: PageHints, _ guessed: inout [String]) -> Bool {
        guard let name = hints.nextField(withURL: true) else { return false }
        style = .header
        header = name
        guessed.append("the header field \(quoted(name)) has the URL of the next page")
        return true
    }

    /// Selects style cursor if the response has a `has_more` flag and its last item has an ID, as in Stripe's API. The
    /// ID is the cursor.
    ///
    /// Returns false if the list does not have this form, or if the response has a page number or an offset. Also
    /// returns false if ``adoptNumber(_:_:)`` finds a query item and the endpoint declares none for a cursor.
    private mutating func guessLastItem(
        _ options: Pagination, _ hints: PageHints, _ first: RequestURL, _ guessed: inout [String]
    ) -> Bool {
        var counted = self
        if counted.adoptNumber(options, first), !PageHints.cursorNames.contains(where: options.declares) {
            return false
        }
        guard let flag = options.more ?? hints.moreFlag(), let list = hints.response.find(items),
            let last = hints.response.ranges.elements(of: list, limit: PageReading.maximumElements)?.last
        else { return false }
        let id = JSONPointer(tokens: ["id"])
        guard hints.pageNumber() == nil, hints.offset() == nil, hints.response.ranges.value(at: id, in: last) != nil
        else { return false }
        style = .cursor
        more = flag
        lastItem = id
        parameter = options.cursorParameter(usual: "starting_after").name
        guessed.append("\(quoted(flag.description)) says whether more items follow")
        guessed.append("the query item \(quoted(parameter)) takes the id of the last item")
        return true
    }

    private mutating func guessNumbers(
        _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) -> Bool {
        let flag = options.more ?? hints.moreFlag()
        let total = options.total ?? hints.total()
        if let page = hints.pageNumber(), hints.lastPage() != nil || flag != nil || total != nil {
            style = .page
            number = page
            last = hints.lastPage()
            more = flag
            self.total = last == nil && flag == nil ? total : options.total
            parameter = options.parameter ?? PageHints.pageNames.first(where: options.declares) ?? "page"
            guessed.append("the page number is at \(quoted(page.description))")
        } else if let offset = hints.offset(), let name = offset.tokens.last, total != nil || flag != nil {
            style = .offset
            number = offset
            more = flag
            self.total = total
            parameter = options.parameter ?? offsetName(options, usual: name)
            guessed.append("the offset of the first item is at \(quoted(offset.description))")
        } else {
            return false
        }
        guessed.append("the query item \(quoted(parameter)) requests the next page")
        return true
    }

    private func offsetName(_ options: Pagination, usual: String) -> String {
        if options.declares(usual) { return usual }
        return PageHints.offsetNames.first(where: options.declares) ?? usual
    }

    /// Guesses the next page from the first request, because the response does not specify it. The first request or its
    /// endpoint may have a query item for an offset or a page number.
    ///
    /// - Throws: `decoding` if more items follow, or may follow, and the next request is unknown.
    private mutating func guessByRequest(
        _ options: Pagination, _ hints: PageHints, _ first: RequestURL, _ guessed: inout [String]
    ) throws(NightjarError) {
        let elements = hints.response.find(items).flatMap {
            hints.response.ranges.elements(of: $0, limit: PageReading.maximumElements)
        }
        let count = elements?.count ?? 0
        let hints = PageHints(response: hints.response, reached: PageHints.reached(first, options, count))
        if let pointer = hints.ambiguous() {
            throw NightjarError(
                .decoding,
                "the next page cannot be determined: the value at \(quoted(pointer.description)) of page 1 is not a "
                    + "URL; set style, next and param")
        }
        let requested = PageHints.requestedSize(first, options)
        guard let reason = hints.continuationHint(count: count) ?? hints.fullPage(count, requested: requested) else {
            let flag = options.more ?? hints.moreFlag()
            guessed.append(
                flag.map { "\(quoted($0.description)) says that no more items follow, so page 1 is the whole list" }
                    ?? "nothing in the response says that more items follow, so page 1 is the whole list")
            return
        }
        guard count > 0, adoptNumber(options, first) else {
            throw NightjarError(
                .decoding, "the next page cannot be determined, although \(reason.dropPage); set style and param")
        }
        more = options.more ?? hints.moreFlag()
        total = options.total ?? (more == nil && style == .offset ? hints.total() : nil)
        guessed.append("\(reason.dropPage)")
        guessed.append("the query item \(quoted(parameter)) requests the next page")
    }

    /// Selects the query item for the offset or the page number: set by the caller, present in the first request, or
    /// declared by the endpoint. Sets ``style`` and ``parameter``. Returns false if there is none, or if neither the
    /// first request nor the endpoint confirms the number of the first page.
    private mutating func adoptNumber(_ options: Pagination, _ first: RequestURL) -> Bool {
        func isNumber(_ name: String) -> Bool { first.queryValue(name).flatMap(PageResponse.count) != nil }
        func startsAtFirst(_ name: String) -> Bool {
            options.declared.contains { $0.name == name && $0.start == options.first }
        }
        let (offsets, pages) = (PageHints.offsetNames, PageHints.pageNames)
        if let name = options.parameter {
            style = offsets.contains(name) ? .offset : .page
            parameter = name
            return style == .offset || isNumber(name) || startsAtFirst(name)
        }
        if let name = offsets.first(where: isNumber) {
            (style, parameter) = (.offset, name)
        } else if let name = pages.first(where: isNumber) {
            (style, parameter) = (.page, name)
        } else if let name = offsets.first(where: options.declares) {
            (style, parameter) = (.offset, name)
        } else if let name = pages.first(where: startsAtFirst) {
            (style, parameter) = (.page, name)
        } else {
            return false
        }
        return true
    }
}

extension String {
    /// Replaces "it" with "page 1": "page 1 says" for "it says".
    fileprivate var dropPage: String {
        if hasPrefix("it ") { return "page 1 " + dropFirst(3) }
        return hasPrefix("its ") ? "page 1's " + dropFirst(4) : self
    }
}
