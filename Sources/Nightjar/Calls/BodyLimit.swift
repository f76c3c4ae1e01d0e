import NightjarHTTP

extension NightjarError {
    /// Returns the error for a collected response body that is larger than `maximum` bytes.
    static func tooLarge(_ maximum: Int) -> NightjarError {
        NightjarError(
            .tooLarge, "the response body is larger than \(maximum) bytes; raise max_body or stream the response",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }

    /// The error for a response body that exceeds the memory limit of its script.
    static var noRoom: NightjarError {
        NightjarError(
            .tooLarge,
            "the response body exceeds the script's memory limit; stream the response or keep fewer responses",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }
}
