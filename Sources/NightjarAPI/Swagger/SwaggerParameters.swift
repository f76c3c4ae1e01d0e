import NightjarHTTP

/// The parameters of a path item or an operation.
struct SwaggerParameters {
    /// A parameter, and its place for notes.
    struct Described {
        let node: TreeNode
        let context: String

        var name: String { node["name"]?.text ?? "" }
        var isArray: Bool { node["type"]?.text == "array" }
        var isFile: Bool { node["type"]?.text == "file" }
        var isRequired: Bool { node["required"]?.bool ?? false }
    }

    /// The parameters in path, query and header.
    var others: [Described] = []
    var body: Described?
    /// The parameters in formData, each name once.
    var fields: [Described] = []

    /// Returns the body and the fields of an operation. Those of its path item apply unless the operation overrides them.
    func overriding(_ common: SwaggerParameters) -> SwaggerParameters {
        var result = self
        if body == nil, fields.isEmpty { result.body = common.body }
        if body == nil {
            var known = ExactSet()
            for field in fields { known.insert(field.name) }
            result.fields = common.fields.filter { !known.contains($0.name) } + fields
        }
        return result
    }
}

/// The format of the elements of an array.
struct SwaggerCollection {
    /// Nil: the default of the place.
    var style: String?
    var explodes: Bool?

    /// - Parameter format: `collectionFormat`. Nil: `csv`.
    /// - Returns: nil if OpenAPI 3 has no such format.
    init?(_ format: String?, in place: String) {
        let isNamed = place == "query" || place == "formData"
        switch format ?? "csv" {
        case "csv": (style, explodes) = isNamed ? ("form", false) : (nil, nil)
        case "ssv" where isNamed: (style, explodes) = ("spaceDelimited", false)
        case "pipes" where isNamed: (style, explodes) = ("pipeDelimited", false)
        case "multi" where isNamed: (style, explodes) = ("form", true)
        default: return nil
        }
    }
}
