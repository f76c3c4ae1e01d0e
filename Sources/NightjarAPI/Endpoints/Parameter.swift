/// One value that an operation takes in its URL or its header fields. OpenAPI 3.1 section 4.8.12.
public struct Parameter: Sendable {
    public enum Place: String, Sendable, CaseIterable { case path, query, header, cookie }

    public var name: String
    public var place: Place
    public var isRequired: Bool
    /// What a value must be; nil: anything.
    public var schema: DeferredSchema?
    /// What holds where the caller gives none.
    public var defaultValue: JSONValue?
    /// Whether ``defaultValue`` is sent. False where it is what the server takes for given, as in OpenAPI: to send it may mean
    /// something else. A parameter that must be there is sent all the same.
    public var sendsDefault = true
    public var style: ParameterStyle
    /// Whether each element of a list, and each member of an object, is a parameter of its own.
    public var explodes: Bool
    /// Reserved characters of URLs go as they are. Query only.
    public var allowsReserved = false
    /// The value goes as a text of this media type (`application/json`) rather than by its style.
    public var mediaType: String?
    public var documentation: String?
    public var isDeprecated = false
    public var example: JSONValue?

    /// A path's parameters are required; style and explode are those that OpenAPI gives the place.
    public init(_ name: String, in place: Place, schema: DeferredSchema? = nil, isRequired: Bool = false) {
        self.name = name
        self.place = place
        self.schema = schema
        self.isRequired = isRequired || place == .path
        style = place == .query || place == .cookie ? .form : .simple
        explodes = place == .query || place == .cookie
    }
}

/// How a list or an object becomes text. OpenAPI 3.1 section 4.8.12.3.
public enum ParameterStyle: String, Sendable, CaseIterable {
    case matrix, label, simple, form, spaceDelimited, pipeDelimited, deepObject
}
