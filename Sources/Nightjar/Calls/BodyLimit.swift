import NightjarHTTP

extension NightjarError {
    /// A collected answer has more content than the call allows, wherever it comes from.
    static func tooLarge(_ maximum: Int) -> NightjarError {
        NightjarError(
            .tooLarge, "the answer's body is larger than \(maximum) bytes; raise max_body or stream it",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }

    /// A response's content does not fit into the memory limit of its script.
    static var noRoom: NightjarError {
        NightjarError(
            .tooLarge,
            "the response's body does not fit into the script's memory limit; stream it, or keep fewer responses",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }
}
