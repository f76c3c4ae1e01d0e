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
    private var byLocation: [String: Int] = [:]
    private var byName: [String: Int] = [:]
    /// Why documents are not here.
    private var failures: [String: NightjarError] = [:]

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

    /// What stands here, or what the reference here leads to.
    ///
    /// - Throws: `invalid_argument`.
    func resolved(_ place: DocumentPlace) throws(NightjarError) -> DocumentPlace {
        var place = place
        for _ in 0..<DocumentSet.maximumHops {
            guard let reference = place.reference else { return place }
            place = try self.place(of: reference, in: place.document)
        }
        throw NightjarError(
            .invalidArgument,
            "the reference \(quoted(place.reference ?? "")) leads in a circle, or through too many others")
    }
}

/// A value in one of the documents of a set.
struct DocumentPlace: Sendable {
    let document: Int
    let node: TreeNode

    /// Its `$ref`.
    var reference: String? {
        guard node.isObject, let reference = node["$ref"], reference.kind == .string else { return nil }
        return reference.text
    }

    /// Its own in a set.
    var key: UInt64 { UInt64(document) << 32 | UInt64(node.index) }

    subscript(_ name: String) -> DocumentPlace? { node[name].map { DocumentPlace(document: document, node: $0) } }

    func text(_ name: String) -> String? { node[name]?.text }
}

extension DocumentSet: SchemaSource {
    func schema(at place: SchemaPlace) throws(NightjarError) -> JSONValue {
        guard let document = byName[place.document],
            let node = documents[document].tree.root.value(at: place.pointer)
        else { throw NightjarError(.invalidArgument, "there is no schema at \(place)") }
        return try node.json()
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard let number = byName[document] else {
            throw NightjarError(.invalidArgument, "there is no document \(quoted(document))")
        }
        let led = try place(of: reference, in: number)
        let (_, fragment) = try target(of: reference, in: number)
        let decoded = try PercentEncoded.decoded(fragment[...])
        guard decoded.isEmpty || decoded.utf8.first == UInt8(ascii: "/") else { return schemaPlace(led) }
        // As it is written: to find out where a node is, all beside it would be counted, for each reference anew.
        return SchemaPlace(document: documents[led.document].name, pointer: try JSONPointer(decoded))
    }

    func schemaPlace(_ place: DocumentPlace) -> SchemaPlace {
        SchemaPlace(document: documents[place.document].name, pointer: place.node.pointer)
    }
}
