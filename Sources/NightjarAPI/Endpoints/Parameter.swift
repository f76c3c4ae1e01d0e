/// A parameter of an operation, in its URL or header fields. OpenAPI 3.1 section 4.8.12.
package struct Parameter: Sendable {
    package enum Place: String, Sendable, CaseIterable { case path, query, header, cookie }

    package var name: String
    package var place: Place
    package var isRequired: Bool
    /// The schema of the value. Nil: anything.
    package var schema: DeferredSchema?
    /// The value that applies if the caller sets none.
    package var defaultValue: JSONValue?
    /// Whether ``defaultValue`` is sent. If false, the server assumes the default, as in OpenAPI, and sending it could
    /// have another meaning. For a required parameter, the default is sent even if this is false.
    package var sendsDefault = true
    package var style: ParameterStyle
    /// Whether each array element and each object member becomes a separate parameter.
    package var explodes: Bool
    /// True if reserved characters except `#`, `&`, `+` and brackets are not encoded. Applies only to query parameters.
    package var allowsReserved = false
    /// The media type in which the value is serialized, such as `application/json`, instead of ``style``.
    package var mediaType: String?
    package var documentation: String?
    package var isDeprecated = false
    package var example: JSONValue?

    /// Creates a parameter. Path parameters are always required. ``style`` and ``explodes`` are set to OpenAPI's
    /// defaults for the place.
    package init(_ name: String, in place: Place, schema: DeferredSchema? = nil, isRequired: Bool = false) {
        self.name = name
        self.place = place
        self.schema = schema
        self.isRequired = isRequired || place == .path
        style = place == .query || place == .cookie ? .form : .simple
        explodes = place == .query || place == .cookie
    }
}

/// The serialization of an array or object. OpenAPI 3.1 section 4.8.12.3.
package enum ParameterStyle: String, Sendable, CaseIterable {
    case matrix, label, simple, form, spaceDelimited, pipeDelimited, deepObject
}
