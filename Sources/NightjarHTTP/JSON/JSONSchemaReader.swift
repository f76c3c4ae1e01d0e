/// Makes a ``JSONSchema`` from its JSON.
///
/// What a user wrote is refused where its word cannot be kept, for a rule that is not looked at is worse than none. In a
/// document of somebody else's such a rule is passed over, with a note.
///
/// A queue: neither deep schemas nor long ways of references use the stack.
struct JSONSchemaReader {
    /// Of one schema with all that it refers to and that is not read yet. The largest of the documents that were looked at
    /// has 90,000 in all.
    static let maximumNodes = 200_000
    /// The budget for reading a single schema.
    static let maximumWork = 10_000_000
    /// Bytes of names that cost as much as a schema.
    private static let bytesOfWork = 64
    /// `$ref` to a `$ref` to a `$ref`.
    private static let maximumReferences = 64
    /// In one arena; more are not kept.
    private static let maximumNotes = 10_000

    /// Nil: a user's own, in which unknown words are mistakes.
    let dialect: JSONSchema.Dialect?
    private let source: any SchemaSource
    private let arena: JSONSchema.Arena
    /// Of what is in the arena, and may be asked for again.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]
    /// Those that the arena may hold.
    private let maximum: Int
    /// What comes behind those in the arena; nil: waiting to be read.
    private var nodes: [JSONSchema.Node?] = []
    private var places: [SchemaPlace: JSONSchema.Index] = [:]
    /// Those of ``places`` that references lead to.
    private var targets: [SchemaPlace] = []
    private var queue: [Job] = []
    /// Of the one that is being read.
    private var notes: [String] = []
    private var room: Int
    /// The rest of the budget: values that are made of documents, and schemas and their names that are looked up.
    private var work: Int
    /// What a document cannot be read in spite of.
    private var end: NightjarError?
    /// The one that is being read.
    private var place = SchemaPlace(document: "", pointer: JSONPointer())
    private var depth = 0

    private struct Job {
        let index: JSONSchema.Index
        let place: SchemaPlace
        let schema: JSONValue
        /// Schemas around it, since the last reference.
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

    /// A schema that is alone.
    static func read(
        _ schema: JSONValue, at place: SchemaPlace, in source: any SchemaSource, _ dialect: JSONSchema.Dialect?,
        work: inout Int
    ) throws(NightjarError) -> (JSONSchema.Arena, JSONSchema.Index) {
        let arena = JSONSchema.Arena()
        var known: [SchemaPlace: JSONSchema.Index] = [:]
        let root = try read(schema, at: place, in: source, dialect, arena, &known, maximum: .max, work: &work)
        return (arena, root)
    }

    /// Puts a schema and those it refers to into an arena, or nothing where it throws.
    ///
    /// - Parameters:
    ///   - known: where what is in the arena is written, as far as references lead there. What is read goes into it.
    ///   - maximum: how many the arena may hold then.
    ///   - work: what reading may cost, also where it throws; what it costs is subtracted.
    static func read(
        _ schema: JSONValue, at place: SchemaPlace, in source: any SchemaSource, _ dialect: JSONSchema.Dialect?,
        _ arena: JSONSchema.Arena, _ known: inout [SchemaPlace: JSONSchema.Index], maximum: Int,
        work: inout Int
    ) throws(NightjarError) -> JSONSchema.Index {
        var reader = JSONSchemaReader(source, dialect, arena, maximum: maximum, work: work)
        // Lent, or it would be copied for each schema.
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
            // Those that are done are let go now and then.
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

    /// The number of the schema that a keyword of the current one holds.
    mutating func subschema(_ schema: JSONValue, at tokens: String...) throws(NightjarError) -> JSONSchema.Index {
        var inner = place
        inner.pointer = JSONPointer(tokens: place.pointer.tokens + tokens)
        // The names are copied and looked up for each schema beneath them.
        work -= 1 + inner.pointer.tokens.reduce(0) { $0 + $1.utf8.count } / JSONSchemaReader.bytesOfWork
        guard work >= 0 else {
            throw fatal(
                failure("reading it takes too many steps; use fewer aliases (*), references and long names", at: inner))
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
                throw failure("more than \(JSONSchema.maximumDepth) schemas are within each other", at: place)
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
            throw failure("a schema is an object, true or false, found \(schema.typeName)", at: place)
        }
    }

    private func number(of place: SchemaPlace) -> JSONSchema.Index? { places[place] ?? known[place] }

    private mutating func newNumber(at place: SchemaPlace) throws(NightjarError) -> JSONSchema.Index {
        guard nodes.count < JSONSchemaReader.maximumNodes else {
            throw fatal(failure("more than \(JSONSchemaReader.maximumNodes) schemas belong to it", at: place))
        }
        let number = arena.count + nodes.count
        guard number < maximum, let index = JSONSchema.Index(exactly: number) else {
            throw fatal(failure("with it, its documents have more than \(maximum) schemas", at: place))
        }
        nodes.append(nil)
        return index
    }

    /// A `$ref` with nothing beside it that counts: its target takes its place.
    private func plainReference(_ members: [JSONValue.Member]) -> String? {
        guard dialect == .openAPI30 || members.count == 1 else { return nil }
        guard let member = members.first(where: { $0.name == "$ref" }), case .string(let reference) = member.value
        else { return nil }
        return reference
    }

    /// The number of the schema that a `$ref` leads to.
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
            "the reference \(quoted(first)) leads to nothing but more than \(JSONSchemaReader.maximumReferences) others",
            at: start)
    }

    /// The place that a reference leads to.
    private mutating func resolve(_ reference: String, _ from: SchemaPlace) throws(NightjarError) -> SchemaPlace {
        do throws(NightjarError) {
            return try source.place(of: reference, in: from.document)
        } catch {
            guard dialect == nil else { throw fatal(error) }
            throw failure(error.message, at: from)
        }
    }

    /// Where a schema of `oneOf` is, by what it refers to; nil where it refers to nothing.
    mutating func destination(of schema: JSONValue) -> (reference: String, place: SchemaPlace)? {
        guard case .string(let reference) = schema["$ref"],
            let place = try? source.place(of: reference, in: place.document)
        else { return nil }
        return (reference, place)
    }

    /// The name that a reference ends with, as it is written: `Cat` of `#/components/schemas/Cat`, whatever it is an alias
    /// of. Nil for a whole document.
    static func name(endOf reference: String, to place: SchemaPlace) -> String? {
        guard let hash = reference.utf8.firstIndex(of: UInt8(ascii: "#")) else { return place.pointer.tokens.last }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8[hash...].dropFirst()), as: UTF8.self)
        guard fragment.utf8.first == UInt8(ascii: "/"), let pointer = try? JSONPointer(fragment) else {
            return place.pointer.tokens.last
        }
        return pointer.tokens.last
    }

    func destination(of reference: String) -> SchemaPlace? { try? source.place(of: reference, in: place.document) }

    // MARK: Failures

    func wrongType(_ keyword: String, _ wanted: String, _ found: JSONValue) -> NightjarError {
        failure("\(quoted(keyword)) must be \(wanted), found \(found.typeName)")
    }

    func failure(_ what: String) -> NightjarError { failure(what, at: place) }

    private func failure(_ what: String, at place: SchemaPlace) -> NightjarError {
        NightjarError(.invalidArgument, "the schema\(JSONSchemaReader.words(for: place)): \(what)")
    }

    /// One that no document is read in spite of.
    private mutating func fatal(_ error: NightjarError) -> NightjarError {
        end = error
        return error
    }

    /// Whether it is only noted that a rule of a document's cannot be looked at.
    mutating func passes(over error: NightjarError) -> Bool {
        guard dialect != nil, end == nil else { return false }
        note(error.message)
        return true
    }

    mutating func note(_ what: String) {
        guard room > 0 else { return }
        room -= 1
        notes.append(what)
    }

    private static func words(for place: SchemaPlace) -> String {
        if place.document.isEmpty {
            return place.pointer.tokens.isEmpty ? "" : " at \(quoted(place.pointer.description, limit: 300))"
        }
        return " at \(quoted(place.description, limit: 300))"
    }
}
