import NightjarHTTP

/// The routes of a mock and their use counts. The first route whose pattern matches, and whose ``MockRoute/times`` is
/// not reached, responds to a request.
package struct MockTable: Sendable {
    package enum Choice: Sendable {
        case respond(MockResponse)
        /// The program supplies the response. `parameters` are the values of the path parameters.
        case callResponder(responder: Int, parameters: [(name: String, value: String)])
        /// The request is sent to the network.
        case pass
        case fail(NightjarError)
    }

    /// A received request.
    package struct Call: Sendable {
        package let request: ArrivedRequest
        /// The position of the route, from 0. Nil if no route matched.
        package let route: Int?
    }

    package let routes: [MockRoute]
    package let passesUnmatched: Bool
    private var uses: [Int]
    package private(set) var calls: [Call] = []
    /// The number of older calls that were dropped from ``calls``.
    package private(set) var droppedCalls = 0
    private var unmatched = 0

    package init(_ routes: [MockRoute], passesUnmatched: Bool = false) throws(NightjarError) {
        guard routes.count <= MockTable.maximumRoutes else {
            throw NightjarError(
                .invalidArgument, "the mock has \(routes.count) routes; the maximum is \(MockTable.maximumRoutes)")
        }
        for route in routes {
            guard case .sequence(let responses) = route.responses else { continue }
            guard !responses.isEmpty else {
                throw NightjarError(.invalidArgument, "the mock route \(route.summary) has no responses")
            }
            for response in responses { try response.headers.checkLiterals() }
            if let invalidity = responses.lazy.compactMap({ $0.fault?.invalidity }).first {
                throw NightjarError(
                    .invalidArgument, "the mock route \(route.summary) has an invalid fault: \(invalidity)")
            }
        }
        self.routes = routes
        self.passesUnmatched = passesUnmatched
        uses = Array(repeating: 0, count: routes.count)
    }

    /// The maximum number of routes of one mock. Each call may be compared with all routes. A typical mock has tens of
    /// routes.
    static let maximumRoutes = 10_000
    /// The maximum number of requests that are kept for inspection.
    static let maximumCalls = 1000

    /// Selects the response to a request and counts the use.
    package mutating func choose(_ request: ArrivedRequest, base: RequestURL?) -> Choice {
        var nearest: (route: MockRoute, mismatch: MismatchError)?
        for (index, route) in routes.enumerated() {
            switch route.pattern.match(request, base: base) {
            case .failure(let mismatch):
                if nearest.map({ $0.mismatch.step < mismatch.step }) ?? true { nearest = (route, mismatch) }
            case .success(let parameters):
                if let times = route.times, uses[index] >= times {
                    let mismatch = MismatchError(5, "it has already responded \(MockTable.times(times))")
                    if nearest.map({ $0.mismatch.step <= mismatch.step }) ?? true { nearest = (route, mismatch) }
                    continue
                }
                note(request, index)
                return use(index, parameters)
            }
        }
        note(request, nil)
        if passesUnmatched { return .pass }
        unmatched += 1
        return .fail(MockTable.unmatched(request, routes, nearest))
    }

    private mutating func use(_ index: Int, _ parameters: [(name: String, value: String)]) -> Choice {
        let use = uses[index]
        uses[index] = use &+ 1
        switch routes[index].responses {
        case .responder(let number): return .callResponder(responder: number, parameters: parameters)
        case .sequence(let responses):
            if use < responses.count { return .respond(responses[use]) }
            switch routes[index].whenExhausted {
            case .last: return .respond(responses[responses.count - 1])
            case .first: return .respond(responses[use % responses.count])
            case .error:
                return .fail(
                    NightjarError(
                        .invalidRequest,
                        "the mock route \(routes[index].summary) has used up its \(responses.count) responses; "
                            + "add one, or set when_exhausted = \"last\" to repeat the last one"))
            }
        }
    }

    private mutating func note(_ request: ArrivedRequest, _ route: Int?) {
        if calls.count == MockTable.maximumCalls {
            // Dropped in blocks, so that not every call moves the whole array.
            calls.removeFirst(MockTable.maximumCalls / 10)
            droppedCalls += MockTable.maximumCalls / 10
        }
        calls.append(Call(request: request, route: route))
    }

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    private static func unmatched(
        _ request: ArrivedRequest, _ routes: [MockRoute], _ nearest: (route: MockRoute, mismatch: MismatchError)?
    ) -> NightjarError {
        let what = "no mock route matches \(request.method) \(request.url.redacted)"
        guard let nearest else {
            return NightjarError(.invalidRequest, "\(what): the mock has no routes; add one, or set passthrough")
        }
        // If no path matches, suggest the route with the most similar path.
        guard nearest.mismatch.step == 0 else {
            return NightjarError(
                .invalidRequest, "\(what); the nearest is \(nearest.route.summary), but \(nearest.mismatch.reason)")
        }
        let paths = routes.compactMap { $0.pattern.path?.description }
        let similar = MockTable.mostSimilar(request.url.path, paths)
        let route = routes.first { $0.pattern.path?.description == similar } ?? nearest.route
        return NightjarError(
            .invalidRequest,
            "\(what); the nearest is \(route.summary), but its path is \(quoted(route.pattern.path?.description ?? ""))"
        )
    }

    /// Returns the path with the longest common prefix and suffix.
    private static func mostSimilar(_ path: String, _ paths: [String]) -> String? {
        func common(_ other: String) -> Int {
            let front = zip(path.utf8, other.utf8).prefix { $0 == $1 }.count
            let back = zip(path.utf8.reversed(), other.utf8.reversed()).prefix { $0 == $1 }.count
            return front + back
        }
        return paths.max { common($0) < common($1) }
    }

    // MARK: Verification

    /// Returns the number of uses of the routes with this name or pattern (`GET /articles`). Returns nil if there
    /// is no such route.
    package func uses(of name: String) -> Int? {
        var sum: Int?
        for (index, route) in routes.enumerated() where route.name == name || route.pattern.summary == name {
            sum = (sum ?? 0) + uses[index]
        }
        return sum
    }

    package var totalUses: Int { uses.reduce(0, &+) }

    /// Clears the recorded calls and use counts. Each sequence starts again.
    package mutating func reset() {
        uses = Array(repeating: 0, count: routes.count)
        calls = []
        droppedCalls = 0
        unmatched = 0
    }

    /// The error of the verification, or nil if the verification succeeds. The message lists the routes that were used
    /// less often than required, and counts the calls that matched no route.
    package var failureMessage: NightjarError? {
        var mismatches: [String] = []
        for (index, route) in routes.enumerated() where !route.isOptional {
            let expected = route.times ?? 1
            guard uses[index] < expected else { continue }
            mismatches.append(
                uses[index] == 0
                    ? "the route \(route.summary) was never used"
                    : "the route \(route.summary) was used \(MockTable.times(uses[index])) instead of \(MockTable.times(expected))"
            )
        }
        if unmatched > 0 {
            mismatches.append("\(unmatched == 1 ? "a call" : "\(unmatched) calls") matched no route")
        }
        guard !mismatches.isEmpty else { return nil }
        let shown = mismatches.prefix(MockTable.maximumMismatches).joined(separator: "; ")
        let rest = mismatches.count - MockTable.maximumMismatches
        return NightjarError(.invalidRequest, rest > 0 ? "\(shown); and \(rest) more" : shown)
    }

    private static let maximumMismatches = 10
}
