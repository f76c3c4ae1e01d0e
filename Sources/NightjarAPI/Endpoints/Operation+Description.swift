// Descriptions of a catalog, as text and as data.

extension Operation {
    /// The name and parameters in one line: `article(id: integer, page?: integer = 1)`.
    package var signature: String {
        let texts = parameters.map { parameter in
            var text = parameter.name + (parameter.isRequired ? "" : "?")
            text += parameter.schema.flatMap { try? $0.get() }?.shape.names.map { ": \($0)" } ?? ""
            if let value = parameter.defaultValue, let written = try? value.parameterText() {
                text += " = \(written)"
            }
            return text
        }
        return "\(name)(\(texts.joined(separator: ", ")))"
    }

    /// The signature, method, path, description, parameters and body, on several lines.
    package var help: String {
        var lines = [signature, "\(method) \(path)" + (isDeprecated ? " (deprecated)" : "")]
        lines += [summary, documentation].compactMap { $0 }.filter { !$0.isEmpty }
        for parameter in parameters {
            var line = "  \(parameter.name) (\(parameter.place.rawValue)"
            line += parameter.isRequired ? ", required" : ""
            line += (parameter.isDeprecated ? ", deprecated" : "") + ")"
            if let text = parameter.documentation, !text.isEmpty { line += " \(text)" }
            lines.append(line)
        }
        if let content {
            lines.append("  body (\(content.types)\(content.isRequired ? ", required" : ""))")
        }
        return lines.joined(separator: "\n")
    }

    /// An object with `name`, `method`, `path`, `parameters` and `body` (both with examples), `responses`, `unchecked`
    /// (the parts of its schemas that are not validated) and other properties.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("method", .string(method.name)), .init("path", .string(path)),
        ]
        members.add("server", server)
        members.add("summary", summary)
        members.add("documentation", documentation)
        members.append(.init("tags", .array(tags.map { .string($0) })))
        members.append(.init("deprecated", .bool(isDeprecated)))
        members.append(.init("idempotent", .bool(isIdempotent || method.isIdempotent)))
        if let requiresAuth { members.append(.init("requires_auth", .bool(requiresAuth))) }
        if let security { members.append(.init("security", .array(security.map(\.json)))) }
        if let pagination { members.add("pagination", pagination.style.rawValue) }
        members.append(.init("parameters", .array(parameters.map(\.json))))
        if let content {
            var body: [JSONValue.Member] = [
                .init("required", .bool(content.isRequired)),
                .init("content_types", .array(content.choices.map { .string($0.mediaType) })),
            ]
            body.add("documentation", content.documentation)
            if let choice = content.choices.first, let example = choice.example ?? choice.schema?.example {
                body.append(.init("example", example))
            }
            members.append(.init("body", .object(body)))
        }
        members.append(.init("responses", .array(responses.map(\.json))))
        let notes = unchecked
        if !notes.isEmpty { members.append(.init("unchecked", .array(notes.map { .string($0) }))) }
        return .object(members)
    }

    private var unchecked: [String] {
        let schemas =
            parameters.map(\.schema) + (content?.choices.map(\.schema) ?? [])
            + responses.flatMap { $0.schemas.map(\.schema) }
        var unchecked: [String] = []
        var seen: Set<String> = []
        for schema in schemas {
            for note in (try? schema?.get().notes) ?? [] where seen.insert(note).inserted {
                guard unchecked.count < Operation.maximumNotes else { return unchecked }
                unchecked.append(note)
            }
        }
        return unchecked
    }

    /// The maximum number of notes per endpoint.
    private static let maximumNotes = 100
}

extension SecurityRequirement {
    /// The scopes by scheme name, in OpenAPI's format.
    fileprivate var json: JSONValue {
        .object(schemes.map { .init($0.name, .array($0.scopes.map { .string($0) })) })
    }
}

extension Parameter {
    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("name", .string(name)), .init("in", .string(place.rawValue)), .init("required", .bool(isRequired)),
        ]
        members.add("type", schema.flatMap { try? $0.get() }?.shape.names)
        if let values = schema.flatMap({ try? $0.get() })?.values, !values.isEmpty {
            members.append(.init("enum", .array(values)))
        }
        if let defaultValue { members.append(.init("default", defaultValue)) }
        members.append(.init("style", .string(style.rawValue)))
        members.append(.init("explode", .bool(explodes)))
        members.add("documentation", documentation)
        members.append(.init("deprecated", .bool(isDeprecated)))
        if let example = example ?? schema?.example { members.append(.init("example", example)) }
        return .object(members)
    }
}

extension DeferredSchema {
    /// An example value for a request.
    fileprivate var example: JSONValue? { (try? get())?.example(use: .request) }
}

extension ResponseDescription {
    fileprivate var json: JSONValue {
        let status: JSONValue =
            statuses.map { range in
                range.lowest == range.highest
                    ? .string(String(range.lowest)) : .string("\(range.lowest)-\(range.highest)")
            } ?? "default"
        var members: [JSONValue.Member] = [
            .init("status", status),
            .init("content_types", .array(schemas.map { .string($0.mediaType) })),
        ]
        members.add("documentation", documentation)
        return .object(members)
    }
}

extension JSONSchema.Shape {
    /// The type names: "integer or null". Nil if all types are allowed.
    fileprivate var names: String? {
        let known: [(JSONSchema.Shape, String)] = [
            (.string, "string"), (.integer, "integer"), (.number, "number"), (.boolean, "boolean"), (.array, "array"),
            (.object, "object"), (.null, "null"),
        ]
        let names = known.filter { contains($0.0) && !($0.0 == .integer && contains(.number)) }.map(\.1)
        return names.isEmpty ? nil : names.joined(separator: " or ")
    }
}

extension [JSONValue.Member] {
    fileprivate mutating func add(_ name: String, _ text: String?) {
        if let text { append(.init(name, .string(text))) }
    }
}

extension Catalog {
    /// An object with `title`, `version`, `documentation`, `servers`, `tags`, `security` (scheme names), `scopes` (the
    /// OAuth 2.0 scopes that the endpoints require, by scheme), `notes` and the names of its `endpoints`.
    public var json: JSONValue {
        var members: [JSONValue.Member] = []
        members.add("title", title)
        members.add("version", version)
        members.add("documentation", documentation)
        members.append(.init("servers", .array(servers.map { .string($0) })))
        members.append(
            .init(
                "tags",
                .array(
                    tags.map { tag in
                        var members: [JSONValue.Member] = [.init("name", .string(tag.name))]
                        members.add("documentation", tag.documentation)
                        return .object(members)
                    })))
        members.append(.init("security", .array(security.map { .string($0.name) })))
        var scopes: [JSONValue.Member] = []
        for scheme in security where !scopes.contains(where: { $0.name == scheme.name }) {
            guard case .oauth2 = scheme.kind else { continue }
            scopes.append(.init(scheme.name, .array(self.scopes(of: scheme.name).map { .string($0) })))
        }
        if !scopes.isEmpty { members.append(.init("scopes", .object(scopes))) }
        members.append(.init("notes", .array(notes.map { .string($0) })))
        members.append(.init("endpoints", .array(operations.map { .string($0.name) })))
        return .object(members)
    }
}
