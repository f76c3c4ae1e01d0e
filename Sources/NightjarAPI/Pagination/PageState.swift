import NIOCore

/// Serializes positions in a list as text, so that another run can resume there. The text is the base64url encoding
/// (RFC 4648 section 5) of compact JSON.
///
/// The text contains the position, the plan, and a fingerprint of the first request, which must be the same in the
/// other run. Query items with the name of a secret are omitted. In URLs, they are restored from the first request of
/// the other run.
struct PageStateOrigin: Sendable {
    private let first: RequestURL
    private let fingerprint: String
    private let hasBody: Bool

    /// - Parameter body: the body of the first request, if it selects the page. Nil: other bodies are the same list.
    init(_ first: RequestURL, _ method: Method, body: ByteBuffer? = nil) {
        self.first = first
        hasBody = body != nil
        // FNV-1a: the same in every process. No secret depends on it.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        add("\(method.name) \(first.redacted)".utf8)
        if let body { add(body.readableBytesView) }
        fingerprint = String(hash, radix: 16)
    }

    /// The maximum length of a state in bytes. A cursor or URL may have 64 KiB (``RequestTarget/maximumLength``) before
    /// escaping and encoding.
    static let maximumLength = 512 * 1024
    private static let version: Int64 = 1

    // MARK: Writing

    func write(_ saved: SavedPlace) -> String {
        let place = saved.place
        var members: [JSONValue.Member] = [
            .init("v", .integer(PageStateOrigin.version)), .init("f", .string(fingerprint)),
            .init("n", .integer(Int64(place.number))), .init("d", .integer(Int64(place.seen))),
            .init("p", .object(write(place.position))),
        ]
        if place.skip > 0 { members.append(.init("k", .integer(Int64(place.skip)))) }
        if let plan = saved.plan, place.position != .end { members.append(.init("g", .object(write(plan)))) }
        // Cannot fail, because the document contains no floating-point number.
        let text = (try? JSONValue.object(members).encoded()) ?? ByteBuffer()
        return Base64.encodeForURL(Array(text.readableBytesView))
    }

    private func write(_ position: PagePosition) -> [JSONValue.Member] {
        switch position {
        case .first: return []
        case .end: return [.init("end", .bool(true))]
        case .page(let number): return [.init("page", .integer(Int64(number)))]
        case .offset(let offset): return [.init("offset", .integer(Int64(offset)))]
        case .cursor(let cursor): return [.init("cursor", .string(cursor))]
        case .token(let token): return [.init("token", .string(token))]
        case .query(let items):
            let known = items.filter { !isSecret(name: $0.name) }
            return [.init("query", .array(known.map { .array([.string($0.name), .string($0.value)]) }))]
        case .url(let url):
            let safe = RequestURL(origin: url.origin, target: url.target, userInfo: nil, sensitive: first.sensitive)
            let secret = safe.queryParts.filter { safe.isSecret($0) }
            let open = safe.withQuery(safe.queryParts.filter { !safe.isSecret($0) })
            let text = url.origin == first.origin ? open.target : open.origin.description + open.target
            var members = [JSONValue.Member("url", .string(text))]
            if !secret.isEmpty {
                let names = secret.map { part in
                    JSONValue.string(
                        String(decoding: PercentEncoding.decoded(RequestURL.nameOf(part)), as: UTF8.self))
                }
                members.append(.init("secrets", .array(names)))
            }
            return members
        }
    }

    private func isSecret(name: String) -> Bool {
        SecretNames.isSecret(item: name[...].utf8, sensitive: first.sensitive)
    }

    private func write(_ plan: PagePlan) -> [JSONValue.Member] {
        var members = [
            JSONValue.Member("style", .string(plan.style.rawValue)), .init("items", .string(plan.items.description)),
        ]
        if !plan.parameter.isEmpty { members.append(.init("parameter", .string(plan.parameter))) }
        if !plan.header.isEmpty { members.append(.init("header", .string(plan.header))) }
        for (name, path) in PageStateOrigin.pointers {
            if let pointer = plan[keyPath: path] { members.append(.init(name, .string(pointer.description))) }
        }
        return members
    }

    private static var pointers: [(String, WritableKeyPath<PagePlan, JSONPointer?>)] {
        [
            ("next", \.next), ("last_item", \.lastItem), ("more", \.more), ("total", \.total), ("number", \.number),
            ("last", \.last),
        ]
    }

    // MARK: Reading

    /// Reads a saved position.
    ///
    /// - Throws: `invalid_argument` if the text is not a state, belongs to another list, does not fit the options, or
    ///   omits a secret that the first request lacks.
    func read(_ text: String, _ options: Pagination) throws(NightjarError) -> SavedPlace {
        guard text.utf8.count <= PageStateOrigin.maximumLength, let bytes = Base64.decodeForURL(text.utf8),
            let document = bytes.withUnsafeBytes({ try? JSONValue(parsing: $0) }), case .object = document
        else { throw PageStateOrigin.damaged }
        guard case .integer(let version) = document["v"] else { throw PageStateOrigin.damaged }
        guard version == PageStateOrigin.version else {
            throw NightjarError(
                .invalidArgument,
                "the state has format \(version), but only format \(PageStateOrigin.version) is supported")
        }
        guard case .string(let print) = document["f"] else { throw PageStateOrigin.damaged }
        guard print == fingerprint else {
            throw NightjarError(
                .invalidArgument,
                "the state belongs to another list: the method and URL of the first request must be the same, "
                    + "including the query" + (hasBody ? " and the body" : "")
            )
        }
        try PageStateOrigin.check(document, ["v", "f", "n", "d", "p", "k", "g"])
        var place = PagePlace()
        place.number = try count(document["n"], from: 1)
        place.seen = try count(document["d"])
        if let skip = document["k"] { place.skip = try count(skip, from: 1) }
        guard let position = document["p"] else { throw PageStateOrigin.damaged }
        place.position = try read(position)
        let plan = try document["g"].map { value throws(NightjarError) in try readPlan(value, options) }
        if plan == nil, place.position != .first, place.position != .end { throw PageStateOrigin.damaged }
        return SavedPlace(place: place, skip: place.skip, plan: plan)
    }

    private static let damaged = NightjarError(
        .invalidArgument, "the state was not created by a paginator, or it is damaged")

    /// Accepts only integers up to 2^53, which doubles represent exactly.
    private func count(_ value: JSONValue?, from least: Int64 = 0) throws(NightjarError) -> Int {
        guard case .integer(let number) = value, (least...(1 << 53)).contains(number), let count = Int(exactly: number)
        else { throw PageStateOrigin.damaged }
        return count
    }

    private static func check(_ object: JSONValue, _ names: [String]) throws(NightjarError) {
        guard case .object(let members) = object, members.allSatisfy({ names.contains($0.name) }),
            Set(members.map(\.name)).count == members.count
        else { throw damaged }
    }

    private func read(_ position: JSONValue) throws(NightjarError) -> PagePosition {
        guard case .object(let members) = position else { throw PageStateOrigin.damaged }
        guard let member = members.first else { return .first }
        try PageStateOrigin.check(position, member.name == "url" ? ["url", "secrets"] : [member.name])
        switch (member.name, member.value) {
        case ("end", .bool(true)): return .end
        case ("page", let number): return .page(try count(number))
        case ("offset", let number): return .offset(try count(number))
        case ("cursor", .string(let text)) where !text.isEmpty: return .cursor(text)
        case ("token", .string(let text)) where !text.isEmpty: return .token(text)
        case ("query", .array(let items)):
            var query: [PagePosition.Item] = []
            for item in items {
                guard case .array(let pair) = item, pair.count == 2, case .string(let name) = pair[0],
                    case .string(let value) = pair[1]
                else { throw PageStateOrigin.damaged }
                query.append(.init(name: name, value: value))
            }
            return .query(query)
        case ("url", .string(let text)): return .url(try readURL(text, secrets: position["secrets"]))
        default: throw PageStateOrigin.damaged
        }
    }

    private func readURL(_ text: String, secrets: JSONValue?) throws(NightjarError) -> RequestURL {
        var url: RequestURL
        // Prevents a path that begins with // from being parsed as a host.
        let reference = text.hasPrefix("//") ? "/." + text : text
        do throws(NightjarError) {
            url = try reference.withRawBytes { bytes throws(NightjarError) in
                try Location(bytes, base: first, as: .nextPage).url
            }
        } catch {
            throw PageStateOrigin.damaged
        }
        let isOwn = url.origin == first.origin
        url = RequestURL(
            origin: url.origin, target: url.target, userInfo: isOwn ? first.userInfo : nil, sensitive: first.sensitive)
        guard let secrets else { return url }
        guard case .array(let names) = secrets else { throw PageStateOrigin.damaged }
        var parts = url.queryParts
        for name in names {
            guard case .string(let name) = name else { throw PageStateOrigin.damaged }
            let own = first.queryParts.first { RequestURL.isPart($0, named: name) }
            if let own, isOwn {
                parts.append(own)
            } else if !isOwn || !first.sensitive.contains(name) {
                throw NightjarError(
                    .invalidArgument,
                    "the state omits the query item \(quoted(name)), which may be a secret, and the first request "
                        + "cannot supply it; load the list from its first page")
            }
        }
        return url.withQuery(parts)
    }

    private func readPlan(_ value: JSONValue, _ options: Pagination) throws(NightjarError) -> PagePlan {
        try PageStateOrigin.check(value, ["style", "items", "parameter", "header"] + PageStateOrigin.pointers.map(\.0))
        guard case .string(let name) = value["style"], let style = Pagination.Style(rawValue: name) else {
            throw PageStateOrigin.damaged
        }
        guard options.style == .guess || options.style == style else {
            throw NightjarError(
                .invalidArgument, "the state has style \(name), but the list has style \(options.style.rawValue)")
        }
        var plan = PagePlan(style, items: JSONPointer())
        let items = try pointer(value["items"])
        plan.items = options.items ?? items
        switch value["parameter"] {
        case nil: break
        case .string(let parameter): plan.parameter = options.parameter ?? parameter
        default: throw PageStateOrigin.damaged
        }
        switch value["header"] {
        case nil: break
        case .string(let header): plan.header = options.header ?? header
        default: throw PageStateOrigin.damaged
        }
        for (name, path) in PageStateOrigin.pointers {
            if let text = value[name] { plan[keyPath: path] = try pointer(text) }
        }
        plan.next = options.next ?? plan.next
        plan.more = options.more ?? plan.more
        plan.total = options.total ?? plan.total
        return plan
    }

    private func pointer(_ value: JSONValue?) throws(NightjarError) -> JSONPointer {
        guard case .string(let text) = value, let pointer = try? JSONPointer(text) else {
            throw PageStateOrigin.damaged
        }
        return pointer
    }
}
