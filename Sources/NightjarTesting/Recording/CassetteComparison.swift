import NIOCore
import NightjarHTTP

/// Decides whether a request equals a recorded request. Compares the method, the URL and the body, with secrets masked.
/// JSON is compared by value, and the items of forms and queries regardless of their order.
public struct CassetteComparison: Sendable {
    /// The names of headers that must also be equal.
    public var headers: [String] = []
    /// The names of query items that may differ.
    public var ignoredQuery: [String] = []
    /// Places in JSON bodies that may differ.
    public var ignoredJSON: [JSONPointer] = []
    public var ignoresBody = false
    /// True if scheme, host and port may differ.
    public var ignoresOrigin = false

    public init() {}

    /// The form in which requests are compared. Contains only strings, so that it can be the key of a dictionary.
    struct Key: Hashable, Sendable {
        var method: String
        /// The URL without the query; only its path if the origin is ignored.
        var place: String
        var query: [String]
        var headers: [String]
        /// Nil if the body is unknown or ignored.
        var body: String?

        /// All strings of the key. The first string contains the number of query items and headers, and whether
        /// ``body`` is nil.
        private var texts: [String] {
            ["\(query.count) \(headers.count) \(body == nil)", method, place] + query + headers + [body ?? ""]
        }

        static func == (a: Key, b: Key) -> Bool { a.texts.elementsEqual(b.texts) { $0.isExactly($1) } }

        func hash(into hasher: inout Hasher) { for text in texts { text.hashExactly(into: &hasher) } }
    }

    /// Returns the comparable form of a request.
    ///
    /// - Parameter request: must be scrubbed in the style ``SecretScrubber/Style/masked``.
    func key(of request: RecordedExchange.Request) -> Key {
        let end = request.url.utf8.firstIndex(of: UInt8(ascii: "?")) ?? request.url.endIndex
        var place = String(request.url[..<end])
        if ignoresOrigin, let url = try? RequestURL(request.url) { place = url.path }
        let items = request.url.utf8[end...].dropFirst().split(separator: UInt8(ascii: "&"))
            .filter { item in
                let name = FormEncoding.decode(item).first?.name ?? ""
                return !ignoredQuery.contains { $0.isExactly(name) }
            }
            .map { String(Substring($0)) }
        return Key(
            method: request.method.name, place: place, query: items.sorted { $0.precedesExactly($1) },
            headers: headers.map { "\($0): \(request.headers.values($0).joined(separator: ", "))" },
            body: ignoresBody ? nil : body(of: request))
    }

    private func body(of request: RecordedExchange.Request) -> String? {
        let type = request.headers["Content-Type"].flatMap(MediaType.init)
        switch request.body {
        case .none: return ""
        case .omitted: return nil
        case .json(let value): return CassetteComparison.canonical(without(value))
        case .binary(let bytes): return CassetteComparison.plain(Base64.encode(bytes.readableBytesView), type)
        case .text(let text):
            if type?.isJSON == true, let value = try? JSONValue(parsing: text) {
                return CassetteComparison.canonical(without(value))
            }
            if type?.essence == FormEncoding.contentType {
                return text.utf8.split(separator: UInt8(ascii: "&")).map { String(Substring($0)) }
                    .sorted { $0.precedesExactly($1) }.joined(separator: "&")
            }
            return CassetteComparison.plain(text, type)
        }
    }

    private func without(_ value: JSONValue) -> JSONValue {
        ignoredJSON.reduce(value) { $0.removing($1.tokens[...]) }
    }

    /// Replaces the boundary of a multipart body, because it differs each time.
    private static func plain(_ text: String, _ type: MediaType?) -> String {
        guard let type, type.type == "multipart", let boundary = type["boundary"], !boundary.isEmpty else {
            return text
        }
        return text.split(separator: boundary, omittingEmptySubsequences: false).joined(separator: "boundary")
    }

    /// Returns the JSON text that is compared: members sorted by name, whole numbers as integers.
    private static func canonical(_ value: JSONValue) -> String {
        (try? value.sorted().encoded()).map { String(buffer: $0) } ?? ""
    }

    // MARK: Differences

    /// Describes how the recorded request differs from the live request, and rates their similarity (higher is more
    /// similar). Returns nil if they are equal.
    static func difference(_ recorded: Key, _ live: Key) -> (similarity: Int, text: String)? {
        if !recorded.place.isExactly(live.place) {
            return (recorded.method == live.method ? 1 : 0, "is for \(quoted(recorded.place, limit: 200))")
        }
        if recorded.method != live.method { return (2, "has the method \(recorded.method)") }
        if !recorded.query.elementsEqual(live.query, by: { $0.isExactly($1) }) {
            let (had, has) = (ExactSet(recorded.query), ExactSet(live.query))
            let missing = recorded.query.first { !has.contains($0) }
            let added = live.query.first { !had.contains($0) }
            switch (missing, added) {
            case (let missing?, let added?):
                return (3, "has \(quoted(missing)) in its query instead of \(quoted(added))")
            case (let missing?, nil): return (3, "has \(quoted(missing)) in its query, which the request lacks")
            case (nil, let added?): return (3, "lacks \(quoted(added)) in its query")
            case (nil, nil): return (3, "repeats a query item a different number of times")
            }
        }
        if let pair = zip(recorded.headers, live.headers).first(where: { !$0.isExactly($1) }) {
            let name = pair.0.prefix { $0 != ":" }
            return (4, "has a different value for the header \(quoted(name))")
        }
        guard let a = recorded.body, let b = live.body, !a.isExactly(b) else { return nil }
        if let wanted = try? JSONValue(parsing: a), let found = try? JSONValue(parsing: b),
            let place = wanted.firstDifference(from: found) ?? found.firstDifference(from: wanted),
            !place.tokens.isEmpty
        {
            return (5, "has a different JSON body at \(quoted(place.description))")
        }
        return (5, "has a different body")
    }
}

extension JSONValue {
    /// Returns a copy of this value without the value at a pointer. Returns null if the pointer is empty.
    fileprivate func removing(_ tokens: ArraySlice<String>) -> JSONValue {
        guard let token = tokens.first else { return .null }
        let isLast = tokens.count == 1
        switch self {
        case .object(var members):
            guard let index = members.firstIndex(where: { $0.name.isExactly(token) }) else { return self }
            if isLast {
                members.remove(at: index)
            } else {
                members[index].value = members[index].value.removing(tokens.dropFirst())
            }
            return .object(members)
        case .array(var elements):
            // `*` and `-` mean all elements, because the position of an element may vary with the data.
            if token == "*" || token == "-" {
                return .array(isLast ? [] : elements.map { $0.removing(tokens.dropFirst()) })
            }
            guard let index = Int(token), elements.indices.contains(index) else { return self }
            if isLast {
                elements.remove(at: index)
            } else {
                elements[index] = elements[index].removing(tokens.dropFirst())
            }
            return .array(elements)
        default: return self
        }
    }

    /// Sorts object members by name and writes whole numbers as integers.
    fileprivate func sorted(depth: Int = 0) -> JSONValue {
        // Deeper values are compared as written.
        guard depth < 200 else { return self }
        switch self {
        case .object(let members):
            return .object(
                members.map { .init($0.name, $0.value.sorted(depth: depth + 1)) }.sorted {
                    $0.name.precedesExactly($1.name)
                })
        case .array(let elements): return .array(elements.map { $0.sorted(depth: depth + 1) })
        case .number(let number): return Int64(exactly: number).map(JSONValue.integer) ?? self
        default: return self
        }
    }
}
