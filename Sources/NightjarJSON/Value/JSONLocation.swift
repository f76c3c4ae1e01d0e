/// The position of a value in a JSON document: a ``JSONPointer``, or its text, as in `at: "/results/0"`.
public protocol JSONLocation: Sendable {
    /// - Throws: `invalid_argument` if a text is not a JSON Pointer.
    func jsonPointer() throws(NightjarError) -> JSONPointer
}

extension JSONPointer: JSONLocation {
    public func jsonPointer() -> JSONPointer { self }
}

extension String: JSONLocation {
    public func jsonPointer() throws(NightjarError) -> JSONPointer { try JSONPointer(self) }
}
