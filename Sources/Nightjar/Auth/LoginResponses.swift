import NightjarHTTP

/// The cached responses to the calls of a login.
protocol LoginResponses: AnyObject {
    /// Called when later calls may use another login's token, or no token.
    func loginChanged()
    /// Removes the responses to the calls of a login that has ended.
    func forget(_ partition: CachePartition)
    /// Calls `completion` when all changes are on disk, or with the error of a change that failed.
    func flush(on loop: ClientLoop, then completion: @escaping (NightjarError?) -> Void)
}
