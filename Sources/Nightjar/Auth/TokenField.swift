import NightjarHTTP

/// The Authorization field of the token in use.
struct TokenField {
    private var value = ""
    /// The field as it is sent. Nil if there is no token that can be sent.
    private var line: FieldLine?
    /// The last request to which the field was added, without and with the field. Nil if that request has a body.
    private var last: (plain: PreparedRequest, request: PreparedRequest)?

    var isPresent: Bool { line != nil }

    mutating func set(_ token: Token) {
        value = token.authorization ?? ""
        line = try? FieldLine("Authorization", value)
        last = nil
    }

    mutating func clear() { self = TokenField() }

    /// Adds the field to a request without a token.
    mutating func added(to request: PreparedRequest) -> PreparedRequest {
        guard let line else { return request }
        if let last, last.plain === request { return last.request }
        let authenticated = request.adding(line)
        last = request.body.length == 0 ? (request, authenticated) : nil
        return authenticated
    }

    /// Replaces the field of an earlier token.
    func replaced(in request: PreparedRequest) throws(NightjarError) -> PreparedRequest {
        try request.setting("Authorization", value)
    }
}
