import NightjarHTTP

extension SwaggerConverter {
    /// Reads a list of parameters, whose elements may be references.
    mutating func parameters(_ list: TreeNode?, _ context: String) -> SwaggerParameters {
        var result = SwaggerParameters()
        guard let list, list.isArray else { return result }
        var known = ExactSet()
        for (number, element) in list.elements.enumerated() {
            let place = "\(context).parameters.\(number)"
            guard let node = resolved(element) else {
                note(place, unresolved(element))
                continue
            }
            let parameter = SwaggerParameters.Described(node: node, context: place)
            switch node["in"]?.text {
            case "body":
                if result.body != nil { note(place, "an operation has only one body; ignored") }
                result.body = result.body ?? parameter
            case "formData":
                if known.insert(parameter.name) {
                    result.fields.append(parameter)
                } else {
                    note(place, "\(quoted(parameter.name, limit: 200)) is defined twice; the first definition is used")
                }
            default: result.others.append(parameter)
            }
        }
        return result
    }

    /// - Parameter list: the list that the parameters come from.
    mutating func writeParameters(
        _ parameters: [SwaggerParameters.Described], _ list: TreeNode?
    ) throws(NightjarError) {
        guard let list, !parameters.isEmpty else { return }
        writer.move(to: list)
        try writer.text("parameters")
        try object(.array) { converter throws(NightjarError) in
            for parameter in parameters {
                let isWritten = try converter.once(Key(node: parameter.node.index)) { converter throws(NightjarError) in
                    try converter.writeParameter(parameter)
                }
                if !isWritten {
                    converter.note(parameter.context, "the parameter cannot be converted; ignored")
                }
            }
        }
    }

    /// - Returns: nil if the parameter cannot be converted.
    private mutating func writeParameter(
        _ parameter: SwaggerParameters.Described
    ) throws(NightjarError) -> UInt32? {
        let node = parameter.node
        let place = node["in"]?.text ?? ""
        writer.move(to: node)
        guard node.isObject, let collection = collection(parameter, in: place) else { return nil }
        return try object { converter throws(NightjarError) in
            for name in ["name", "in", "description", "required", "deprecated", "allowEmptyValue"] {
                try converter.writer.copy(name, of: node)
            }
            try converter.writer.copy("x-example", of: node, as: "example")
            try converter.write(collection)
            try converter.writer.text("schema")
            try converter.writeSchema(of: node)
            try converter.writer.copyExtensions(of: node)
        }
    }

    private mutating func write(_ collection: SwaggerCollection) throws(NightjarError) {
        if let style = collection.style { try writer.member("style", style) }
        if let explodes = collection.explodes { try writer.member("explode", explodes) }
    }

    /// - Returns: nil if the format cannot be converted, with a note. Empty if the parameter is not an array.
    private mutating func collection(
        _ parameter: SwaggerParameters.Described, in place: String
    ) -> SwaggerCollection? {
        guard parameter.isArray else { return SwaggerCollection(nil, in: "") }
        if parameter.node["items"]?["collectionFormat"] != nil {
            note(parameter.context, "the collectionFormat of nested arrays is ignored")
        }
        let format = parameter.node["collectionFormat"]?.text
        let collection = SwaggerCollection(format, in: place)
        if collection == nil {
            note(
                parameter.context,
                "the collectionFormat \(quoted(format ?? "", limit: 200)) in \(quoted(place, limit: 200)) does not "
                    + "exist in OpenAPI 3")
        }
        return collection
    }

    /// The members of a parameter that describe its value.
    private static let valueMembers = [
        "type", "format", "default", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
        "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "enum", "multipleOf", "title",
    ]

    /// Writes the schema of a parameter that is not a body.
    ///
    /// - Parameter describes: true if the schema has the description, for the properties of a form.
    @discardableResult
    private mutating func writeSchema(of parameter: TreeNode, describes: Bool = false) throws(NightjarError) -> UInt32 {
        try object { converter throws(NightjarError) in
            if describes {
                try converter.writer.copy("description", of: parameter)
                try converter.writer.copy("x-example", of: parameter, as: "example")
            }
            for name in SwaggerConverter.valueMembers {
                guard let value = parameter[name] else { continue }
                if name == "type", value.text == "file" {
                    try converter.writer.member("type", "string")
                    if parameter["format"] == nil { try converter.writer.member("format", "binary") }
                } else {
                    try converter.writer.member(name, value)
                }
            }
            if let items = parameter["items"] { try converter.writer.member("items", items, .schema) }
            try converter.writer.copy("x-nullable", of: parameter, as: "nullable")
        }
    }

    // MARK: Request bodies

    /// Writes `requestBody` from the parameter in body or those in formData.
    ///
    /// - Parameter types: the list `consumes` that applies.
    mutating func writeRequestBody(
        _ parameters: SwaggerParameters, _ types: TreeNode?, _ context: String
    ) throws(NightjarError) {
        if let body = parameters.body {
            if let field = parameters.fields.first {
                note(field.context, "a parameter in formData cannot be combined with one in body; ignored")
            }
            writer.move(to: body.node)
            try writer.text("requestBody")
            try object { converter throws(NightjarError) in
                try converter.writer.copy("description", of: body.node)
                try converter.writer.copy("required", of: body.node)
                try converter.writeContent(types) { converter throws(NightjarError) in
                    if let schema = body.node["schema"] { try converter.writer.member("schema", schema, .schema) }
                    try converter.writer.copy("x-example", of: body.node, as: "example")
                }
            }
        } else if let first = parameters.fields.first {
            writer.move(to: first.node)
            try writer.text("requestBody")
            try object { converter throws(NightjarError) in
                try converter.writeForm(parameters.fields, converter.mediaTypes(types))
            }
        }
    }

    private mutating func writeForm(
        _ fields: [SwaggerParameters.Described], _ types: [String]
    ) throws(NightjarError) {
        var usable: [(field: SwaggerParameters.Described, collection: SwaggerCollection)] = []
        for field in fields {
            if let collection = collection(field, in: "formData") {
                usable.append((field, collection))
            } else {
                note(field.context, "the parameter cannot be converted; ignored")
            }
        }
        let required = usable.filter(\.field.isRequired)
        if !required.isEmpty { try writer.member("required", true) }
        try writeContent(SwaggerConverter.formTypes(types, hasFile: fields.contains(where: \.isFile))) {
            converter throws(NightjarError) in
            try converter.writer.text("schema")
            try converter.object { converter throws(NightjarError) in
                try converter.writer.member("type", "object")
                try converter.writer.text("properties")
                try converter.object { converter throws(NightjarError) in
                    for (field, _) in usable { try converter.writeProperty(field) }
                }
                guard !required.isEmpty else { return }
                try converter.writer.text("required")
                try converter.object(.array) { converter throws(NightjarError) in
                    for (field, _) in required { try converter.writer.text(field.name) }
                }
            }
            try converter.writeEncodings(usable.filter(\.field.isArray))
        }
    }

    private mutating func writeProperty(_ field: SwaggerParameters.Described) throws(NightjarError) {
        writer.move(to: field.node)
        let name = field.name
        _ = try once(Key(node: field.node.index, kind: .property), name: name) { converter throws(NightjarError) in
            try converter.writer.text(name)
            return try converter.writeSchema(of: field.node, describes: true)
        }
    }

    private mutating func writeEncodings(
        _ arrays: [(field: SwaggerParameters.Described, collection: SwaggerCollection)]
    ) throws(NightjarError) {
        guard !arrays.isEmpty else { return }
        try writer.text("encoding")
        try object { converter throws(NightjarError) in
            for (field, collection) in arrays {
                try converter.writer.text(field.name)
                try converter.object { converter throws(NightjarError) in try converter.write(collection) }
            }
        }
    }

    /// Returns the form types of `consumes`. A file requires multipart/form-data.
    private static func formTypes(_ types: [String], hasFile: Bool) -> [String] {
        let multipart = "multipart/form-data"
        let essences = types.compactMap { MediaType($0)?.essence }
        if hasFile { return [multipart] }
        let urlEncoded = "application/x-www-form-urlencoded"
        let forms = [urlEncoded, multipart].filter(essences.contains)
        return forms.isEmpty ? [urlEncoded] : forms
    }
}
