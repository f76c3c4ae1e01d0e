/// An action that is passed to another thread, and runs on the loop.
struct LoopAction: @unchecked Sendable {
    let run: () -> Void
}
