import NightjarHTTP

/// Documents that describe one API, and how they refer to each other.
struct DocumentSet: Sendable {
    struct Document: Sendable {
        /// What it is called in messages, and by ``SchemaPlace``: its own in the set, and without secrets.
        let name: String
        let location: DocumentLocation
        let tree: DocumentTree
    }

    private(set) var documents: [Document] = []
    private var byLocation = ExactDictionary<Int>()
    private var byName = ExactDictionary<Int>()
    /// Why documents are not here.
    private var failures = ExactDictionary<NightjarError>()

    // MARK: Documents

    /// - Parameter base: where it came from in the end, which its references are relative to.
    mutating func add(_ tree: DocumentTree, at location: DocumentLocation, base: DocumentLocation) {
        var name = tree.name
        // Two URLs that differ in a secret.
        while byName[name] != nil { name = "\(name) (\(documents.count + 1))" }
        byName[name] = documents.count
        byLocation[location.text] = documents.count
        if byLocation[base.text] == nil { byLocation[base.text] = documents.count }
        documents.append(Document(name: name, location: base, tree: tree))
    }

    mutating func fail(_ error: NightjarError, at location: DocumentLocation) { failures[location.text] = error }

    func document(at location: DocumentLocation) -> Int? { byLocation[location.text] }
    func document(named name: String) -> Int? { byName[name] }
    func hasFailed(_ location: DocumentLocation) -> Bool { failures[location.text] != nil }

    // MARK: References

    /// The document that a reference leads into, and where in it: a fragment without its `#`.
    ///
    /// - Throws: `invalid_argument`, naming the reference, also for what must not be referred to from here.
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
            let rule = here.origin == nil ? "and files refer to files" : "another origin than its document's"
            throw NightjarError(
                .invalidArgument,
                """
                the reference \(quoted(reference)) leads to \(origin), \(rule); load the document and its parts \
                from one place
                """)
        }
        return (location, fragment)
    }

    /// Where a reference leads.
    ///
    /// - Throws: `invalid_argument`, naming the reference.
    func place(of reference: String, in document: Int) throws(NightjarError) -> DocumentPlace {
        let (location, fragment) = try target(of: reference, in: document)
        guard let number = byLocation[location.text] else {
            let why = failures[location.text].map { "could not be loaded: " + $0.message } ?? "is not loaded"
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) leads to \(location.name), which \(why)")
        }
        guard let node = try node(fragment, in: documents[number].tree) else {
            throw NightjarError(
                .invalidArgument,
                """
                the reference \(quoted(reference, limit: 200)) leads nowhere: \(documents[number].name) has no \
                \(quoted("#" + fragment, limit: 200))
                """)
        }
        return DocumentPlace(document: number, node: node)
    }

    /// - Parameter fragment: a JSON Pointer as it is written in a URL (RFC 6901 section 6), or the name of a `$anchor`.
    func node(_ fragment: String, in tree: DocumentTree) throws(NightjarError) -> TreeNode? {
        if fragment.isEmpty { return tree.root }
        let decoded = try PercentEncoded.decoded(fragment[...])
        guard decoded.utf8.first == UInt8(ascii: "/") else { return tree.anchored(decoded) }
        return tree.root.value(at: try JSONPointer(decoded))
    }

    /// References that lead to references before it is called a circle: real ones have two.
    private static let maximumHops = 8
    /// Bytes of a reference. Aliases repeat one for few bytes of a document, and each is copied and followed.
    static let maximumReference = 16 << 10

    /// What stands here, or what the reference here leads to.
    ///
    /// - Parameter targets: where references lead that were followed before.
    /// - Throws: `invalid_argument`.
    func resolved(_ place: DocumentPlace, _ targets: inout ReferenceTargets) throws(NightjarError) -> DocumentPlace {
        var place = place
        for _ in 0..<DocumentSet.maximumHops {
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
        throw NightjarError(
            .invalidArgument,
            "the reference \(quoted(place.reference ?? "")) leads in a circle, or through too many others")
    }
}

/// Where the references of a set lead, by the place of the object that has the `$ref`. Aliases and references lead to one
/// object from any number of places, and it is followed once.
struct ReferenceTargets: Sendable {
    fileprivate var byPlace: [UInt64: Result<DocumentPlace, NightjarError>] = [:]
}

/// A value in one of the documents of a set.
struct DocumentPlace: Sendable {
    let document: Int
    let node: TreeNode

    /// The value of its `$ref`.
    var referenceNode: TreeNode? {
        guard node.isObject, let reference = node["$ref"], reference.kind == .string else { return nil }
        return reference
    }

    /// Its `$ref`. Of one that is too long it is enough to be refused.
    var reference: String? { referenceNode?.text(atMost: DocumentSet.maximumReference + 1) }

    /// Its own in a set.
    var key: UInt64 { UInt64(document) << 32 | UInt64(node.index) }

    subscript(_ name: String) -> DocumentPlace? { node[name].map { DocumentPlace(document: document, node: $0) } }

    func text(_ name: String) -> String? { node[name]?.text }
}

extension DocumentSet: SchemaSource {
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let document = byName[place.document],
            let node = documents[document].tree.root.value(at: place.pointer)
        else { throw NightjarError(.invalidArgument, "there is no schema at \(place)") }
        return try node.json(limit: &limit)
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard let number = byName[document] else {
            throw NightjarError(.invalidArgument, "there is no document \(quoted(document))")
        }
        let led = try place(of: reference, in: number)
        let (_, fragment) = try target(of: reference, in: number)
        let decoded = try PercentEncoded.decoded(fragment[...])
        // With aliases a schema has any number of places, and is to be read once: the one where it is written counts.
        guard !documents[led.document].tree.hasAliases, decoded.isEmpty || decoded.utf8.first == UInt8(ascii: "/")
        else { return schemaPlace(led) }
        return SchemaPlace(document: documents[led.document].name, pointer: try JSONPointer(decoded))
    }

    func schemaPlace(_ place: DocumentPlace) -> SchemaPlace {
        SchemaPlace(document: documents[place.document].name, pointer: place.node.pointer)
    }
}
