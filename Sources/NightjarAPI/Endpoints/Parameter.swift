/// A parameter of an operation, in its URL or header fields. OpenAPI 3.1 section 4.8.12.
public struct Parameter: Sendable {
    public enum Place: String, Sendable, CaseIterable { case path, query, header, cookie }

    public var name: String
    public var place: Place
    public var isRequired: Bool
    /// The schema of the value. Nil: anything.
    public var schema: DeferredSchema?
    /// The value that applies if the caller sets none.
    public var defaultValue: JSONValue?
    /// Whether ``defaultValue`` is sent. If false, it is the value that the server assumes, as in OpenAPI, and sending
    /// it could have another meaning. A required parameter is always sent.
    public var sendsDefault = true
    public var style: ParameterStyle
    /// Whether each array element and each object member becomes a separate parameter.
    public var explodes: Bool
    /// Reserved characters are not encoded. Query parameters only.
    public var allowsReserved = false
    /// The media type in which the value is serialized, such as `application/json`, instead of ``style``.
    public var mediaType: String?
    public var documentation: String?
    public var isDeprecated = false
    public var example: JSONValue?

    /// Path parameters are required. `style` and `explode` have OpenAPI's defaults for the place.
    public init(_ name: String, in place: Place, schema: DeferredSchema? = nil, isRequired: Bool = false) {
        self.name = name
        self.place = place
        self.schema = schema
        self.isRequired = isRequired || place == .path
        style = place == .query || place == .cookie ? .form : .simple
        explodes = place == .query || place == .cookie
    }
}

/// How an array or object is serialized. OpenAPI 3.1 section 4.8.12.3.
public enum ParameterStyle: String, Sendable, CaseIterable {
    case matrix, label, simple, form, spaceDelimited, pipeDelimited, deepObject
}
