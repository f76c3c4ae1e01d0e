/// A closure that runs only on the loop but passes through other threads.
struct OnLoop<Value>: @unchecked Sendable {
    let body: (Value) -> Void

    init(_ body: @escaping (Value) -> Void) { self.body = body }
}
