import NightjarHTTP

/// Rejects calls to http URLs, before a connection is opened. A redirect passes this stage as a new request.
final class RequireHTTPS: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }
    private let settings: HTTPSOnly

    init(_ settings: HTTPSOnly) { self.settings = settings }

    override func outgoing(_ call: Call) -> Verdict {
        settings.refusal(of: call.request.url).map { .fail($0) } ?? .proceed
    }
}
