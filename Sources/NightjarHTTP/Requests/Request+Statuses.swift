/// Statuses that a request expects: one status, `200..<300` or `200...299`.
public protocol StatusExpectation {
    var statusRange: StatusRange { get }
}

extension StatusRange: StatusExpectation {
    public var statusRange: StatusRange { self }
}

extension Int: StatusExpectation {
    public var statusRange: StatusRange { StatusRange(self) }
}

extension Range<Int>: StatusExpectation {
    public var statusRange: StatusRange { StatusRange(self) }
}

extension ClosedRange<Int>: StatusExpectation {
    public var statusRange: StatusRange { StatusRange(self) }
}

extension Request {
    /// Adds statuses that count as success, to ``expectedStatuses``.
    ///
    ///     request.expect(200..<300, 404)
    ///
    /// After the first call, other statuses are errors, also 304.
    public mutating func expect(_ statuses: any StatusExpectation...) {
        expectedStatuses += statuses.map(\.statusRange)
    }
}
