/// A request for a file, possibly in progress.
final class TransferEntry {
    let number: Int
    let method: String
    let connection: Int
    let range: String?
    let ifRange: String?
    fileprivate(set) var fault: String?
    /// Zero if the connection was closed without a response.
    fileprivate(set) var status = 0
    fileprivate(set) var version = 0
    /// The bytes of the content that the response has. Nil if the response has none.
    fileprivate(set) var bytes: Range<Int>?
    /// The number of body bytes that were written to the socket, without framing.
    var bodyBytes = 0
    /// True if the body was sent to its end.
    var isComplete = false

    init(_ request: Request, number: Int) {
        self.number = number
        method = request.head.method.rawValue
        connection = request.connection
        range = request.head.headers.first(name: "range")
        ifRange = request.head.headers.first(name: "if-range")
    }

    func responded(status: Int, bytes: Range<Int>?, version: Int, fault: String?) {
        (self.status, self.bytes, self.version, self.fault) = (status, bytes, version, fault)
    }

    fileprivate var json: JSON {
        [
            "number": .int(number), "method": .string(method), "connection": .int(connection),
            "range": .optional(range), "if_range": .optional(ifRange), "status": .int(status),
            "start": bytes.map { .int($0.lowerBound) } ?? .null, "end": bytes.map { .int($0.upperBound) } ?? .null,
            "body_bytes": .int(bodyBytes), "complete": .bool(isComplete), "version": .int(version),
            "fault": .optional(fault),
        ]
    }
}

/// The requests of a named download.
final class TransferRun {
    /// The newest requests.
    private(set) var entries: [TransferEntry] = []
    /// The number of all requests.
    private(set) var count = 0
    private var removedBytes = 0
    /// The number of requests that had a fault of the random plan.
    var faults = 0
    /// Whether a response had the position at which the content changes.
    var hasReachedChange = false

    private static let maximumEntries = 10_000

    func began(_ request: Request) -> TransferEntry {
        count += 1
        if entries.count == TransferRun.maximumEntries { removedBytes += entries.removeFirst().bodyBytes }
        let entry = TransferEntry(request, number: count)
        entries.append(entry)
        return entry
    }

    /// The number of body bytes of all requests.
    private var bodyBytes: Int { entries.reduce(removedBytes) { $0 + $1.bodyBytes } }

    var json: JSON {
        ["count": .int(count), "body_bytes": .int(bodyBytes), "requests": .array(entries.map(\.json))]
    }
}

/// The named downloads. `/__transfers/{run}` is the log of one.
final class TransferRuns: Resettable {
    private var runs = BoundedTable<String, TransferRun>(capacity: 2000)

    func add(to router: inout Router) {
        router.on(.GET, "/__transfers/{run}") { [self] request throws(Problem) in
            let name = request.parameters["run"] ?? ""
            guard let run = runs[name] else { throw Problem.notFound("run", "\"\(name)\"") }
            return .json(run.json)
        }
    }

    func reset() { runs.removeAll() }

    /// Returns the run with this name, which is created if there is none. Nil is a run of one request.
    func run(_ name: String?) -> TransferRun {
        guard let name else { return TransferRun() }
        if let run = runs[name] { return run }
        let run = TransferRun()
        runs.set(run, for: name)
        return run
    }
}
