extension PagePlan {
    /// What is left open by the caller, found out from the first answer.
    ///
    /// - Returns: also one sentence about each thing that was found out, without a full stop.
    /// - Throws: `decoding` where the answer does not tell, saying what to set.
    static func make(
        _ options: Pagination, _ answer: PageAnswer
    ) throws(NightjarError) -> (plan: PagePlan, guessed: [String]) {
        let hints = PageHints(answer: answer)
        var guessed: [String] = []
        var plan = PagePlan(options.style, items: JSONPointer())
        if let items = options.items {
            plan.items = items
        } else if answer.document != nil || options.style == .guess {
            plan.items = try hints.items()
            guessed.append(
                plan.items.tokens.isEmpty
                    ? "the answer itself is the list" : "the items are at \(quoted(plan.items.description))")
        }
        plan.next = options.next
        plan.more = options.more
        plan.total = options.total
        switch options.style {
        case .guess: try plan.guess(options, hints, &guessed)
        case .page: plan.parameter = options.parameter ?? "page"
        case .offset: plan.parameter = options.parameter ?? "offset"
        case .header: plan.parameter = options.parameter ?? ""
        case .cursor:
            if plan.next == nil, let known = hints.cursor() {
                plan.next = known.pointer
                guessed.append("the cursor is at \(quoted(known.pointer.description))")
            }
            let usual = options.parameter == nil ? PageHints.parameter(for: plan.next) : nil
            plan.parameter = options.parameter ?? usual ?? "cursor"
            if let usual, usual != "cursor" { guessed.append("the query item \(quoted(usual)) takes it") }
        case .next:
            if plan.next == nil, let pointer = hints.url()?.pointer ?? hints.unclear() {
                plan.next = pointer
                guessed.append("the URL of the next page is at \(quoted(pointer.description))")
            }
        case .link, .custom: break
        }
        return (plan, guessed)
    }

    private mutating func guess(
        _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) throws(NightjarError) {
        if let next { return try guessKind(of: next, options, hints, &guessed) }
        if LinkField.next(in: hints.answer.links) != nil {
            style = .link
            guessed.append("a Link field names the next page")
            return
        }
        let (url, cursor) = (hints.url(), hints.cursor())
        if let url, url.goesOn || cursor?.goesOn != true && hints.moreFlag() == nil {
            style = .next
            next = url.pointer
            guessed.append("the URL of the next page is at \(quoted(url.pointer.description))")
            heedFlag(hints, &guessed)
        } else if let cursor, cursor.goesOn || hints.moreFlag() == nil {
            adopt(cursor.pointer, options.parameter ?? cursor.parameter, &guessed)
            heedFlag(hints, &guessed)
        } else if !guessLastItem(options, hints, &guessed), !guessNumbers(options, hints, &guessed) {
            try endAfterOne(hints, &guessed)
        }
    }

    /// Beside a cursor that is there on the last page too, the flag alone tells the end: Relay's connections.
    private mutating func heedFlag(_ hints: PageHints, _ guessed: inout [String]) {
        guard more == nil, let flag = hints.moreFlag() else { return }
        more = flag
        guessed.append("\(quoted(flag.description)) tells whether more follows")
    }

    private mutating func adopt(_ pointer: JSONPointer, _ parameter: String, _ guessed: inout [String]) {
        style = .cursor
        next = pointer
        self.parameter = parameter
        guessed.append("the cursor is at \(quoted(pointer.description))")
        guessed.append("the query item \(quoted(parameter)) takes it")
    }

    /// The caller says where, and not what: a URL looks like one.
    private mutating func guessKind(
        of pointer: JSONPointer, _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) throws(NightjarError) {
        guard case .value(let text) = try hints.answer.seek(pointer, "a cursor or a URL"), !PageHints.isURL(text) else {
            style = .next
            guessed.append("what is at \(quoted(pointer.description)) is the URL of the next page")
            return
        }
        adopt(pointer, options.parameter ?? PageHints.parameter(for: pointer) ?? "cursor", &guessed)
    }

    /// `has_more`, and the next page begins behind the last item of this one: Stripe's way.
    private mutating func guessLastItem(
        _ options: Pagination, _ hints: PageHints, _ guessed: inout [String]
    ) -> Bool {
        guard let flag = options.more ?? hints.moreFlag(), let list = hints.answer.find(items),
            let last = hints.answer.ranges.elements(of: list, limit: PageReading.maximumElements)?.last
        else { return false }
        let id = JSONPointer(tokens: ["id"])
        guard hints.pageNumber() == nil, hints.offset() == nil, hints.answer.ranges.value(at: id, in: last) != nil
        else { return false }
        style = .cursor
        more = flag
        lastItem = id
        parameter = options.parameter ?? "starting_after"
        guessed.append("\(quoted(flag.description)) tells whether more follows")
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
            parameter = options.parameter ?? "page"
            guessed.append("the number of the page is at \(quoted(page.description))")
        } else if let offset = hints.offset(), let name = offset.tokens.last, total != nil || flag != nil {
            style = .offset
            number = offset
            more = flag
            self.total = total
            parameter = options.parameter ?? name
            guessed.append("the place of the first item is at \(quoted(offset.description))")
        } else {
            return false
        }
        guessed.append("the query item \(quoted(parameter)) asks for the next")
        return true
    }

    /// Nothing says how it goes on: that is well where nothing says that it does.
    private mutating func endAfterOne(_ hints: PageHints, _ guessed: inout [String]) throws(NightjarError) {
        let elements = hints.answer.find(items).flatMap {
            hints.answer.ranges.elements(of: $0, limit: PageReading.maximumElements)
        }
        let count = elements?.count ?? 0
        if let pointer = hints.unclear() {
            throw NightjarError(
                .decoding,
                "how the list goes on cannot be guessed: what page 1 has at \(quoted(pointer.description)) is no URL; "
                    + "set style, next and parameter")
        }
        if let reason = hints.whatGoesOn(count: count) {
            throw NightjarError(
                .decoding, "how the list goes on cannot be guessed, though \(reason.dropPage); set style and parameter")
        }
        guessed.append("nothing in the answer says that more follows, so it is the whole list")
    }
}

extension String {
    /// "page 1 says" for "it says".
    fileprivate var dropPage: String { hasPrefix("it ") ? "page 1 " + dropFirst(3) : self }
}
