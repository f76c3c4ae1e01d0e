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
    /// The subject under which requests in progress are counted: the route, and the query parameter `key` if it is
    /// present.
    var subject: String

    /// The control plane does not count itself.
    var isObserved: Bool { !route.hasPrefix("/__") }
}
