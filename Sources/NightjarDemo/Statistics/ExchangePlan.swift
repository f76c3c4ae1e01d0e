/// How the server handles one request, decided when the request head has arrived.
struct ExchangePlan {
    enum Action {
        case collect(Request, limit: Int, Handler)
        case stream(Request, StreamHandler)
        case answer(Response)
    }

    /// The route's template, or `*`.
    let route: String
    var action: Action
    /// Whether the path begins with `/v1`.
    var isOfAPI = false
    /// What the request is counted under beside others that are under way: the route, and the parameter `key` of the
    /// query where there is one.
    var subject: String

    /// The control plane does not count itself.
    var isObserved: Bool { !route.hasPrefix("/__") }
}
