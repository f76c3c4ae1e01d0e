/// Keeps what a ``RecordingTransport`` has seen of one client's exchanges. On the client's loop.
protocol ExchangeRecorder: AnyObject {
    /// Bytes of a body that is kept.
    var largestBody: Int { get }
    /// An exchange begins.
    ///
    /// - Returns: what comes back with its end.
    func begin() -> Int
    /// What came of it, its content still coded.
    func add(_ exchange: ObservedExchange, begun mark: Int)
    /// It was given up before there was an answer.
    func drop(_ exchange: ObservedExchange, begun mark: Int)
    /// Nothing follows: the client is closed.
    func close()
}

extension ExchangeRecorder {
    func begin() -> Int { 0 }
    func drop(_ exchange: ObservedExchange, begun mark: Int) {}
    func close() {}
}
