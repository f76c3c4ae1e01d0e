import NightjarHTTP

extension NightjarError {
    /// A collected response body exceeds the call's limit.
    static func tooLarge(_ maximum: Int) -> NightjarError {
        NightjarError(
            .tooLarge, "the response body is larger than \(maximum) bytes; raise max_body or stream the response",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }

    /// A response body exceeds the memory limit of its script.
    static var noRoom: NightjarError {
        NightjarError(
            .tooLarge,
            "the response body exceeds the script's memory limit; stream the response or keep fewer responses",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }
}
