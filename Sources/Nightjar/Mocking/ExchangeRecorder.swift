/// Receives the exchanges that a ``RecordingTransport`` observes. Used on the client's loop.
protocol ExchangeRecorder: AnyObject {
    /// The maximum size of a recorded body in bytes.
    var largestBody: Int { get }
    /// Called when an exchange begins.
    ///
    /// - Returns: A mark that is passed to the method that ends the exchange.
    func begin() -> Int
    /// Called with an exchange that has finished, has failed, or was cancelled after its response head. Its bodies are
    /// not decoded.
    func add(_ exchange: ObservedExchange, started mark: Int)
    /// Called with an exchange that was cancelled before its response head.
    func drop(_ exchange: ObservedExchange, started mark: Int)
    /// Called when the client is closed.
    func close()
}

extension ExchangeRecorder {
    func begin() -> Int { 0 }
    func drop(_ exchange: ObservedExchange, started mark: Int) {}
    func close() {}
}
