/// What a JSON document must look like: JSON Schema 2020-12, with OpenAPI's `nullable` and `discriminator`.
///
/// Not understood: `$dynamicRef`, and an `$id` as the base of references. Of `format`: date-time, date, uuid, uri and email
/// are checked, and all others are remarks. Words that only describe are passed over; all others are refused when the
/// schema is made, for a rule that is not looked at is worse than none. A schema of an OpenAPI document is read with more
/// patience, by ``init(at:in:dialect:)``.
///
/// A value, cheap to copy: schemas that it is made of are shared.
public struct JSONSchema: Sendable {
    /// Levels of schemas within each other in what a user writes.
    static let maximumDepth = 64

    let arena: Arena
    let root: Index

    init(_ arena: Arena, _ root: Index) {
        self.arena = arena
        self.root = root
    }

    /// - Throws: `invalid_argument` with the place in the schema.
    public init(_ schema: JSONValue) throws(NightjarError) {
        let place = SchemaPlace(document: "", pointer: JSONPointer())
        var work = JSONSchemaReader.maximumWork
        (arena, root) = try JSONSchemaReader.read(schema, at: place, in: OwnSchemas(root: schema), nil, work: &work)
    }

    /// - Throws: `invalid_argument` also for what is no JSON.
    public init(parsing text: String) throws(NightjarError) {
        self = try text.withRawBytes { bytes throws(NightjarError) in try JSONSchema(parsing: bytes) }
    }

    public init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        let schema: JSONValue
        do throws(NightjarError) {
            schema = try JSONValue(parsing: text)
        } catch {
            throw NightjarError(.invalidArgument, "the schema is \(error.message)")
        }
        try self.init(schema)
    }

    /// Which way a document goes: what is only read need not be sent (`readOnly`), and what is only written is not answered
    /// (`writeOnly`), even where it is required.
    public enum Use: Sendable { case any, request, response }

    /// The first departure in the order of the document; nil when there is none.
    public func mismatch(in document: JSONValue, use: Use = .any) -> JSONMismatch? {
        var checker = JSONSchemaChecker(arena, use, maximumSteps: JSONSchemaChecker.steps(for: document))
        return checker.mismatch(of: document, root)
    }

    /// How long a check may take.
    struct Effort {
        /// Nil: as many as there are for a document of its size; what needs more is a departure from the schema.
        var maximumSteps: Int?
        /// Asked now and then; nil: it always is.
        var isWanted: (@Sendable () -> Bool)?
    }

    /// A check has taken more than it was to.
    struct Unfinished: Error {}

    func mismatch(
        in document: JSONValue, use: Use, _ effort: Effort
    ) throws(Unfinished) -> JSONMismatch? {
        let steps = effort.maximumSteps ?? JSONSchemaChecker.steps(for: document)
        var checker = JSONSchemaChecker(arena, use, maximumSteps: steps)
        checker.isWanted = effort.isWanted
        let mismatch = checker.mismatch(of: document, root)
        if effort.maximumSteps != nil, checker.isExhausted { throw Unfinished() }
        return mismatch
    }

    /// - Throws: `decoding`, telling the path, what was expected and what was found; also for what takes too long to check.
    public func check(_ document: JSONValue, use: Use = .any) throws(NightjarError) {
        if let mismatch = mismatch(in: document, use: use) { throw mismatch.error }
    }
}

/// A schema that refers to nothing but itself.
private final class OwnSchemas: SchemaSource {
    /// Where each `$anchor` of a schema is.
    private final class Anchors: Sendable {
        let places: ExactDictionary<JSONPointer>

        init(_ places: ExactDictionary<JSONPointer>) { self.places = places }
    }

    let root: JSONValue
    /// Made for the first reference to one.
    private let anchors = OnceReference<Anchors>()

    init(root: JSONValue) { self.root = root }

    /// What it returns is part of what the user wrote, and nothing that has to be made.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let schema = place.pointer.value(in: root) else {
            throw NightjarError(
                .invalidArgument, "the schema has nothing at \(quoted(place.pointer.description, limit: 300))")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard reference.utf8.first == UInt8(ascii: "#") else {
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) leads out of the schema; only \"#/...\" does not")
        }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8.dropFirst()), as: UTF8.self)
        if fragment.isEmpty || fragment.utf8.first == UInt8(ascii: "/") {
            return SchemaPlace(document: document, pointer: try JSONPointer(fragment))
        }
        let anchors = anchors.load() ?? anchors.storeIfNil(Anchors(JSONPointer.anchors(in: root)))
        guard let pointer = anchors.places[fragment] else {
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) leads to no \"$anchor\" of the schema")
        }
        return SchemaPlace(document: document, pointer: pointer)
    }
}

extension JSONPointer {
    /// Where the schema with that `$anchor` is. The document may be as deep as it likes.
    public init?(anchor: String, in document: JSONValue) {
        guard let pointer = JSONPointer.anchors(in: document)[anchor] else { return nil }
        self = pointer
    }

    /// Where the schemas with an `$anchor` are; of those that share one, one.
    fileprivate static func anchors(in document: JSONValue) -> ExactDictionary<JSONPointer> {
        var anchors = ExactDictionary<JSONPointer>()
        var work: [(value: JSONValue, tokens: [String])] = [(document, [])]
        while let (value, tokens) = work.popLast() {
            switch value {
            case .object(let members):
                for member in members where member.name == "$anchor" || member.name == "$dynamicAnchor" {
                    guard case .string(let anchor) = member.value, anchors[anchor] == nil else { continue }
                    anchors[anchor] = JSONPointer(tokens: tokens)
                }
                for member in members where !JSONPointer.wordsWithValues.contains(member.name) {
                    work.append((member.value, tokens + [member.name]))
                }
            case .array(let elements):
                for (index, element) in elements.enumerated() { work.append((element, tokens + [String(index)])) }
            default: break
            }
        }
        return anchors
    }

    /// In them, `$anchor` is a member like any other.
    private static let wordsWithValues: Set<String> = ["enum", "const", "default", "example", "examples"]
}
