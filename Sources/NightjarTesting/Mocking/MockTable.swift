/// The routes of a mock and how often each was used. Which route answers a request is decided here and nowhere else: the
/// first whose pattern fits.
public struct MockTable: Sendable {
    public enum Choice: Sendable {
        case answer(MockAnswer)
        /// The program is to be asked. `parameters` are those of the path.
        case ask(responder: Int, parameters: [(name: String, value: String)])
        /// It goes to the network.
        case pass
        case fail(NightjarError)
    }

    /// A request that came.
    public struct Call: Sendable {
        public let request: ArrivedRequest
        /// Place among the routes, from 0; nil: none was for it.
        public let route: Int?
    }

    public let routes: [MockRoute]
    public let passesUnmatched: Bool
    private var uses: [Int]
    public private(set) var calls: [Call] = []
    /// Of ``calls`` that were dropped: the oldest.
    public private(set) var droppedCalls = 0
    private var unmatched = 0

    public init(_ routes: [MockRoute], passesUnmatched: Bool = false) throws(NightjarError) {
        guard routes.count <= MockTable.mostRoutes else {
            throw NightjarError(
                .invalidArgument, "the mock has \(routes.count) routes; it can have \(MockTable.mostRoutes)")
        }
        for route in routes {
            if case .sequence(let answers) = route.answers, answers.isEmpty {
                throw NightjarError(.invalidArgument, "the route \(route.summary) of the mock has no answer")
            }
        }
        self.routes = routes
        self.passesUnmatched = passesUnmatched
        uses = Array(repeating: 0, count: routes.count)
    }

    /// The routes of one mock. Each is compared with each call; a table of an API has tens.
    static let mostRoutes = 10_000
    /// Requests that are kept for the program to look at.
    static let mostCalls = 1000

    /// Who answers this request; it counts as a use.
    public mutating func choose(_ request: ArrivedRequest, base: RequestURL?) -> Choice {
        var nearest: (route: MockRoute, mismatch: MismatchError)?
        for (index, route) in routes.enumerated() {
            switch route.pattern.match(request, base: base) {
            case .failure(let mismatch):
                if nearest.map({ $0.mismatch.step < mismatch.step }) ?? true { nearest = (route, mismatch) }
            case .success(let parameters):
                if let times = route.times, uses[index] >= times {
                    let mismatch = MismatchError(5, "it has answered \(MockTable.times(times)) and is done")
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
        switch routes[index].answers {
        case .responder(let number): return .ask(responder: number, parameters: parameters)
        case .sequence(let answers):
            if use < answers.count { return .answer(answers[use]) }
            switch routes[index].usedUp {
            case .last: return .answer(answers[answers.count - 1])
            case .first: return .answer(answers[use % answers.count])
            case .error:
                return .fail(
                    NightjarError(
                        .invalidRequest,
                        "the route \(routes[index].summary) of the mock has given its \(answers.count) answers; "
                            + "add one, or let it repeat them (used_up = \"last\")"))
            }
        }
    }

    private mutating func note(_ request: ArrivedRequest, _ route: Int?) {
        if calls.count == MockTable.mostCalls {
            // In blocks, so that each call does not move all others.
            calls.removeFirst(MockTable.mostCalls / 10)
            droppedCalls += MockTable.mostCalls / 10
        }
        calls.append(Call(request: request, route: route))
    }

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    private static func unmatched(
        _ request: ArrivedRequest, _ routes: [MockRoute], _ nearest: (route: MockRoute, mismatch: MismatchError)?
    ) -> NightjarError {
        let what = "no route of the mock is for \(request.method) \(request.url.redacted)"
        guard let nearest else {
            return NightjarError(.invalidRequest, "\(what): it has none; add one, or set passthrough")
        }
        // Of many routes for other paths the one whose path is written most alike is of more use than the first.
        guard nearest.mismatch.step == 0 else {
            return NightjarError(
                .invalidRequest, "\(what); the nearest is \(nearest.route.summary), but \(nearest.mismatch.reason)")
        }
        let paths = routes.compactMap { $0.pattern.path?.description }
        let alike = MockTable.mostAlike(request.url.path, paths)
        let route = routes.first { $0.pattern.path?.description == alike } ?? nearest.route
        return NightjarError(
            .invalidRequest,
            "\(what); the nearest is \(route.summary), but its path is \(quoted(route.pattern.path?.description ?? ""))"
        )
    }

    /// The path that shares most with this one at beginning and end.
    private static func mostAlike(_ path: String, _ paths: [String]) -> String? {
        func common(_ other: String) -> Int {
            let front = zip(path.utf8, other.utf8).prefix { $0 == $1 }.count
            let back = zip(path.utf8.reversed(), other.utf8.reversed()).prefix { $0 == $1 }.count
            return front + back
        }
        return paths.max { common($0) < common($1) }
    }

    // MARK: Looking back

    /// How often a route was used.
    ///
    /// - Returns: nil where there is no route of that name or pattern (`GET /articles`).
    public func uses(of name: String) -> Int? {
        var sum: Int?
        for (index, route) in routes.enumerated() where route.name == name || route.pattern.summary == name {
            sum = (sum ?? 0) + uses[index]
        }
        return sum
    }

    /// Of all routes together.
    public var totalUses: Int { uses.reduce(0, &+) }

    /// Forgets what was asked: each sequence begins anew.
    public mutating func reset() {
        uses = Array(repeating: 0, count: routes.count)
        calls = []
        droppedCalls = 0
        unmatched = 0
    }

    /// What is not as the routes say: one that was never asked, or less often than its `times`, and calls that no route was
    /// for. Nil: all is.
    public var complaint: NightjarError? {
        var complaints: [String] = []
        for (index, route) in routes.enumerated() where !route.isOptional {
            let wanted = route.times ?? 1
            guard uses[index] < wanted else { continue }
            complaints.append(
                uses[index] == 0
                    ? "the route \(route.summary) was never asked"
                    : "the route \(route.summary) was asked \(MockTable.times(uses[index])) and not \(MockTable.times(wanted))"
            )
        }
        if unmatched > 0 {
            complaints.append("\(unmatched == 1 ? "a call" : "\(unmatched) calls") had no route")
        }
        guard !complaints.isEmpty else { return nil }
        let shown = complaints.prefix(MockTable.mostComplaints).joined(separator: "; ")
        let rest = complaints.count - MockTable.mostComplaints
        return NightjarError(.invalidRequest, rest > 0 ? "\(shown); and \(rest) more" : shown)
    }

    private static let mostComplaints = 10
}
