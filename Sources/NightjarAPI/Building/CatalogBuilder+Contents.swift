import NightjarHTTP

extension CatalogBuilder {
    /// Reads a request body. Returns nil if the body has no content.
    ///
    /// OpenAPI 3.1 section 4.8.13.
    mutating func content(_ described: DocumentPlace, _ context: String) throws(NightjarError) -> RequestContent? {
        let source = try resolved(described)
        guard let types = source["content"], types.node.isObject else {
            note(context, "the request body has no content; the operation takes no body")
            return nil
        }
        var choices: [RequestContent.Choice] = []
        for (key, value) in types.node.members {
            try countPart()
            let name = texts.name(key, of: types)
            guard name.utf8.count <= CatalogBuilder.maximumName, MediaType(name) != nil else {
                note(context, "\(quoted(name)) is not a media type; ignored")
                continue
            }
            let place = "\(context).\(name)"
            do throws(NightjarError) {
                let source = try resolved(DocumentPlace(document: types.document, node: value))
                choices.append(try choice(name, source, place))
            } catch {
                guard error.kind != .tooLarge else { throw error }
                note(place, "ignored: \(error.message)")
            }
        }
        guard !choices.isEmpty else {
            guard types.node.count > 0 else { return nil }
            throw NightjarError(.invalidArgument, "the request body has no usable content type")
        }
        var content = RequestContent(
            CatalogBuilder.preferred(choices), isRequired: source.node["required"]?.bool ?? false)
        content.documentation = texts.text(described["description"]) ?? text("description", of: source, context)
        return content
    }

    private mutating func choice(
        _ mediaType: String, _ source: DocumentPlace, _ context: String
    ) throws(NightjarError) -> RequestContent.Choice {
        var choice = RequestContent.Choice(mediaType)
        var target: DocumentPlace?
        if let described = source["schema"] {
            target = try resolved(described)
            choice.schema = try schema(described)
        }
        if let encodings = source["encoding"], encodings.node.isObject {
            for (key, value) in encodings.node.members {
                try countPart()
                let name = texts.name(key, of: encodings)
                guard name.utf8.count <= CatalogBuilder.maximumName else {
                    note(
                        context,
                        "the encoding name \(quoted(name)) is longer than \(CatalogBuilder.maximumName) bytes; ignored")
                    continue
                }
                choice.encodings[name] = encoding(
                    DocumentPlace(document: encodings.document, node: value), "\(context).encoding.\(name)")
            }
        }
        choice.example = example(of: source, schema: target, context)
        return choice
    }

    /// Reads the serialization of a form member.
    ///
    /// OpenAPI 3.1 section 4.8.15.
    private mutating func encoding(_ source: DocumentPlace, _ context: String) -> RequestContent.PartEncoding {
        var encoding = RequestContent.PartEncoding()
        encoding.contentType = texts.text(source["contentType"])
        if let style = texts.text(source["style"]) {
            encoding.style = ParameterStyle(rawValue: style)
            if encoding.style == nil { note(context, "unknown style \(quoted(style)); ignored") }
        }
        encoding.explodes = source.node["explode"]?.bool
        encoding.allowsReserved = source.node["allowReserved"]?.bool ?? false
        if source["headers"] != nil {
            skip("encoding headers", context + ": header fields of parts are not supported")
        }
        return encoding
    }

    /// Sorts content types by how completely the client can validate and serialize them: JSON, then forms, then all
    /// others. The order within each group is kept.
    private static func preferred(_ choices: [RequestContent.Choice]) -> [RequestContent.Choice] {
        let isJSON = { (choice: RequestContent.Choice) in MediaType(choice.mediaType)?.isJSON == true }
        let isForm = { (choice: RequestContent.Choice) in
            ["application/x-www-form-urlencoded", "multipart/form-data"].contains(
                MediaType(choice.mediaType)?.essence ?? "")
        }
        return choices.filter(isJSON) + choices.filter(isForm) + choices.filter { !isJSON($0) && !isForm($0) }
    }

    /// Reads the responses of an operation.
    ///
    /// OpenAPI 3.1 sections 4.8.16 and 4.8.17.
    mutating func responseDescriptions(_ described: DocumentPlace, _ context: String) throws(NightjarError)
        -> [ResponseDescription]
    {
        let responses = try resolved(described)
        var results: [ResponseDescription] = []
        for (key, value) in responses.node.members {
            // Count extensions too, because thousands of operations may share an object with thousands of extensions.
            try countPart()
            let name = texts.name(key, of: responses)
            guard !name.utf8.starts(with: "x-".utf8) else { continue }
            guard let statuses = CatalogBuilder.statuses(name) else {
                note(
                    "\(context).\(CatalogBuilder.shortened(name, CatalogBuilder.maximumName))",
                    "not a status; write 200, 2XX or default")
                continue
            }
            let context = "\(context).\(name)"
            do throws(NightjarError) {
                let described = DocumentPlace(document: responses.document, node: value)
                results.append(try responseDescription(statuses, described, context))
            } catch {
                guard error.kind != .tooLarge else { throw error }
                note(context, "the description is ignored: \(error.message)")
            }
        }
        return results
    }

    private mutating func responseDescription(
        _ statuses: StatusRange?, _ described: DocumentPlace, _ context: String
    ) throws(NightjarError) -> ResponseDescription {
        let source = try resolved(described)
        var result = ResponseDescription(statuses)
        result.documentation = texts.text(described["description"]) ?? text("description", of: source, context)
        if source["links"] != nil { skip("links", context + ": links are not supported") }
        guard let types = source["content"] else { return result }
        for (key, value) in types.node.members {
            try countPart()
            let name = texts.name(key, of: types)
            var described: DeferredSchema?
            do throws(NightjarError) {
                let source = try resolved(DocumentPlace(document: types.document, node: value))
                described = try source["schema"].map { place throws(NightjarError) in try schema(place) }
            } catch {
                note(
                    "\(context).\(CatalogBuilder.shortened(name, CatalogBuilder.maximumName))",
                    "the description is ignored: \(error.message)")
            }
            result.schemas.append((name, described))
        }
        return result
    }

    /// - Returns: `.some(nil)` for `default`. Nil if `name` is not a status.
    private static func statuses(_ name: String) -> StatusRange?? {
        if name == "default" { return .some(nil) }
        guard name.utf8.count == 3 else { return nil }
        let bytes = Array(name.utf8)
        guard (UInt8(ascii: "1")...UInt8(ascii: "5")).contains(bytes[0]) else { return nil }
        let hundred = Int(bytes[0] & 0xF) * 100
        if bytes[1] | 0x20 == UInt8(ascii: "x"), bytes[2] | 0x20 == UInt8(ascii: "x") {
            return StatusRange(hundred, hundred + 99)
        }
        return Int(name).map { StatusRange($0) }
    }
}
