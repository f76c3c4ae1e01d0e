import NightjarHTTP

extension CatalogBuilder {
    /// Reads the parameters of an operation: its own parameters, and the parameters of its path item that it does not
    /// override. OpenAPI 3.1 sections 4.8.9, 4.8.10 and 4.8.12.
    mutating func parameters(
        of operation: DocumentPlace, _ item: PathItem, _ template: TemplateNames, _ context: String
    ) throws(NightjarError) -> [Parameter] {
        let own = try parameters(operation["parameters"], template, context)
        let common = try parameters(item["parameters"], template, context)
        var known = Set(own.map(ParameterKey.init))
        var all = common.filter { !known.contains(ParameterKey($0)) } + own
        known.formUnion(common.map(ParameterKey.init))
        for name in template.ordered where !known.contains(ParameterKey(name: name, place: .path)) {
            try countPart()
            note(context, "the path parameter \(quoted(name)) is not described; any value is accepted")
            all.append(Parameter(name, in: .path))
        }
        return all
    }

    private struct ParameterKey: Hashable {
        let name: ExactText
        let place: Parameter.Place

        init(name: String, place: Parameter.Place) {
            self.name = ExactText(name)
            self.place = place
        }

        init(_ parameter: Parameter) { self.init(name: parameter.name, place: parameter.place) }
    }

    private mutating func parameters(
        _ list: DocumentPlace?, _ template: TemplateNames, _ context: String
    ) throws(NightjarError) -> [Parameter] {
        guard let list else { return [] }
        var parameters: [Parameter] = []
        var known: Set<ParameterKey> = []
        for (number, element) in list.node.elements.enumerated() {
            try countPart()
            let place = "\(context).parameters.\(number)"
            let described = DocumentPlace(document: list.document, node: element)
            let parameter: Parameter
            do throws(NightjarError) {
                let source = try resolved(described)
                guard let read = try self.parameter(source, described, place) else { continue }
                parameter = read
            } catch {
                note(place, "ignored: \(error.message)")
                continue
            }
            if parameter.place == .path, !template.names.contains(parameter.name) {
                note(place, "\(quoted(parameter.name)) is not in the path; ignored")
            } else if !known.insert(ParameterKey(parameter)).inserted {
                note(place, "\(quoted(parameter.name)) is defined twice; the first definition is used")
            } else {
                parameters.append(parameter)
            }
        }
        return parameters
    }

    /// Header fields that OpenAPI ignores as parameters. OpenAPI 3.1.1 section 4.8.12.2.1.
    private static let ignoredFields = ["accept", "content-type", "authorization"]

    /// Reads one parameter.
    ///
    /// - Parameter reference: the element of the list. Its description takes precedence over that of `source`.
    /// - Returns: nil if the parameter is ignored.
    private mutating func parameter(
        _ source: DocumentPlace, _ reference: DocumentPlace, _ context: String
    ) throws(NightjarError) -> Parameter? {
        var parameter = try nameAndPlace(source)
        let (name, place) = (parameter.name, parameter.place)
        if place == .header {
            if CatalogBuilder.ignoredFields.contains(name.lowercased()) { return nil }
            if Parameter.isWrittenByClient(field: name) {
                note(context, "the client sets the field \(quoted(name)) itself; ignored")
                return nil
            }
        }
        if place != .path { parameter.isRequired = source.node["required"]?.bool ?? false }
        parameter.isDeprecated = source.node["deprecated"]?.bool ?? false
        parameter.documentation = texts.text(reference["description"]) ?? text("description", of: source, context)
        if let style = texts.text(source["style"]) {
            if let known = ParameterStyle(rawValue: style), CatalogBuilder.styles(place).contains(known) {
                parameter.style = known
            } else {
                let sent = parameter.style.rawValue
                note(context, "the style \(quoted(style)) is not allowed in \(place.rawValue); using \(sent)")
            }
        }
        // The default is true for the style `form` and false for all others. OpenAPI 3.1.1 section 4.8.12.2.2.
        parameter.explodes = source.node["explode"]?.bool ?? (parameter.style == .form)
        parameter.allowsReserved = place == .query && source.node["allowReserved"]?.bool ?? false
        try readSchema(of: &parameter, source, context)
        return parameter
    }

    private mutating func nameAndPlace(_ source: DocumentPlace) throws(NightjarError) -> Parameter {
        guard let name = texts.text(source["name"]) else {
            throw NightjarError(.invalidArgument, "the parameter has no name")
        }
        guard name.utf8.count <= CatalogBuilder.maximumName else {
            throw NightjarError(
                .invalidArgument, "the name \(quoted(name)) is longer than \(CatalogBuilder.maximumName) bytes")
        }
        guard let place = texts.text(source["in"]).flatMap(Parameter.Place.init) else {
            let found = quoted(texts.text(source["in"]) ?? "")
            throw NightjarError(
                .invalidArgument,
                "the parameter \(quoted(name)) is in \(found); the allowed places are path, query, header and cookie")
        }
        return Parameter(name, in: place)
    }

    /// Reads the media type, the schema, the default value and the example.
    private mutating func readSchema(
        of parameter: inout Parameter, _ source: DocumentPlace, _ context: String
    ) throws(NightjarError) {
        var described = source["schema"]
        var examples = source
        if let content = source["content"], let first = content.node.members.first(where: { _ in true }) {
            parameter.mediaType = texts.name(first.key, of: content)
            examples = try resolved(DocumentPlace(document: content.document, node: first.value))
            described = examples["schema"]
        }
        var target: DocumentPlace?
        if let described {
            do throws(NightjarError) {
                target = try resolved(described)
                parameter.schema = try schema(described)
                readDefault(of: &parameter, described["default"] ?? target?["default"], context)
            } catch {
                note(context, "its schema is ignored: \(error.message)")
            }
        }
        parameter.example = example(of: examples, schema: target, context)
    }

    private mutating func readDefault(of parameter: inout Parameter, _ value: DocumentPlace?, _ context: String) {
        // A null default is not sent.
        guard let value, value.node.kind != .null else { return }
        do throws(NightjarError) {
            parameter.defaultValue = try self.value(value)
            parameter.sendsDefault = false
        } catch {
            note(context, "its default value is ignored: \(error.message)")
        }
    }

    /// Returns the styles that OpenAPI 3.1 section 4.8.12.3 allows for a place.
    private static func styles(_ place: Parameter.Place) -> [ParameterStyle] {
        switch place {
        case .path: [.simple, .label, .matrix]
        case .query: [.form, .spaceDelimited, .pipeDelimited, .deepObject]
        case .header: [.simple]
        case .cookie: [.form]
        }
    }
}

/// The names of the template expressions in a path.
struct TemplateNames {
    /// Each name once, in the order of the path.
    private(set) var ordered: [String] = []
    private(set) var names = ExactSet()

    /// - Parameter path: a path template. Braces after `?` or `#` are not template expressions.
    init(_ path: String) {
        var rest = path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        while let open = rest.firstIndex(of: UInt8(ascii: "{")) {
            rest = rest[rest.index(after: open)...]
            guard let close = rest.firstIndex(of: UInt8(ascii: "}")) else { break }
            let name = String(Substring(rest[..<close]))
            if names.insert(name) { ordered.append(name) }
            rest = rest[close...]
        }
    }
}
