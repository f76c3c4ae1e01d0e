import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// The decisions of a private cache, by section of RFC 9111.
@Suite struct RFC9111Tests {
    enum Input: Sendable {
        /// Whether the response is stored.
        case storability(CacheConversation)
        /// The decision about the later request.
        case decision(CacheConversation)
    }

    /// A test case. The expected text is a word of ``CacheConversation``.
    typealias Row = RFCRow<Input, String>
    typealias Fields = [(String, String)]

    static let rows: [Row] = [
        storable, notStorable, statuses, understood, variants, lifetimes, values, dates, heuristics, ages,
        requestDirectives, responseDirectives, noCache, staleWhileRevalidate, conditions, methods, ranges,
    ].joined().flatMap { $0 }

    @Test(arguments: rows)
    func rowHolds(_ row: Row) {
        switch row.input {
        case .storability(let conversation): #expect(conversation.storabilitySummary == row.expected)
        case .decision(let conversation): #expect(conversation.summary == row.expected)
        }
    }

    // MARK: Rows

    /// Returns a row about a decision.
    ///
    /// - Parameters:
    ///   - response: The fields of the stored response.
    ///   - after: The seconds between the response and the request.
    ///   - request: The fields of the request.
    ///   - expected: The expected decision.
    static func row(
        _ section: String, _ claim: String, _ response: Fields, after: Int64 = 0, request: Fields = [],
        _ expected: String, _ change: (inout CacheConversation) -> Void = { _ in }
    ) -> Row {
        var conversation = CacheConversation()
        conversation.response = response
        conversation.after = after
        conversation.then = request
        change(&conversation)
        return Row(section, claim, .decision(conversation), expected)
    }

    /// A row about a decision, for ``table(_:)``.
    struct Case {
        let row: Row

        init(
            _ section: String, _ claim: String, _ response: Fields, after: Int64 = 0, _ request: Fields,
            _ expected: String
        ) {
            row = RFC9111Tests.row(section, claim, response, after: after, request: request, expected)
        }

        init(_ section: String, _ claim: String, _ response: Fields, after: Int64 = 0, _ expected: String) {
            self.init(section, claim, response, after: after, [], expected)
        }
    }

    static func table(_ cases: [Case]) -> [Row] { cases.map(\.row) }
}
