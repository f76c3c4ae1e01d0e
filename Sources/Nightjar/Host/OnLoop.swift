/// A closure that runs on the loop alone, on its way there by other threads.
struct OnLoop<Value>: @unchecked Sendable {
    let body: (Value) -> Void

    init(_ body: @escaping (Value) -> Void) { self.body = body }
}
