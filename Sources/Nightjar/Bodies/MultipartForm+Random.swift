import NightjarHTTP

extension MultipartForm {
    /// Creates a form with a random boundary.
    public init(_ parts: [Part]) throws(NightjarError) {
        var random = SystemRandomNumberGenerator()
        try self.init(parts, using: &random)
    }
}
