/// The way in which the server handles a request. Decided when the request head has been received.
struct ExchangePlan {
    enum Action {
        case collect(Request, limit: Int, Handler)
        case stream(Request, StreamHandler)
        case respond(Response)
    }

    /// The route's template, or `*` if none matched.
    let route: String
    var action: Action
    /// True if the path begins with `/v1`.
    var isOfAPI = false
    /// The key under which requests in flight are counted: the route and, if present, the query parameter `key`.
    var subject: String

    /// True if the request is counted. Requests to paths that begin with `/__` are not counted.
    var isObserved = true
}
