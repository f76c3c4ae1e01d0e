/// Parses a ``JSONSchema``.
///
/// In a schema written by the caller, an unsupported or invalid keyword is an error, because ignoring a rule would
/// accept invalid documents. In a third-party document, the reader ignores the keyword and records a note.
///
/// The schemas are processed in a queue, so neither deep nesting nor a long chain of references uses the stack.
struct JSONSchemaReader {
    /// The maximum number of schemas that one read adds: the schema itself and all new schemas reachable from it. The
    /// largest document examined has 90,000 schemas.
    static let maximumNodes = 200_000
    /// The budget for reading a single schema.
    static let maximumWork = 10_000_000
    /// The number of bytes of names that cost as much as one schema.
    private static let workBytes = 64
    /// The maximum length of a chain of `$ref`s.
    private static let maximumReferences = 64
    /// The maximum number of notes in one arena. Further notes are dropped.
    private static let maximumNotes = 10_000

    /// Nil for a schema written by the caller.
    let dialect: JSONSchema.Dialect?
    private let source: any SchemaSource
    private let arena: JSONSchema.Arena
    /// The indices of the schemas in the arena that were read as a root or as the target of a reference.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]
    /// The maximum number of schemas in the arena.
    private let maximum: Int
    /// The schemas to be appended to the arena. An element is nil until its schema has been read.
    private var nodes: [JSONSchema.Node?] = []
    private var places: [SchemaPlace: JSONSchema.Index] = [:]
    /// The keys of ``places`` that were read as the root or as the target of a reference.
    private var targets: [SchemaPlace] = []
    private var queue: [Job] = []
    /// The notes of the schema being read.
    private var notes: [String] = []
    /// The number of notes that may still be recorded.
    private var room: Int
    /// The remaining budget. Each value created from a document, each schema and every 64 bytes of names cost 1.
    private var work: Int
    /// An error that cannot be ignored.
    private var end: NightjarError?
    /// The place of the schema being read.
    private var place = SchemaPlace(document: "", pointer: JSONPointer())
    private var depth = 0

    private struct Job {
        let index: JSONSchema.Index
        let place: SchemaPlace
        let schema: JSONValue
        /// The number of enclosing schemas since the last reference.
        let depth: Int
    }

    private init(
        _ source: any SchemaSource, _ dialect: JSONSchema.Dialect?, _ arena: JSONSchema.Arena, maximum: Int,
        work: Int
    ) {
        self.source = source
        self.dialect = dialect
        self.arena = arena
        self.maximum = maximum
        self.work = work
        room = max(JSONSchemaReader.maximumNotes - arena.noteCount, 0)
    }

    /// Reads a single schema into a new arena.
    static func read(
        _ schema: JSONValue, at place: SchemaPlace, in source: any SchemaSource, _ dialect: JSONSchema.Dialect?,
        work: inout Int
    ) throws(NightjarError) -> (JSONSchema.Arena, JSONSchema.Index) {
        let arena = JSONSchema.Arena()
        var known: [SchemaPlace: JSONSchema.Index] = [:]
        let root = try read(schema, at: place, in: source, dialect, arena, &known, maximum: .max, work: &work)
        return (arena, root)
    }

    /// Adds a schema and the schemas reachable from it to an arena. Adds nothing if the function throws.
    ///
    /// - Parameters:
    ///   - known: the indices of the schemas in the arena that were read as a root or as the target of a reference.
    ///     Updated.
    ///   - maximum: the maximum number of schemas in the arena, including the added schemas.
    ///   - work: the budget for reading. Decremented by the cost, also if the function throws.
    static func read(
        _ schema: JSONValue, at place: SchemaPlace, in source: any SchemaSource, _ dialect: JSONSchema.Dialect?,
        _ arena: JSONSchema.Arena, _ known: inout [SchemaPlace: JSONSchema.Index], maximum: Int,
        work: inout Int
    ) throws(NightjarError) -> JSONSchema.Index {
        var reader = JSONSchemaReader(source, dialect, arena, maximum: maximum, work: work)
        // Swap instead of copying, because a second owner would make each change copy the dictionary.
        swap(&known, &reader.known)
        defer {
            swap(&known, &reader.known)
            work = reader.work
        }
        return try reader.read(schema, at: place)
    }

    private mutating func read(_ schema: JSONValue, at place: SchemaPlace) throws(NightjarError) -> JSONSchema.Index {
        self.place = place
        let root = try subschema(schema, at: place, depth: 0)
        var next = 0
        while next < queue.count {
            try read(queue[next])
            next += 1
            // Free the memory of completed jobs.
            if next == 4096 {
                queue.removeFirst(next)
                next = 0
            }
        }
        let any = arena[JSONSchema.Arena.any]
        arena.add(nodes.map { $0 ?? any })
        for target in targets { known[target] = places[target] }
        return root
    }

    private mutating func read(_ job: Job) throws(NightjarError) {
        place = job.place
        depth = job.depth
        guard case .object(let members) = job.schema else { return }
        let rules = try rules(members)
        nodes[Int(job.index) - arena.count] = JSONSchema.Node(rules, notes: notes)
        notes.removeAll(keepingCapacity: true)
    }

    // MARK: Schemas within schemas

    /// Returns the index of a subschema of the current schema.
    mutating func subschema(_ schema: JSONValue, at tokens: String...) throws(NightjarError) -> JSONSchema.Index {
        var inner = place
        inner.pointer = JSONPointer(tokens: place.pointer.tokens + tokens)
        // Each subschema copies and hashes all names on its path.
        work -= 1 + inner.pointer.tokens.reduce(0) { $0 + $1.utf8.count } / JSONSchemaReader.workBytes
        guard work >= 0 else {
            throw fatal(
                failure(
                    "reading the schema takes too many steps; use fewer aliases (*), references and long names",
                    at: inner))
        }
        return try subschema(schema, at: inner, depth: depth + 1)
    }

    private mutating func subschema(
        _ schema: JSONValue, at place: SchemaPlace, depth: Int
    ) throws(NightjarError) -> JSONSchema.Index {
        switch schema {
        case .bool(let isAny): return isAny ? JSONSchema.Arena.any : JSONSchema.Arena.never
        case .object(let members):
            if dialect == nil, depth >= JSONSchema.maximumDepth {
                throw failure("schemas are nested more than \(JSONSchema.maximumDepth) levels deep", at: place)
            }
            if members.isEmpty { return JSONSchema.Arena.any }
            if let reference = plainReference(members) { return try target(of: reference, from: place) }
            if let known = number(of: place) { return known }
            let index = try newNumber(at: place)
            places[place] = index
            if depth == 0 { targets.append(place) }
            queue.append(Job(index: index, place: place, schema: schema, depth: depth))
            return index
        default:
            throw failure("a schema must be an object, true or false, found \(schema.typeName)", at: place)
        }
    }

    private func number(of place: SchemaPlace) -> JSONSchema.Index? { places[place] ?? known[place] }

    private mutating func newNumber(at place: SchemaPlace) throws(NightjarError) -> JSONSchema.Index {
        guard nodes.count < JSONSchemaReader.maximumNodes else {
            throw fatal(failure("the schema has more than \(JSONSchemaReader.maximumNodes) schemas", at: place))
        }
        let number = arena.count + nodes.count
        guard number < maximum, let index = JSONSchema.Index(exactly: number) else {
            throw fatal(failure("the documents contain more than \(maximum) schemas", at: place))
        }
        nodes.append(nil)
        return index
    }

    /// Returns the reference of a schema that consists only of a `$ref`, or nil. Such a schema is replaced with its
    /// target. In OpenAPI 3.0, members beside a `$ref` are ignored.
    private func plainReference(_ members: [JSONValue.Member]) -> String? {
        guard dialect == .openAPI30 || members.count == 1 else { return nil }
        guard let member = members.first(where: { $0.name == "$ref" }), case .string(let reference) = member.value
        else { return nil }
        return reference
    }

    /// Returns the index of the target of a `$ref`.
    mutating func target(of reference: String) throws(NightjarError) -> JSONSchema.Index {
        try target(of: reference, from: place)
    }

    private mutating func target(
        of first: String, from start: SchemaPlace
    ) throws(NightjarError) -> JSONSchema.Index {
        var reference = first
        var from = start
        for _ in 0..<JSONSchemaReader.maximumReferences {
            let place = try resolve(reference, from)
            if let known = number(of: place) { return known }
            let schema: JSONValue
            do throws(NightjarError) {
                schema = try source.schema(at: place, limit: &work)
            } catch {
                throw fatal(error)
            }
            guard case .object(let members) = schema, let next = plainReference(members) else {
                return try subschema(schema, at: place, depth: 0)
            }
            reference = next
            from = place
        }
        throw failure(
            "the reference \(quoted(first)) begins a chain of more than \(JSONSchemaReader.maximumReferences) references",
            at: start)
    }

    /// Returns the place of the target of a reference.
    private mutating func resolve(_ reference: String, _ from: SchemaPlace) throws(NightjarError) -> SchemaPlace {
        do throws(NightjarError) {
            return try source.place(of: reference, in: from.document)
        } catch {
            guard dialect == nil else { throw fatal(error) }
            throw failure(error.message, at: from)
        }
    }

    /// Returns the target of a schema of `anyOf` or `oneOf`, or nil if the schema is not a reference or the reference
    /// cannot be resolved.
    mutating func destination(of schema: JSONValue) -> (reference: String, place: SchemaPlace)? {
        guard case .string(let reference) = schema["$ref"],
            let place = try? source.place(of: reference, in: place.document)
        else { return nil }
        return (reference, place)
    }

    /// Returns the last token of a reference as written: `Cat` for `#/components/schemas/Cat`, even if that schema is
    /// an alias. Returns the last token of `place` if the reference contains no pointer.
    static func name(endOf reference: String, to place: SchemaPlace) -> String? {
        guard let hash = reference.utf8.firstIndex(of: UInt8(ascii: "#")) else { return place.pointer.tokens.last }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8[hash...].dropFirst()), as: UTF8.self)
        guard fragment.utf8.first == UInt8(ascii: "/"), let pointer = try? JSONPointer(fragment) else {
            return place.pointer.tokens.last
        }
        return pointer.tokens.last
    }

    func destination(of reference: String) -> SchemaPlace? { try? source.place(of: reference, in: place.document) }

    // MARK: Errors

    func wrongType(_ keyword: String, _ wanted: String, _ found: JSONValue) -> NightjarError {
        failure("\(quoted(keyword)) must be \(wanted), found \(found.typeName)")
    }

    func failure(_ what: String) -> NightjarError { failure(what, at: place) }

    private func failure(_ what: String, at place: SchemaPlace) -> NightjarError {
        NightjarError(.invalidArgument, "the schema\(JSONSchemaReader.location(of: place)): \(what)")
    }

    /// Records an error that cannot be ignored.
    private mutating func fatal(_ error: NightjarError) -> NightjarError {
        end = error
        return error
    }

    /// Records a note and returns true if the error can be ignored. Returns false in a schema written by the caller,
    /// after a fatal error and for `no_memory`, which is no defect of the schema.
    mutating func ignore(_ error: NightjarError) -> Bool {
        guard dialect != nil, end == nil, error.kind != .noMemory else { return false }
        note(error.message)
        return true
    }

    mutating func note(_ what: String) {
        guard room > 0 else { return }
        room -= 1
        notes.append(what)
    }

    private static func location(of place: SchemaPlace) -> String {
        if place.document.isEmpty {
            return place.pointer.tokens.isEmpty ? "" : " at \(quoted(place.pointer.description, limit: 300))"
        }
        return " at \(quoted(place.description, limit: 300))"
    }
}
