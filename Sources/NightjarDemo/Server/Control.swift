/// `/__stats` and what else is there for tests, not for users of the API: it is neither counted nor logged.
struct Control {
    let ledger: Ledger
    let store: Store
    let outage: Outage
    let tokens: Tokens
    /// Everything that ``control(_:)`` can take back to the start, `store` and `tokens` included.
    let states: [any Resettable]

    func add(to router: inout Router) {
        router.on(.GET, "/__stats", read)
        router.on(.POST, "/__stats/reset", resetStatistics)
        router.on(.POST, "/__data/reset", resetData)
        router.on(.POST, "/__control", control)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        .json(ledger.statistics.json)
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

    /// Does what its members say, and answers with what is in force then:
    ///
    /// - `"reset": true`: everything as it was at the start: data, logins, orders, windows, counters, no outage;
    /// - `"outage": "none"`, `"503"` or `"drop"`: what all of `/v1`, `/news` and `/me` answers from then on;
    /// - `"expire_access_tokens": true`: every access token issued so far expires now.
    private func control(_ request: Request) throws(Problem) -> Response {
        let document = try request.jsonObject()
        var fields = Fields(document, known: ["reset", "outage", "expire_access_tokens"], readOnly: [])
        let resets = fields.flag("reset", or: false)
        let expires = fields.flag("expire_access_tokens", or: false)
        let name = fields.optionalText("outage", limit: 10)
        let mode = name.flatMap(Outage.Mode.init(rawValue:))
        if name != nil, mode == nil { fields.refuse("outage", "must be \"none\", \"503\" or \"drop\"") }
        try fields.check()
        if resets {
            for state in states { state.reset() }
            ledger.reset()
        }
        if expires { tokens.expireAccessTokens() }
        if let mode { outage.mode = mode }
        return .json(["outage": .string(outage.mode.rawValue)])
    }
}
