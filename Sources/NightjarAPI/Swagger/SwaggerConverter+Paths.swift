import NightjarHTTP

extension SwaggerConverter {
    mutating func writePaths() throws(NightjarError) {
        guard let paths = root["paths"] else { return }
        guard paths.isObject else { return try writer.member("paths", paths) }
        writer.move(to: paths)
        try writer.text("paths")
        try object { converter throws(NightjarError) in
            for (key, value) in paths.members {
                let path = paths.name(key)
                if path.utf8.starts(with: "x-".utf8) {
                    try converter.writer.member(path, value)
                } else {
                    try converter.writePathItem(path, value)
                }
            }
        }
    }

    private mutating func writePathItem(_ path: String, _ described: TreeNode) throws(NightjarError) {
        writer.move(to: described)
        guard let item = resolved(described) else {
            note("paths.\(path)", unresolved(described))
            return
        }
        guard item.isObject else { return try writer.member(path, item) }
        _ = try once(Key(node: item.index, kind: .pathItem), name: path) { converter throws(NightjarError) in
            try converter.writer.text(path)
            return try converter.object { converter throws(NightjarError) in
                try converter.writeMembers(of: item, "paths.\(path)")
            }
        }
    }

    private mutating func writeMembers(of item: TreeNode, _ context: String) throws(NightjarError) {
        let common = parameters(item["parameters"], context)
        try writeParameters(common.others, item["parameters"])
        for method in DescriptionRole.methods {
            guard let operation = item[method] else { continue }
            guard operation.isObject else {
                try writer.member(method, operation)
                continue
            }
            writer.move(to: operation)
            try writer.text(method)
            try object { converter throws(NightjarError) in
                try converter.writeOperation(operation, common, "\(context).\(method)")
            }
        }
        try writer.copyExtensions(of: item)
    }

    private mutating func writeOperation(
        _ operation: TreeNode, _ common: SwaggerParameters, _ context: String
    ) throws(NightjarError) {
        for name in ["tags", "summary", "description", "externalDocs", "operationId", "deprecated", "security"] {
            try writer.copy(name, of: operation)
        }
        if let schemes = operation["schemes"], root["host"] != nil {
            try writeServers(schemes, "\(context).schemes")
        }
        let own = parameters(operation["parameters"], context)
        try writeParameters(own.others, operation["parameters"])
        try writeRequestBody(own.overriding(common), operation["consumes"] ?? root["consumes"], context)
        try writeResponses(operation, context)
        try writer.copyExtensions(of: operation)
    }

    // MARK: Responses

    private mutating func writeResponses(_ operation: TreeNode, _ context: String) throws(NightjarError) {
        guard let described = operation["responses"] else { return }
        guard described.isObject else { return try writer.member("responses", described) }
        let types = operation["produces"] ?? root["produces"]
        writer.move(to: described)
        try writer.text("responses")
        try object { converter throws(NightjarError) in
            for (key, value) in described.members {
                let status = described.name(key)
                converter.writer.move(to: value)
                guard let response = converter.resolved(value), response.isObject,
                    !status.utf8.starts(with: "x-".utf8)
                else {
                    if converter.resolved(value) == nil {
                        converter.note("\(context).responses.\(status)", converter.unresolved(value))
                    } else {
                        try converter.writer.member(status, value)
                    }
                    continue
                }
                let key = Key(node: response.index, list: types?.index ?? 0, kind: .response)
                _ = try converter.once(key, name: status) { converter throws(NightjarError) in
                    try converter.writer.text(status)
                    return try converter.writeResponse(response, types)
                }
            }
        }
    }

    private mutating func writeResponse(_ response: TreeNode, _ types: TreeNode?) throws(NightjarError) -> UInt32 {
        try object { converter throws(NightjarError) in
            try converter.writer.copy("description", of: response)
            guard let schema = response["schema"] else { return }
            try converter.writeContent(types) { converter throws(NightjarError) in
                try converter.writer.member("schema", schema, .schema)
            }
        }
    }

    /// Writes `content` with the same media type object for each type of a list.
    ///
    /// - Parameters:
    ///   - types: nil or empty: `application/json`.
    ///   - members: writes the members of the media type object.
    mutating func writeContent(
        _ types: TreeNode?, _ members: (inout SwaggerConverter) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try writeContent(mediaTypes(types), members)
    }

    mutating func writeContent(
        _ types: [String], _ members: (inout SwaggerConverter) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try writer.text("content")
        try object { converter throws(NightjarError) in
            var first: UInt32?
            for type in types {
                try converter.writer.text(type)
                if let first {
                    try converter.writer.again(first)
                } else {
                    first = try converter.object(.object, members)
                }
            }
        }
    }

    /// Returns the different media types of a list, or `application/json` if there are none.
    func mediaTypes(_ list: TreeNode?) -> [String] {
        var types: [String] = []
        var known = ExactSet()
        let elements = list.map { Array($0.elements.prefix(SwaggerConverter.maximumTypes)) } ?? []
        for element in elements {
            guard let type = element.text(atMost: CatalogBuilder.maximumName), !type.isEmpty, known.insert(type) else {
                continue
            }
            types.append(type)
        }
        return types.isEmpty ? ["application/json"] : types
    }
}
