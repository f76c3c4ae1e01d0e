import NightjarHTTP

/// The documents that describe one API, and the resolution of references between them.
struct DocumentSet: Sendable {
    struct Document: Sendable {
        /// The name in messages and in ``SchemaPlace``. It is unique in the set and contains no secrets.
        let name: String
        let location: DocumentLocation
        let tree: DocumentTree
    }

    private(set) var documents: [Document] = []
    private var byLocation = ExactDictionary<Int>()
    private var byName = ExactDictionary<Int>()
    /// The errors of the documents that could not be loaded.
    private var failures = ExactDictionary<NightjarError>()

    // MARK: Documents

    /// Adds the document that was requested from `location`.
    ///
    /// - Parameter base: the final location after redirects, against which references are resolved.
    mutating func add(_ tree: DocumentTree, at location: DocumentLocation, base: DocumentLocation) {
        var name = tree.name
        // URLs that differ only in a secret have the same name.
        while byName[name] != nil { name = "\(name) (\(documents.count + 1))" }
        byName[name] = documents.count
        byLocation[location.text] = documents.count
        if byLocation[base.text] == nil { byLocation[base.text] = documents.count }
        documents.append(Document(name: name, location: base, tree: tree))
    }

    mutating func fail(_ error: NightjarError, at location: DocumentLocation) { failures[location.text] = error }

    func document(at location: DocumentLocation) -> Int? { byLocation[location.text] }
    func hasFailed(_ location: DocumentLocation) -> Bool { failures[location.text] != nil }

    // MARK: References

    /// Returns the location of the document that a reference points into, and the fragment without the `#`.
    ///
    /// - Throws: `invalid_argument` or `invalid_url` if the reference is invalid or leaves the origin of its document.
    func target(
        of reference: String, in document: Int
    ) throws(NightjarError) -> (location: DocumentLocation, fragment: String) {
        guard reference.utf8.count <= DocumentSet.maximumReference else {
            throw NightjarError(
                .invalidArgument,
                "the reference \(quoted(reference)) is longer than \(DocumentSet.maximumReference) bytes")
        }
        let hash = reference.utf8.firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex
        let fragment = hash == reference.endIndex ? "" : String(reference[hash...].dropFirst())
        let here = documents[document].location
        if hash == reference.startIndex { return (here, fragment) }
        let location = try here.resolving(String(reference[..<hash]))
        if let origin = location.origin, origin != here.origin {
            let rule =
                here.origin == nil
                ? "but a file may refer only to files" : "but a document may refer only to its own origin"
            throw NightjarError(
                .invalidArgument,
                """
                the reference \(quoted(reference)) points to \(origin), \(rule); load the document and its parts \
                from one place
                """)
        }
        return (location, fragment)
    }

    /// Returns the place that a reference points to.
    ///
    /// - Throws: `invalid_argument` or `invalid_url` if the reference is invalid or has no target, or if the document
    ///   of its target has not been loaded.
    func place(of reference: String, in document: Int) throws(NightjarError) -> DocumentPlace {
        let (location, fragment) = try target(of: reference, in: document)
        guard let number = byLocation[location.text] else {
            let why = failures[location.text].map { "could not be loaded: " + $0.message } ?? "has not been loaded"
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) points to \(location.name), which \(why)")
        }
        guard let node = try node(fragment, in: documents[number].tree) else {
            throw NightjarError(
                .invalidArgument,
                """
                the reference \(quoted(reference, limit: 200)) has no target: \(documents[number].name) has no \
                \(quoted("#" + fragment, limit: 200))
                """)
        }
        return DocumentPlace(document: number, node: node)
    }

    /// Returns the node that a fragment refers to. Returns nil if there is none.
    ///
    /// - Parameter fragment: a JSON Pointer in its URI fragment form (RFC 6901 section 6), or the name of a `$anchor`.
    func node(_ fragment: String, in tree: DocumentTree) throws(NightjarError) -> TreeNode? {
        if fragment.isEmpty { return tree.root }
        let decoded = try PercentEncoded.decoded(fragment[...])
        guard decoded.utf8.first == UInt8(ascii: "/") else { return tree.anchored(decoded) }
        return tree.root.value(at: try JSONPointer(decoded))
    }

    /// The maximum number of references in a chain. A longer chain is reported as possibly circular. Real descriptions
    /// have chains of at most two.
    private static let maximumRedirects = 8
    /// The maximum length of a reference in bytes. YAML aliases can repeat a long reference many times, and each use is
    /// copied and followed.
    static let maximumReference = 16 << 10

    /// Returns `place`, or the target of its `$ref` if there is one.
    ///
    /// - Parameter targets: the targets of the references that have been followed.
    /// - Throws: `invalid_argument` or `invalid_url` if a reference cannot be resolved.
    func resolved(_ place: DocumentPlace, _ targets: inout ReferenceTargets) throws(NightjarError) -> DocumentPlace {
        var place = place
        for _ in 0..<DocumentSet.maximumRedirects {
            guard place.referenceNode != nil else { return place }
            if let known = targets.byPlace[place.key] {
                place = try known.get()
                continue
            }
            guard let reference = place.reference else { return place }
            let here = place
            let target = Result { () throws(NightjarError) in try self.place(of: reference, in: here.document) }
            targets.byPlace[place.key] = target
            place = try target.get()
        }
        guard let reference = place.reference else { return place }
        throw NightjarError(
            .invalidArgument,
            """
            the reference \(quoted(reference)) is circular or passes through more than \
            \(DocumentSet.maximumRedirects) references
            """)
    }
}

/// The targets of the references of a set, keyed by the place of the object with the `$ref`. Many aliases and
/// references may lead to one object, but its reference is followed only once.
struct ReferenceTargets: Sendable {
    fileprivate var byPlace: [UInt64: Result<DocumentPlace, NightjarError>] = [:]
}

/// A value in one of the documents of a set.
struct DocumentPlace: Sendable {
    let document: Int
    let node: TreeNode

    /// The node of the `$ref` value.
    var referenceNode: TreeNode? {
        guard node.isObject, let reference = node["$ref"], reference.kind == .string else { return nil }
        return reference
    }

    /// The text of the `$ref`, truncated to one byte more than ``DocumentSet/maximumReference``.
    var reference: String? { referenceNode?.text(atMost: DocumentSet.maximumReference + 1) }

    /// Identifies the place within its set.
    var key: UInt64 { UInt64(document) << 32 | UInt64(node.index) }

    subscript(_ name: String) -> DocumentPlace? { node[name].map { DocumentPlace(document: document, node: $0) } }

    func text(_ name: String) -> String? { node[name]?.text }
}

extension DocumentSet: SchemaSource {
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let document = byName[place.document],
            let node = documents[document].tree.root.value(at: place.pointer)
        else { throw NightjarError(.invalidArgument, "no schema at \(place)") }
        return try node.json(limit: &limit)
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard let number = byName[document] else {
            throw NightjarError(.invalidArgument, "unknown document \(quoted(document))")
        }
        let led = try place(of: reference, in: number)
        let (_, fragment) = try target(of: reference, in: number)
        let decoded = try PercentEncoded.decoded(fragment[...])
        // Aliases can give a schema several places. Use the place where the schema is written, so that it is parsed
        // once.
        guard !documents[led.document].tree.hasAliases, decoded.isEmpty || decoded.utf8.first == UInt8(ascii: "/")
        else { return schemaPlace(led) }
        return SchemaPlace(document: documents[led.document].name, pointer: try JSONPointer(decoded))
    }

    func schemaPlace(_ place: DocumentPlace) -> SchemaPlace {
        SchemaPlace(document: documents[place.document].name, pointer: place.node.pointer)
    }
}
