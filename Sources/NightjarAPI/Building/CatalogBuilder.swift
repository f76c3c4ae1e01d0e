import NightjarHTTP

/// Builds a ``Catalog`` from a complete set of documents.
///
/// An invalid part is skipped and reported with a note, because most real descriptions contain a mistake somewhere.
struct CatalogBuilder {
    /// The documents and their schemas. A schema is parsed on first use.
    let documents: DescribedSchemas
    let root: DocumentPlace
    var made = Catalog()
    private var names = OperationNames()
    private var schemas: [UInt64: DeferredSchema] = [:]
    private var parts = 0
    private var copies = 0
    /// The total length of all server URLs so far, in bytes.
    var serverBytes = 0
    /// The targets of the references that have been followed.
    private var targets = ReferenceTargets()
    /// The lists `servers`, `tags` and `security` that have been read. Operations that share a list share the result.
    var serverLists: [UInt64: [String]] = [:]
    private var tagLists: [UInt64: [String]] = [:]
    var securityLists: [UInt64: [SecurityRequirement]] = [:]
    let texts = SharedTexts()
    private var exampleValues = CatalogBuilder.maximumExampleValues
    private var skipped: Set<String> = []

    /// The maximum number of parts of one API: operations, parameters, contents, responses and others. With aliases and
    /// references, many paths may share one path item, so a small document can describe many operations. The largest
    /// known description (DigitalOcean) has 9,600.
    static let maximumParts = 200_000
    /// The maximum number of values in all examples and defaults. Aliases multiply these values too. DigitalOcean's
    /// description has 1,800.
    static let maximumExampleValues = 500_000
    /// The maximum number of entries of one `examples` object that are searched for a value.
    private static let maximumExamples = 16
    /// The maximum number of values in the pagination options of one operation. The values also count towards
    /// ``maximumExampleValues``, which bounds the total of all operations.
    private static let maximumOptions = 200
    static let maximumNotes = 1000
    /// The maximum length of a path and of a server URL, in bytes. Most servers reject longer URLs.
    static let maximumPath = 8192
    /// The maximum length in bytes of the names of parameters, form encodings and media types of request bodies. Parts
    /// with longer names are ignored.
    static let maximumName = 1024
    /// The maximum total size in bytes of the descriptions with an appended `externalDocs` link. Each of them is a
    /// copy.
    private static let maximumCopies = 64 << 20

    var set: DocumentSet { documents.set }

    init(_ set: DocumentSet) {
        documents = DescribedSchemas(set, CatalogBuilder.dialect(of: set.documents[0].tree))
        root = DocumentPlace(document: 0, node: set.documents[0].tree.root)
    }

    // MARK: The document

    /// Checks that the document is an OpenAPI 3 description.
    ///
    /// - Throws: `invalid_argument` otherwise.
    static func checkVersion(_ tree: DocumentTree) throws(NightjarError) {
        guard let version = tree.root["openapi"] else {
            if let swagger = tree.root["swagger"]?.text {
                throw NightjarError(
                    .invalidArgument,
                    "\(tree.name) uses Swagger \(quoted(swagger)), which is not supported; the supported versions are "
                        + "Swagger 2.0, OpenAPI 3.0 and OpenAPI 3.1"
                )
            }
            throw NightjarError(
                .invalidArgument,
                "\(tree.name) is not an OpenAPI description: it is \(tree.root.typeName) without the member \"openapi\""
            )
        }
        guard let text = version.text, text.hasPrefix("3.") || text == "3" else {
            let found = version.text.map { quoted($0) } ?? version.typeName
            throw NightjarError(
                .invalidArgument,
                "\(tree.name) \(version.position): unsupported OpenAPI version: \(found); the supported versions are "
                    + "3.0 and 3.1")
        }
    }

    mutating func catalog() throws(NightjarError) -> Catalog {
        readVersion()
        let info = root["info"]
        made.title = info?.text("title")
        made.version = info?.text("version")
        made.documentation = info.flatMap { text("description", of: $0, "info") }
        made.servers = servers(of: root) ?? []
        if made.servers.isEmpty, let server = try? set.documents[0].location.server("/") {
            // Without a list, or with an empty list, the server is `/`, relative to the location of the document.
            // OpenAPI 3.1 section 4.8.1.
            if root["servers"].map({ $0.node.isArray && $0.node.count == 0 }) ?? true { made.servers = [server] }
        }
        readTags()
        readSecuritySchemes()
        if root["webhooks"] != nil { skip("webhooks", "webhooks are not supported") }
        try readPaths()
        return made
    }

    private static func dialect(of tree: DocumentTree) -> JSONSchema.Dialect {
        let version = tree.root["openapi"]?.text ?? ""
        return version == "3" || version == "3.0" || version.hasPrefix("3.0.") ? .openAPI30 : .openAPI31
    }

    private mutating func readVersion() {
        let version = texts.text(root["openapi"]) ?? ""
        if documents.dialect == .openAPI31, version != "3.1", !version.hasPrefix("3.1.") {
            note("openapi", "version \(quoted(version)) is read as 3.1")
        }
        if let dialect = texts.text(root["jsonSchemaDialect"]),
            !dialect.hasPrefix("https://spec.openapis.org/oas/3.1/"),
            !dialect.hasPrefix("https://json-schema.org/draft/2020-12/")
        {
            note("jsonSchemaDialect", "schemas are read as JSON Schema 2020-12, not as \(quoted(dialect))")
        }
    }

    private mutating func readTags() {
        guard let tags = root["tags"] else { return }
        for element in tags.node.elements {
            let tag = DocumentPlace(document: root.document, node: element)
            guard let name = texts.text(tag["name"]) else { continue }
            made.tags.append((name, documentation(of: tag, "tags.\(name)")))
        }
    }

    private mutating func readPaths() throws(NightjarError) {
        guard var paths = root["paths"] else { return }
        do throws(NightjarError) {
            paths = try resolved(paths)
        } catch {
            note("paths", error.message)
            return
        }
        guard paths.node.isObject else {
            note("paths", "expected an object, got \(paths.node.typeName)")
            return
        }
        for (key, value) in paths.node.members {
            let path = paths.node.name(key)
            guard !path.utf8.starts(with: "x-".utf8) else { continue }
            guard path.utf8.count <= CatalogBuilder.maximumPath else {
                note("paths", "the path \(quoted(path)) is longer than \(CatalogBuilder.maximumPath) bytes; ignored")
                continue
            }
            let place = "paths.\(path)"
            guard path.utf8.first == UInt8(ascii: "/") else {
                note(place, "a path must begin with a slash; ignored")
                continue
            }
            let item = DocumentPlace(document: paths.document, node: value)
            do throws(NightjarError) {
                try readPathItem(PathItem(item, try resolved(item)), path, place)
            } catch {
                guard error.kind != .tooLarge else { throw error }
                note(place, "ignored: \(error.message)")
            }
        }
    }

    private mutating func readPathItem(_ item: PathItem, _ path: String, _ place: String) throws(NightjarError) {
        let template = TemplateNames(path)
        for name in DescriptionRole.methods {
            guard let described = item[name] else { continue }
            let place = "\(place).\(name)"
            try countPart()
            do throws(NightjarError) {
                let operation = try operation(described, name, path, template, of: item, place)
                try made.add(operation)
            } catch {
                guard error.kind != .tooLarge else { throw error }
                note(place, "ignored: \(error.message)")
            }
        }
    }

    // MARK: An operation

    private mutating func operation(
        _ described: DocumentPlace, _ methodName: String, _ path: String, _ template: TemplateNames, of item: PathItem,
        _ place: String
    ) throws(NightjarError) -> Operation {
        let source = try resolved(described)
        guard source.node.isObject else {
            throw NightjarError(.invalidArgument, "expected an object, got \(source.node.typeName)")
        }
        guard let method = Method(methodName.uppercased()) else {
            throw NightjarError(.invalidArgument, "\(quoted(methodName)) is not a method")
        }
        var operation = Operation("", method, path)
        operation.parameters = try parameters(of: source, item, template, place)
        if let body = source["requestBody"] { operation.content = try content(body, "\(place).requestBody") }
        if let responses = source["responses"] {
            operation.responses = try responseDescriptions(responses, "\(place).responses")
        }
        operation.server = (servers(of: source, place) ?? item.servers.flatMap { servers(of: $0, place) })?.first
        operation.security = try security(source["security"] ?? root["security"])
        operation.requiresAuth = operation.security.flatMap(SecurityRequirement.requiresAuth)
        operation.isIdempotent = method.isIdempotent
        operation.summary = texts.text(source["summary"]) ?? texts.text(item["summary"])
        operation.documentation = documentation(of: source, place) ?? texts.text(item["description"])
        operation.tags = source["tags"].map { tags($0) } ?? []
        operation.isDeprecated = source.node["deprecated"]?.bool ?? false
        if let pages = source.node["x-nightjar-pagination"] {
            let room = max(min(CatalogBuilder.maximumOptions, exampleValues), 0)
            var limit = room
            defer { exampleValues -= room - max(limit, 0) }
            do throws(NightjarError) {
                operation.paginationOptions = try pages.json(limit: &limit)
            } catch {
                note("\(place).x-nightjar-pagination", "ignored: \(error.message)")
            }
        }
        if source["callbacks"] != nil { skip("callbacks", place + ": callbacks are not supported") }

        let name = names.name(texts.text(source["operationId"]), methodName, path)
        operation.name = name.name
        if let why = name.note { note(place, why) }
        return operation
    }

    private mutating func tags(_ list: DocumentPlace) -> [String] {
        if let tags = tagLists[list.key] { return tags }
        let tags = list.node.elements.compactMap { texts.text(DocumentPlace(document: list.document, node: $0)) }
        tagLists[list.key] = tags
        return tags
    }

    // MARK: Shared by all parts

    mutating func note(_ place: String, _ what: String) {
        guard made.notes.count < CatalogBuilder.maximumNotes else { return }
        let place = CatalogBuilder.shortened(place, CatalogBuilder.maximumName)
        made.notes.append("\(place): \(CatalogBuilder.shortened(what, 2 * CatalogBuilder.maximumName))")
        if made.notes.count == CatalogBuilder.maximumNotes { made.notes.append("further notes are omitted") }
    }

    /// Returns the first `length` code points of a text. Counts code points instead of characters, because a Swift
    /// character can have any number of bytes.
    static func shortened(_ text: String, _ length: Int) -> String {
        String(text.unicodeScalars.prefix(length))
    }

    /// Returns `place`, or the target of its `$ref` if there is one.
    ///
    /// - Throws: `invalid_argument` or `invalid_url` if the reference cannot be resolved.
    mutating func resolved(_ place: DocumentPlace) throws(NightjarError) -> DocumentPlace {
        try set.resolved(place, &targets)
    }

    /// Adds a note about an unsupported feature, once for each kind.
    mutating func skip(_ kind: String, _ what: String) {
        guard skipped.insert(kind).inserted else { return }
        guard made.notes.count < CatalogBuilder.maximumNotes else { return }
        made.notes.append(what)
    }

    /// Counts one more part of the API.
    ///
    /// - Throws: `too_large` if the API has more than ``maximumParts`` parts.
    mutating func countPart() throws(NightjarError) {
        parts += 1
        guard parts <= CatalogBuilder.maximumParts else {
            throw NightjarError(
                .tooLarge,
                """
                \(set.documents[0].name) describes more than \(CatalogBuilder.maximumParts) operations, parameters, \
                contents and responses
                """)
        }
    }

    /// Returns the text of a member, which may be a reference to a text.
    mutating func text(_ name: String, of place: DocumentPlace, _ context: String) -> String? {
        guard let member = place[name] else { return nil }
        if member.referenceNode == nil { return texts.text(member) }
        do throws(NightjarError) {
            return texts.text(try resolved(member))
        } catch {
            note("\(context).\(name)", error.message)
            return nil
        }
    }

    /// Returns the description, followed by the link of `externalDocs` unless ``maximumCopies`` is exceeded.
    mutating func documentation(of place: DocumentPlace, _ context: String) -> String? {
        let description = text("description", of: place, context)
        guard let more = place["externalDocs"], let url = texts.text(more["url"]) else { return description }
        let words = texts.text(more["description"])
        // Check the limit before building the text, because each part can be a large fraction of the document.
        copies += (description?.utf8.count ?? 0) + (words?.utf8.count ?? 0) + url.utf8.count
        guard copies <= CatalogBuilder.maximumCopies else { return description }
        let link = "<\(url)>"
        let further = words.map { "\($0): \(link)" } ?? link
        return description.map { "\($0)\n\n\(further)" } ?? further
    }

    /// Returns the schema at `place`, or at the target of its `$ref`. In OpenAPI 3.1, a schema with members beside its
    /// `$ref` is not replaced by the target. All users of a schema share one object.
    ///
    /// - Throws: `invalid_argument` or `invalid_url` if the reference cannot be resolved.
    mutating func schema(_ place: DocumentPlace) throws(NightjarError) -> DeferredSchema {
        var place = place
        let isIndependent = documents.dialect == .openAPI30 || place.node.count == 1
        let target = try resolved(place)
        if isIndependent { place = target }
        if let schema = schemas[place.key] { return schema }
        let schema = documents.deferred(place)
        schemas[place.key] = schema
        return schema
    }

    /// Returns the first example: `example`, the first of `examples` with a value, or an example of the schema.
    mutating func example(of place: DocumentPlace, schema: DocumentPlace?, _ context: String) -> JSONValue? {
        do throws(NightjarError) {
            if let example = place["example"] { return try value(example) }
            if let examples = place["examples"], examples.node.isObject {
                for (_, described) in examples.node.members.prefix(CatalogBuilder.maximumExamples) {
                    let example = try resolved(DocumentPlace(document: examples.document, node: described))
                    if let given = example["value"] { return try value(given) }
                }
            }
            if let example = schema?["example"] { return try value(example) }
            if let examples = schema?["examples"], let first = examples.node.elements.first(where: { _ in true }) {
                return try value(DocumentPlace(document: examples.document, node: first))
            }
        } catch {
            note(context, "its example is ignored: \(error.message)")
        }
        return nil
    }

    mutating func value(_ place: DocumentPlace) throws(NightjarError) -> JSONValue {
        guard exampleValues > 0 else {
            throw NightjarError(.invalidArgument, "the examples and defaults have too many values")
        }
        return try place.node.json(limit: &exampleValues)
    }
}

/// A path item merged with the path item that it refers to. Members beside the reference take precedence. OpenAPI 3.1
/// section 4.8.9.
struct PathItem {
    private let own: DocumentPlace
    private let target: DocumentPlace

    /// - Parameter target: the target of the reference at `place`, or `place` if it has no reference.
    init(_ place: DocumentPlace, _ target: DocumentPlace) throws(NightjarError) {
        own = place
        self.target = target
        guard target.node.isObject else {
            throw NightjarError(.invalidArgument, "expected an object, got \(target.node.typeName)")
        }
    }

    subscript(_ name: String) -> DocumentPlace? { own[name] ?? target[name] }

    /// The object that has the `servers` list.
    var servers: DocumentPlace? { own["servers"] != nil ? own : target["servers"] != nil ? target : nil }
}
