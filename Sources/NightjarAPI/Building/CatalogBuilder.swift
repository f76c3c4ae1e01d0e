import NightjarHTTP

/// Makes a ``Catalog`` of documents that are all there.
///
/// What is wrong with a part costs that part, and a note says so: of real descriptions most have a mistake somewhere.
struct CatalogBuilder {
    /// Shared with what reads schemas later.
    let documents: DescribedSchemas
    let root: DocumentPlace
    var made = Catalog()
    private var names = OperationNames()
    private var schemas: [UInt64: DeferredSchema] = [:]
    private var parts = 0
    private var copies = 0
    /// Bytes of URLs of servers.
    var serverBytes = 0
    /// Where references lead that were followed.
    private var targets = ReferenceTargets()
    /// Made once, however many operations share them: of `servers`, of `tags`, and of `security`.
    var serverLists: [UInt64: [String]] = [:]
    private var tagLists: [UInt64: [String]] = [:]
    var securityLists: [UInt64: [SecurityRequirement]] = [:]
    let texts = SharedTexts()
    private var exampleValues = CatalogBuilder.maximumExampleValues
    private var passedOver: Set<String> = []

    /// Parameters, contents, answers and operations of one API. A path item may stand for thousands by aliases and
    /// references, so few bytes can describe many. DigitalOcean's, the largest we know, has 9,600.
    static let maximumParts = 200_000
    /// Values of all examples and defaults, which aliases multiply likewise. DigitalOcean's have 1,800.
    static let maximumExampleValues = 500_000
    /// Examples of one thing that are looked through for one with a value.
    private static let maximumExamples = 16
    /// Values of the options that an extension gives one operation. There are twenty names. They count as values of examples
    /// too, or operations could have any number of them together.
    private static let maximumOptions = 200
    static let maximumNotes = 1000
    /// Bytes of a path, and of a server's URL; servers take no longer ones.
    static let maximumPath = 8192
    /// Bytes of a name that is looked into.
    static let maximumName = 1024
    /// Bytes of descriptions with a link after them, all together. These are copies.
    private static let maximumCopies = 64 << 20

    var set: DocumentSet { documents.set }

    init(_ set: DocumentSet) {
        documents = DescribedSchemas(set, CatalogBuilder.dialect(of: set.documents[0].tree))
        root = DocumentPlace(document: 0, node: set.documents[0].tree.root)
    }

    // MARK: The document

    /// - Throws: `invalid_argument` for what is no description of OpenAPI 3.
    static func checkVersion(_ tree: DocumentTree) throws(NightjarError) {
        guard let version = tree.root["openapi"] else {
            if let swagger = tree.root["swagger"]?.text {
                throw NightjarError(
                    .invalidArgument,
                    "\(tree.name) is in Swagger \(quoted(swagger)); convert it to OpenAPI 3 (npx swagger2openapi)"
                )
            }
            throw NightjarError(
                .invalidArgument,
                "\(tree.name) does not describe an API: it is \(tree.root.typeName) without the member \"openapi\"")
        }
        guard let text = version.text, text.hasPrefix("3.") || text == "3" else {
            let found = version.text.map { quoted($0) } ?? version.typeName
            throw NightjarError(
                .invalidArgument,
                "\(tree.name) \(version.position): the version of OpenAPI is \(found); 3.0 and 3.1 are read")
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
            // Section 4.8.1: without a list, or with an empty one, it is the place the document is at.
            if root["servers"].map({ $0.node.isArray && $0.node.count == 0 }) ?? true { made.servers = [server] }
        }
        readTags()
        readSecuritySchemes()
        if root["webhooks"] != nil { passOver("webhooks", "webhooks are not called") }
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
            note("jsonSchemaDialect", "schemas are read as JSON Schema 2020-12 and not as \(quoted(dialect))")
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
            note("paths", "it is \(paths.node.typeName) and no object")
            return
        }
        for (key, value) in paths.node.members {
            let path = paths.node.name(key)
            guard !path.utf8.starts(with: "x-".utf8) else { continue }
            guard path.utf8.count <= CatalogBuilder.maximumPath else {
                note("paths", "the path \(quoted(path)) is too long; it is left out")
                continue
            }
            let place = "paths.\(path)"
            guard path.utf8.first == UInt8(ascii: "/") else {
                note(place, "a path begins with a slash; it is left out")
                continue
            }
            let item = DocumentPlace(document: paths.document, node: value)
            do throws(NightjarError) {
                try readPathItem(PathItem(item, try resolved(item)), path, place)
            } catch {
                guard error.kind != .tooLarge else { throw error }
                note(place, "it is left out: \(error.message)")
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
                note(place, "it is left out: \(error.message)")
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
            throw NightjarError(.invalidArgument, "it is \(source.node.typeName) and no object")
        }
        guard let method = Method(methodName.uppercased()) else {
            throw NightjarError(.invalidArgument, "\(quoted(methodName)) is no method")
        }
        var operation = Operation("", method, path)
        operation.parameters = try parameters(of: source, item, template, place)
        if let body = source["requestBody"] { operation.content = try content(body, "\(place).requestBody") }
        if let responses = source["responses"] { operation.answers = try answers(responses, "\(place).responses") }
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
                note("\(place).x-nightjar-pagination", "it is left out: \(error.message)")
            }
        }
        if source["callbacks"] != nil { passOver("callbacks", place + ": callbacks are not called") }

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

    // MARK: What all parts need

    mutating func note(_ place: String, _ what: String) {
        guard made.notes.count < CatalogBuilder.maximumNotes else { return }
        let place = CatalogBuilder.shortened(place, CatalogBuilder.maximumName)
        made.notes.append("\(place): \(CatalogBuilder.shortened(what, 2 * CatalogBuilder.maximumName))")
        if made.notes.count == CatalogBuilder.maximumNotes { made.notes.append("further notes are left out") }
    }

    /// The beginning of a text. A character of Swift has any number of bytes, so code points are counted.
    static func shortened(_ text: String, _ length: Int) -> String {
        String(text.unicodeScalars.prefix(length))
    }

    /// What stands there, or what the reference there leads to.
    ///
    /// - Throws: `invalid_argument`.
    mutating func resolved(_ place: DocumentPlace) throws(NightjarError) -> DocumentPlace {
        try set.resolved(place, &targets)
    }

    /// Says once that there is something which nothing is done with.
    mutating func passOver(_ kind: String, _ what: String) {
        guard passedOver.insert(kind).inserted else { return }
        guard made.notes.count < CatalogBuilder.maximumNotes else { return }
        made.notes.append(what)
    }

    /// - Throws: `too_large`.
    mutating func countPart() throws(NightjarError) {
        parts += 1
        guard parts <= CatalogBuilder.maximumParts else {
            throw NightjarError(
                .tooLarge,
                """
                \(set.documents[0].name) describes more than \(CatalogBuilder.maximumParts) operations, parameters, \
                contents and answers
                """)
        }
    }

    /// A text, which may be a reference to one.
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

    /// Its description, and where there is more to read.
    mutating func documentation(of place: DocumentPlace, _ context: String) -> String? {
        let description = text("description", of: place, context)
        guard let more = place["externalDocs"], let url = texts.text(more["url"]) else { return description }
        let words = texts.text(more["description"])
        // Counted before they are made: each text may be a large part of the document.
        copies += (description?.utf8.count ?? 0) + (words?.utf8.count ?? 0) + url.utf8.count
        guard copies <= CatalogBuilder.maximumCopies else { return description }
        let link = "<\(url)>"
        let further = words.map { "\($0): \(link)" } ?? link
        return description.map { "\($0)\n\n\(further)" } ?? further
    }

    /// The schema that stands there, or that the reference there leads to; one for all who refer to it.
    ///
    /// - Throws: `invalid_argument` for a reference that leads nowhere.
    mutating func schema(_ place: DocumentPlace) throws(NightjarError) -> DeferredSchema {
        var place = place
        let isAlone = documents.dialect == .openAPI30 || place.node.count == 1
        let target = try resolved(place)
        if isAlone { place = target }
        if let schema = schemas[place.key] { return schema }
        let schema = documents.deferred(place)
        schemas[place.key] = schema
        return schema
    }

    /// The first example that there is: its own, or one of several, or its schema's.
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
            note(context, "its example is left out: \(error.message)")
        }
        return nil
    }

    mutating func value(_ place: DocumentPlace) throws(NightjarError) -> JSONValue {
        guard exampleValues > 0 else { throw NightjarError(.invalidArgument, "there are too many of them") }
        return try place.node.json(limit: &exampleValues)
    }
}

/// A path item, and the one that it refers to: members beside the reference go first. OpenAPI 3.1 section 4.8.9.
struct PathItem {
    private let own: DocumentPlace
    private let target: DocumentPlace

    /// - Parameter target: where the reference at `place` leads; `place` itself without one.
    init(_ place: DocumentPlace, _ target: DocumentPlace) throws(NightjarError) {
        own = place
        self.target = target
        guard target.node.isObject else {
            throw NightjarError(.invalidArgument, "it is \(target.node.typeName) and no object")
        }
    }

    subscript(_ name: String) -> DocumentPlace? { own[name] ?? target[name] }

    /// What has the list of its servers.
    var servers: DocumentPlace? { own["servers"] != nil ? own : target["servers"] != nil ? target : nil }
}
