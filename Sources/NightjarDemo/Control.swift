/// `/__stats` and what else is there for tests, not for users of the API: it is neither counted nor logged.
struct Control {
    let ledger: Ledger
    let store: Store

    func add(to router: inout Router) {
        router.on(.GET, "/__stats", read)
        router.on(.POST, "/__stats/reset", resetStatistics)
        router.on(.POST, "/__data/reset", resetData)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        .json(Control.json(ledger.statistics))
    }

    private func resetStatistics(_ request: Request) throws(Problem) -> Response {
        ledger.reset()
        return Response(.noContent)
    }

    /// Brings back the articles, users and comments of the start.
    private func resetData(_ request: Request) throws(Problem) -> Response {
        store.reset()
        return Response(.noContent)
    }

    private static func json(_ statistics: DemoStatistics) -> JSON {
        let requests = statistics.requests.sorted { $0.key < $1.key }
        let statuses = statistics.statuses.sorted { $0.key < $1.key }
        return [
            "requests": .object(requests.map { JSON.Member(name: $0.key, value: .int($0.value)) }),
            "statuses": .object(statuses.map { JSON.Member(name: String($0.key), value: .int($0.value)) }),
            "connections": [
                "opened": .int(statistics.connectionsOpened), "open": .int(statistics.connectionsOpen),
            ],
            "bytes": ["in": .int(statistics.bytesIn), "out": .int(statistics.bytesOut)],
            "log": .array(statistics.exchanges.map(json)),
        ]
    }

    private static func json(_ exchange: DemoStatistics.Exchange) -> JSON {
        [
            "number": .int(exchange.number),
            "connection": .int(exchange.connection),
            "request_on_connection": .int(exchange.numberOnConnection),
            "method": .string(exchange.method),
            "target": .string(exchange.target),
            "route": .string(exchange.route),
            "headers": .array(exchange.headers.map { [.string($0.name), .string($0.value)] }),
            "body": Echo.body(exchange.body),
            "body_encoding": Echo.bodyEncoding(exchange.body),
            "body_bytes": .int(exchange.bodyLength),
            "complete": .bool(exchange.isComplete),
            "status": .int(exchange.status),
        ]
    }
}
