/// `/__stats` and other resources for tests. Requests to paths that begin with `/__` are neither counted nor logged.
struct Control {
    let ledger: Ledger
    let store: Store
    let outage: Outage
    let tokens: Tokens
    /// All state that ``control(_:)`` can reset, including `store` and `tokens`.
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

    /// Restores the initial articles, users and comments.
    private func resetData(_ request: Request) throws(Problem) -> Response {
        store.reset()
        return Response(.noContent)
    }

    /// Executes the commands in the members of the request. Returns the current mode of the outage.
    ///
    /// - `"reset": true`: restores the initial data, removes what clients have created, such as logins, orders and rate
    ///   limit windows, resets the counters and ends an outage.
    /// - `"outage"`: sets the response of all of `/v1`, `/news` and `/me`: `"none"` for no outage, `"503"` or `"drop"`.
    /// - `"expire_access_tokens": true`: expires all access tokens issued so far.
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
