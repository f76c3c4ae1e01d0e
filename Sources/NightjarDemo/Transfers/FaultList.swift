import NIOHTTP1

/// A fault of a request, and its position or amount.
struct ListedFault<Kind> {
    let kind: Kind
    var number: Int?
}

/// The faults of requests, in order.
///
/// - `faults`: a comma-separated list of `name` or `name@number`. The number is a position or an amount. The first request
///   has the first fault, and so on.
/// - `repeat=1`: later requests have the last fault of the list. By default, they have none.
struct FaultList<Kind: RawRepresentable & CaseIterable> where Kind.RawValue == String {
    private let faults: [ListedFault<Kind>]
    private let repeatsLast: Bool

    init(_ request: Request) throws(Problem) {
        faults = try request.queryList("faults", of: Kind.allCases.map(\.rawValue)) { word in
            let halves = word.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            guard let kind = Kind(rawValue: String(halves[0])) else { return nil }
            guard halves.count == 2 else { return ListedFault(kind: kind) }
            guard let number = Int(halves[1]), (-(1 << 40)...(1 << 40)).contains(number) else { return nil }
            return ListedFault(kind: kind, number: number)
        }
        repeatsLast = try request.query("repeat", oneOf: ["0", "1"]) == "1"
    }

    /// Returns the fault of a request with this number, from 1. Nil if the list has no fault for it.
    subscript(number: Int) -> ListedFault<Kind>? {
        if number <= faults.count { return faults[number - 1] }
        return repeatsLast ? faults.last : nil
    }
}

extension Request {
    /// Returns the items of a comma-separated list. An absent parameter is an empty list.
    ///
    /// - Parameters:
    ///   - choices: the names of the items, for the error message.
    ///   - read: returns the item, or nil if the text is not one.
    func queryList<Item>(_ name: String, of choices: [String], _ read: (Substring) -> Item?) throws(Problem) -> [Item] {
        let words = (query(name) ?? "").split(separator: ",")
        let items = words.compactMap(read)
        guard items.count == words.count, items.count <= 1000 else {
            throw Problem.query(
                name, "must be a comma-separated list of at most 1000 of \(choices.joined(separator: ", "))")
        }
        return items
    }

    /// The name of the run of a transfer.
    var run: String? { query("run").map { String(decoding: $0.utf8.prefix(200), as: UTF8.self) } }
}

extension Problem {
    /// The response of a fault.
    static func requested(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:]) -> Problem {
        Problem(status, "this response was requested", headers: headers)
    }
}

extension HTTPResponseStatus {
    /// The final status for the number of a fault. The default is 500.
    init(fault number: Int?) { self.init(statusCode: min(max(number ?? 500, 200), 599)) }
}
