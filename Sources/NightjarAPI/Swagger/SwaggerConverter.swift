import NightjarHTTP

/// Converts a Swagger 2.0 document to an OpenAPI 3.0 document, which ``CatalogBuilder`` reads.
///
/// | Swagger 2.0 | OpenAPI 3.0 |
/// |---|---|
/// | `host`, `basePath`, `schemes` | `servers` |
/// | `consumes` and a parameter in `body` or `formData` | `requestBody` |
/// | `produces` and the `schema` of a response | `content` |
/// | the type of a parameter, `collectionFormat` | `schema`, `style` and `explode` |
/// | `securityDefinitions` | `components.securitySchemes` |
/// | `discriminator`, `x-nullable` and the type `file` in schemas | `discriminator.propertyName`, `nullable`, `binary` |
///
/// `definitions`, `parameters` and `responses` keep their places, so that references to them keep their meaning. Values
/// that cannot be converted are left out, with a note. A part of another document is converted only if that document is
/// also a Swagger 2.0 document.
struct SwaggerConverter {
    let root: TreeNode
    private let location: DocumentLocation
    var writer: TreeWriter
    private(set) var notes: [String] = []
    /// The written path items, parameters, responses and properties, by original value. Nil: cannot be converted.
    private var written: [Key: UInt32?] = [:]

    /// A value, and the list `produces` that applies to it.
    struct Key: Hashable {
        let node: UInt32
        var list: UInt32 = 0
        var kind = Kind.parameter

        enum Kind { case pathItem, parameter, response, property }
    }

    /// The maximum number of media types that are read from one list.
    static let maximumTypes = 32
    private static let maximumRedirects = 8

    /// True if the document is a Swagger 2.0 document.
    static func applies(to tree: DocumentTree) -> Bool {
        guard tree.root["openapi"] == nil, let version = tree.root["swagger"]?.text else { return false }
        return version == "2.0" || version == "2"
    }

    /// Converts a document.
    ///
    /// - Parameter location: the location of the document. Its scheme is the default of `schemes`.
    /// - Returns: the OpenAPI document, and a note about each value that could not be converted.
    /// - Throws: `too_large`, `no_memory`; `decoding` if values are nested too deeply.
    static func convert(
        _ tree: DocumentTree, at location: DocumentLocation
    ) throws(NightjarError) -> (tree: DocumentTree, notes: [String]) {
        var converter = SwaggerConverter(tree.root, location, try TreeWriter(tree))
        try converter.convert()
        return (converter.writer.finish(), converter.notes)
    }

    private init(_ root: TreeNode, _ location: DocumentLocation, _ writer: consuming TreeWriter) {
        self.root = root
        self.location = location
        self.writer = writer
    }

    private mutating func convert() throws(NightjarError) {
        writer.move(to: root)
        try object { converter throws(NightjarError) in
            try converter.writer.member("openapi", "3.0.3")
            for name in ["info", "tags", "externalDocs", "security"] {
                try converter.writer.copy(name, of: converter.root)
            }
            try converter.writeServers(converter.root["schemes"], "schemes")
            try converter.writePaths()
            if let definitions = converter.root["definitions"] {
                try converter.writer.member("definitions", definitions, .schemaMap)
            }
            // References may point into these objects, for example to the schema of a parameter.
            for name in ["parameters", "responses"] {
                if let holders = converter.root[name] { try converter.writer.member(name, holders, .holderMap) }
            }
            try converter.writeSecuritySchemes()
            try converter.writer.copyExtensions(of: converter.root)
        }
    }

    // MARK: Shared by all parts

    /// Writes an object with the members that `body` writes.
    @discardableResult
    mutating func object(
        _ kind: DocumentTree.Kind = .object, _ body: (inout SwaggerConverter) throws(NightjarError) -> Void
    ) throws(NightjarError) -> UInt32 {
        let index = try writer.begin(kind)
        try body(&self)
        try writer.end()
        return index
    }

    mutating func note(_ place: String, _ what: String) {
        guard notes.count < CatalogBuilder.maximumNotes else { return }
        let place = CatalogBuilder.shortened(place, CatalogBuilder.maximumName)
        notes.append("\(place): \(CatalogBuilder.shortened(what, 2 * CatalogBuilder.maximumName))")
    }

    /// Writes a value, or writes it again if it was written before.
    ///
    /// - Parameter write: returns the written value, or nil if it cannot be converted.
    /// - Returns: false if the value cannot be converted.
    mutating func once(
        _ key: Key, name: String? = nil, _ write: (inout SwaggerConverter) throws(NightjarError) -> UInt32?
    ) throws(NightjarError) -> Bool {
        if let known = written[key] {
            guard let known else { return false }
            if let name { try writer.text(name) }
            try writer.again(known)
            return true
        }
        let index = try write(&self)
        written[key] = .some(index)
        return index != nil
    }

    /// Returns `node`, or the target of its `$ref` in this document. Nil if the target is in another document or does
    /// not exist.
    func resolved(_ node: TreeNode) -> TreeNode? {
        var node = node
        for _ in 0..<SwaggerConverter.maximumRedirects {
            guard node.isObject, let reference = node["$ref"], reference.kind == .string else { return node }
            guard let text = reference.text(atMost: DocumentSet.maximumReference), text.utf8.first == UInt8(ascii: "#"),
                let decoded = try? PercentEncoded.decoded(text.dropFirst()), let pointer = try? JSONPointer(decoded),
                let target = root.value(at: pointer)
            else { return nil }
            node = target
        }
        return nil
    }

    /// The note for a value whose reference cannot be followed.
    func unresolved(_ node: TreeNode) -> String {
        let reference = node["$ref"]?.text(atMost: 200) ?? ""
        return "the reference \(quoted(reference, limit: 200)) has no target in this document; a Swagger 2.0 "
            + "document can refer to other documents only for schemas"
    }

    // MARK: Servers

    /// Writes `servers` from `host`, `basePath` and a list of schemes.
    ///
    /// - Parameter schemes: nil: the scheme of the document's location, or https for a file.
    mutating func writeServers(_ schemes: TreeNode?, _ context: String) throws(NightjarError) {
        var base = root["basePath"]?.text ?? ""
        if base.utf8.last == UInt8(ascii: "/") { base.removeLast() }
        if !base.isEmpty, base.utf8.first != UInt8(ascii: "/") { base = "/" + base }
        let host = root["host"]?.text ?? ""
        var urls: [String] = []
        if host.isEmpty {
            urls = [base.isEmpty ? "/" : base]
        } else {
            for scheme in chosenSchemes(schemes, context) { urls.append("\(scheme)://\(host)\(base)") }
        }
        if let place = schemes ?? root["host"] ?? root["basePath"] { writer.move(to: place) }
        try writer.text("servers")
        try object(.array) { converter throws(NightjarError) in
            for url in urls {
                try converter.object { converter throws(NightjarError) in try converter.writer.member("url", url) }
            }
        }
    }

    /// Returns the schemes http and https of a list, https first.
    private mutating func chosenSchemes(_ list: TreeNode?, _ context: String) -> [String] {
        guard let list, list.isArray, list.count > 0 else {
            if let origin = location.origin { return [origin.isTLS ? "https" : "http"] }
            note(context, "there is no list of schemes, so https is used")
            return ["https"]
        }
        var chosen: [String] = []
        for element in list.elements.prefix(SwaggerConverter.maximumTypes) {
            let scheme = element.text?.lowercased() ?? ""
            switch scheme {
            case "http", "https": if !chosen.contains(scheme) { chosen.append(scheme) }
            default: note(context, "the scheme \(quoted(scheme)) is not http or https; ignored")
            }
        }
        return chosen.sorted(by: >)
    }

    // MARK: Security

    private mutating func writeSecuritySchemes() throws(NightjarError) {
        guard let schemes = root["securityDefinitions"], schemes.isObject else { return }
        writer.move(to: schemes)
        try writer.text("components")
        try object { converter throws(NightjarError) in
            try converter.writer.text("securitySchemes")
            try converter.object { converter throws(NightjarError) in
                for (key, value) in schemes.members {
                    let name = schemes.name(key)
                    converter.writer.move(to: value)
                    try converter.writer.text(name)
                    try converter.object { converter throws(NightjarError) in
                        try converter.writeSecurityScheme(value, "securityDefinitions.\(name)")
                    }
                }
            }
        }
    }

    private mutating func writeSecurityScheme(_ scheme: TreeNode, _ context: String) throws(NightjarError) {
        try writer.copy("description", of: scheme)
        switch scheme["type"]?.text {
        case "basic":
            try writer.member("type", "http")
            try writer.member("scheme", "basic")
        case "oauth2":
            try writer.member("type", "oauth2")
            guard let flow = SwaggerConverter.flow(scheme["flow"]?.text) else {
                let found = quoted(scheme["flow"]?.text ?? "")
                return note(
                    context, "the flow is \(found); the known flows are implicit, password, application and accessCode")
            }
            try writer.text("flows")
            try object { converter throws(NightjarError) in
                try converter.writer.text(flow)
                try converter.object { converter throws(NightjarError) in
                    for name in ["authorizationUrl", "tokenUrl", "scopes"] {
                        try converter.writer.copy(name, of: scheme)
                    }
                }
            }
        default: for name in ["type", "name", "in"] { try writer.copy(name, of: scheme) }
        }
    }

    private static func flow(_ name: String?) -> String? {
        switch name {
        case "implicit", "password": name
        case "application": "clientCredentials"
        case "accessCode": "authorizationCode"
        default: nil
        }
    }
}
