import NightjarHTTP

/// Fuzzes the cache rules with header fields of requests and responses. Aborts if one of these invariants is violated:
///
/// - Nothing traps.
/// - A response is not stored if its request has a plain `no-store`, or if the response has one and no
///   `must-understand`.
/// - An age is never negative and never decreases. Ages and lifetimes do not exceed 2^31 seconds.
/// - A range lies within the stored body, and a response from the cache has exactly one Age field.
/// - An only-if-cached request is never fetched. Any other reload never returns a cached response.
/// - An update never changes Content-Length, Content-Encoding or Content-Range.
///
/// The first bytes select the method, status, policy and times. Four sections follow, separated by blank lines: the
/// fields of a request, of its response, of the next request, and of its response.
func fuzzCaching(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 4 else { return 0 }
    let choices = UnsafeRawBufferPointer(start: start, count: 4)
    let sections = sections(UnsafeRawBufferPointer(start: start + 4, count: count - 4))
    let policies = CachePolicy.allCases
    let policy = policies[Int(choices[0]) % policies.count]
    let status = [200, 204, 206, 301, 304, 404, 416, 500, 599][Int(choices[1]) % 9]
    let first = CacheRequest(.get, sections[0], fingerprint: fingerprint)
    let method: Method = choices[0] & 0x80 == 0 ? .get : .head
    let then = CacheRequest(
        method, sections[2], policy: policy, acceptsDecoded: choices[1] & 0x80 == 0, fingerprint: fingerprint)
    let requested = moment(Int64(choices[2]) - 128)
    let head = ResponseHead(status: status, headers: sections[1])
    var candidates: [StoredResponse] = []
    if case .store(let stored) = first.storability(
        of: head, isDecoded: choices[3] & 1 == 1, requested: requested, received: moment(0))
    {
        require(status != 206 && status != 304 && status != 416, "stored a \(status)")
        require(!saysNoStore(sections[0]), "stored for a request that says no-store")
        require(
            !saysNoStore(sections[1]) || mayUnderstand(sections[1]), "stored a response with no-store")
        ages(stored.freshness)
        if let whole = stored.completed(contentLength: Int(choices[3])) { candidates = [whole, whole] }
    }
    let now = moment((Int64(choices[3]) - 100) * 97)
    decided(then.decide(among: candidates, at: now), then, candidates)
    guard let stored = candidates.first else { return 0 }
    let newer = ResponseHead(status: 304, headers: sections[3])
    switch then.meaning(ofNotModified: newer, among: candidates, validating: 0) {
    case .stored(let index): require(candidates.indices.contains(index), "a 304 for a missing candidate")
    case .callers, .none: break
    }
    updated(then.updated(stored, byNotModified: newer, requested: requested, received: now), stored)
    let response = ResponseHead(status: 200, headers: sections[3])
    if case .updated(let update) = then.meaning(ofHead: response, for: stored, requested: requested, received: now) {
        updated(update, stored)
    }
    if let url = try? RequestURL("http://example.com/a/b") {
        for other in Invalidation.urls(.post, url, response) { require(other.origin == url.origin, "another origin") }
    }
    _ = Invalidation.clearsOrigin(response)
    return 0
}

private func decided(_ decision: CacheDecision, _ request: CacheRequest, _ candidates: [StoredResponse]) {
    switch decision {
    case .hit(let hit), .hitAndRevalidate(let hit, _):
        require(candidates.indices.contains(hit.index), "a hit without a stored response")
        require(request.policy != .reload || request.isCacheOnly, "a reload was served from the cache")
        let stored = candidates[hit.index]
        if case .part(let part) = hit.form {
            require(
                !part.isEmpty && 0...stored.contentLength ~= part.upperBound && part.lowerBound >= 0, "a part beyond")
            require(!stored.isDecoded, "a range of a decoded response")
        }
        let head = stored.head(for: hit, CacheStatus(hit))
        require(head.headers.values("Age") == [String(hit.age)] && hit.age >= 0, "not exactly one Age field")
    case .validate(let fetch):
        require(
            !fetch.sets.isEmpty && fetch.validating != nil && !request.isCacheOnly,
            "a validation without a stored response")
        var headers = Headers()
        for field in fetch.sets {
            require((try? headers.add(field.name, field.value)) != nil, "an invalid field: \(field.value)")
        }
    case .fetch: require(!request.isCacheOnly, "an only-if-cached request was fetched")
    case .refuse: require(request.isCacheOnly, "refused without only-if-cached")
    }
}

private func updated(_ update: CacheUpdate, _ stored: StoredResponse) {
    for name in ["Content-Length", "Content-Encoding", "Content-Range"] {
        require(update.response.headers.values(name) == stored.headers.values(name), "an update of \(name)")
    }
    require(update.response.headers["Connection"] == nil, "a connection-specific field was stored")
    require(update.response.headers["Date"] != nil, "no date")
    ages(update.response.freshness)
}

private func ages(_ freshness: Freshness) {
    require(0...(1 << 31) ~= freshness.lifetime, "a lifetime of \(freshness.lifetime)")
    var last: Int64 = 0
    for seconds in [-1 << 30, -1, 0, 1, 60, 1 << 31, 1 << 33] as [Int64] {
        let age = freshness.age(at: moment(seconds))
        require(age >= last && age <= 1 << 31, "an age of \(age) after one of \(last)")
        last = age
    }
}

private func moment(_ seconds: Int64) -> Timestamp {
    Timestamp(secondsSince1970: 1_700_000_000 + seconds) ?? .epoch
}

private let fingerprint: CacheRequest.Fingerprint = { String($0.count) }

/// Whether a line without quotes has `no-store` as an element. Each reader of the field recognizes this form.
private func saysNoStore(_ headers: Headers) -> Bool { says("no-store", headers) }

private func mayUnderstand(_ headers: Headers) -> Bool {
    headers.values("Cache-Control").contains { $0.lowercased().contains("must-understand") }
}

private func says(_ directive: String, _ headers: Headers) -> Bool {
    headers.values("Cache-Control").contains { line in
        !line.utf8.contains(UInt8(ascii: "\""))
            && line.lowercased().split(separator: ",").contains {
                $0.drop { $0 == " " }.hasPrefix(directive) && plain($0, directive)
            }
    }
}

private func plain(_ element: Substring, _ directive: String) -> Bool {
    let rest = element.drop { $0 == " " }.dropFirst(directive.count)
    return rest.allSatisfy { $0 == " " }
}

private func sections(_ input: UnsafeRawBufferPointer) -> [Headers] {
    var sections = [Headers()]
    for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        guard !line.isEmpty else {
            if sections.count < 4 { sections.append(Headers()) }
            continue
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        try? sections[sections.count - 1].add(
            name, String(decoding: line[(colon + 1)...].drop { $0 == 0x20 }, as: UTF8.self))
    }
    while sections.count < 4 { sections.append(Headers()) }
    return sections
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
