import NightjarHTTP

extension NightjarError {
    /// A collected answer has more content than the call allows, wherever it comes from.
    static func tooLarge(_ maximum: Int) -> NightjarError {
        NightjarError(
            .tooLarge, "the answer's body is larger than \(maximum) bytes; raise max_body or stream it",
            phase: .receive, requestMayHaveBeenProcessed: true)
    }
}
