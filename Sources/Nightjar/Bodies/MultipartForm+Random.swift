import NightjarHTTP

extension MultipartForm {
    /// A form with a boundary of the system's randomness.
    public init(_ parts: [Part]) throws(NightjarError) {
        var random = SystemRandomNumberGenerator()
        try self.init(parts, using: &random)
    }
}
