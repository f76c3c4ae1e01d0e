import NIOCore
import NightjarAPI
import NightjarHTTP

/// Fuzzes the iteration over paginated lists with responses. Aborts if one of these invariants is violated:
///
/// - Nothing traps, and each iteration ends.
/// - At most one page is loading, and each request for a page gets one result.
/// - The items are those that the parser finds in the array, in order, each once.
/// - Another origin is requested only if it is allowed, and never receives credentials.
/// - A saved state can be read by an iteration with the same options, unless the state omits a query item.
///
/// The first bytes select the style and the options. Sections follow, separated by blank lines, each a response: a line
/// for the Link field, a line for a header field, and the body. The first section is also tried as a saved state.
func fuzzPages(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 3 else { return 0 }
    let choices = UnsafeRawBufferPointer(start: start, count: 3)
    let sections = sections(UnsafeRawBufferPointer(start: start + 3, count: count - 3))
    let styles = Pagination.Style.allCases
    var options = Pagination(styles[Int(choices[0]) % styles.count])
    if choices[0] & 0x80 != 0 { options.key = try? JSONPointer("/id") }
    if choices[0] & 0x40 != 0 { options.items = try? JSONPointer("/items") }
    options.prefetch = Int(choices[1] & 3)
    options.maximumPages = 12
    if choices[1] & 4 != 0 { options.next = try? JSONPointer("/next") }
    if choices[1] & 8 != 0 { options.more = try? JSONPointer("/more") }
    if choices[1] & 16 != 0 { options.total = try? JSONPointer("/total") }
    if choices[1] & 32 != 0 { options.maximumItems = 5 }
    if choices[1] & 64 != 0 { options.allowedOrigins = ["https://other.example"] }
    options.header = "X-Next"
    options.parameter = choices[2] & 1 == 0 ? nil : "p"
    options.requestHeader = "X-Token"
    guard let first = try? RequestURL("https://u:pw@api.example/list?api_key=\(secret)&limit=2") else { return 0 }
    if let text = sections.first?.body { _ = try? PageTraversal(options, first: first, resuming: text) }
    guard var traversal = try? PageTraversal(options, first: first) else { return 0 }
    _ = converse(&traversal, options, first, sections, seed: choices[2])
    return 0
}

private let secret = "s3cr3tvalue"

private struct Section {
    var headers = Headers()
    var body = ""
}

private func converse(
    _ traversal: inout PageTraversal, _ options: Pagination, _ first: RequestURL, _ sections: [Section], seed: UInt8
) -> Int {
    var inFlight: PageTarget?
    var owed = 0
    var used = 0
    var given = 0
    func perform(_ actions: [PageTraversal.Action]) {
        for action in actions {
            switch action {
            case .load(let target):
                require(inFlight == nil, "two loads")
                inFlight = target
                checkTarget(target, first, options)
            case .cancelLoad:
                require(inFlight != nil, "a cancel without a load")
                inFlight = nil
            case .deliver(let page):
                owed -= 1
                given += page.items.count
                require(page.items.count == page.indices.count, "items and places")
                require(given <= options.maximumItems, "too many items")
                checkState(page.state(consumed: Int(seed) % (page.items.count + 2)), options, first)
            case .end, .fail: owed -= 1
            }
            require(owed >= 0, "a result that was not requested")
        }
    }
    for step in 0..<40 {
        switch (Int(seed) &+ step) % 11 {
        case 7:
            perform(traversal.refresh())
            given = 0
        case 8:
            perform(traversal.withdraw())
            owed = max(0, owed - 1)
        case 9:
            if let actions = try? traversal.setNext(step % 2 == 0 ? .url("/next") : .query([("a", secret)])) {
                perform(actions)
            }
        default:
            owed += 1
            perform(traversal.needsPage())
        }
        guard let target = inFlight else { continue }
        inFlight = nil
        if step % 9 == 8 {
            perform(traversal.failed(NightjarError(.connectionLost, "fuzzed")))
            continue
        }
        let section = sections.isEmpty ? Section() : sections[used % sections.count]
        used += 1
        let body = ByteBuffer(string: section.body)
        let actions = traversal.received(section.headers, body: body, at: target.url)
        if let pointer = options.items { checkItems(actions, body, pointer, options) }
        perform(actions)
        checkState(traversal.state, options, first)
    }
    return given
}

private func checkTarget(_ target: PageTarget, _ first: RequestURL, _ options: Pagination) {
    let isOwn = target.url.origin == first.origin
    require(isOwn || options.allowedOrigins.contains(target.url.origin.description), "a foreign origin")
    require(target.carriesCredentials == isOwn, "credentials for a foreign origin")
    require(isOwn || target.url.userInfo == nil, "a password for a foreign origin")
    let items = target.url.query?.split(separator: "&") ?? []
    require(isOwn || !items.contains { $0.drop { $0 != "=" } == "=" + secret }, "a secret for a foreign origin")
}

/// When a page is returned immediately, its items are those that the parser finds.
private func checkItems(
    _ actions: [PageTraversal.Action], _ body: ByteBuffer, _ pointer: JSONPointer, _ options: Pagination
) {
    guard options.prefetch == 0, case .deliver(let page) = actions.first else { return }
    let bytes = Array(body.readableBytesView)
    guard let document = bytes.withUnsafeBytes({ try? JSONValue(parsing: $0) }),
        case .array(let elements) = pointer.value(in: document)
    else { return require(page.items.isEmpty, "items without a list") }
    require(page.count == elements.count, "missing elements")
    for (range, index) in zip(page.items, page.indices) {
        require(bytes[range].withUnsafeBytes { try? JSONValue(parsing: $0) } == elements[index], "another item")
    }
    require(page.indices == page.indices.sorted() && Set(page.indices).count == page.indices.count, "order")
}

private func checkState(_ state: String, _ options: Pagination, _ first: RequestURL) {
    do {
        let traversal = try PageTraversal(options, first: first, resuming: state)
        require(traversal.state == state, "the state changed when it was read")
    } catch {
        // A next URL from the server may contain a secret, which a state omits.
        require(error.kind == .invalidArgument && error.message.contains("omits the query item"), error.message)
    }
}

private func sections(_ input: UnsafeRawBufferPointer) -> [Section] {
    var sections: [Section] = []
    for text in String(decoding: input, as: UTF8.self).split(separator: "\n\n") {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        var section = Section()
        if lines.count > 1 { try? section.headers.add("Link", String(lines[0])) }
        if lines.count > 2 { try? section.headers.add("X-Next", String(lines[1])) }
        section.body = String(lines.last ?? "")
        sections.append(section)
    }
    return sections
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
