/// A JSON Schema (2020-12) with OpenAPI's `nullable` and `discriminator`.
///
/// Not supported: `$dynamicRef`, and `$id` as the base of references. The formats date-time, date, uuid, uri and email
/// are validated; others are annotations. Keywords that only describe are ignored. Unknown keywords are errors when the
/// schema is created, because a rule that is silently ignored is worse than none. Schemas of an OpenAPI document are
/// read more leniently, by ``init(at:in:dialect:)``.
///
/// A value type that is cheap to copy: its parts are shared.
public struct JSONSchema: Sendable {
    /// The maximum nesting of schemas that a user writes.
    static let maximumDepth = 64

    let arena: Arena
    let root: Index

    init(_ arena: Arena, _ root: Index) {
        self.arena = arena
        self.root = root
    }

    /// - Throws: `invalid_argument` with the location in the schema.
    public init(_ schema: JSONValue) throws(NightjarError) {
        let place = SchemaPlace(document: "", pointer: JSONPointer())
        var work = JSONSchemaReader.maximumWork
        (arena, root) = try JSONSchemaReader.read(schema, at: place, in: OwnSchemas(root: schema), nil, work: &work)
    }

    /// - Throws: `invalid_argument`, also if `text` is not JSON.
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

    /// The direction of a document. Required read-only members (`readOnly`) may be missing in a request, and required
    /// write-only members (`writeOnly`) in a response.
    public enum Use: Sendable { case any, request, response }

    /// The first mismatch in document order. Nil if the document is valid.
    public func mismatch(in document: JSONValue, use: Use = .any) -> JSONMismatch? {
        var checker = JSONSchemaChecker(arena, use, maximumSteps: JSONSchemaChecker.steps(for: document))
        return checker.mismatch(of: document, root)
    }

    /// How long a check may take.
    struct Effort {
        /// The maximum number of steps. Nil: depends on the size of the document, and exceeding it is a mismatch.
        var maximumSteps: Int?
        /// Called from time to time; the check ends if it returns false. Nil: the check always completes.
        var isWanted: (@Sendable () -> Bool)?
    }

    /// The check exceeded its limit.
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

    /// - Throws: `decoding` with the path, the expected and the actual value. Also if the check exceeds its limit.
    public func check(_ document: JSONValue, use: Use = .any) throws(NightjarError) {
        if let mismatch = mismatch(in: document, use: use) { throw mismatch.error }
    }
}

/// A schema that contains references only to itself.
private final class OwnSchemas: SchemaSource {
    /// The locations of the schema's `$anchor`s.
    private final class Anchors: Sendable {
        let places: ExactDictionary<JSONPointer>

        init(_ places: ExactDictionary<JSONPointer>) { self.places = places }
    }

    let root: JSONValue
    /// Created for the first reference to an anchor.
    private let anchors = OnceReference<Anchors>()

    init(root: JSONValue) { self.root = root }

    /// Returns part of what the user wrote, so nothing counts towards the limit.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let schema = place.pointer.value(in: root) else {
            throw NightjarError(
                .invalidArgument, "the schema has no value at \(quoted(place.pointer.description, limit: 300))")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard reference.utf8.first == UInt8(ascii: "#") else {
            throw NightjarError(
                .invalidArgument,
                "the reference \(quoted(reference)) points outside the schema; only \"#/...\" is allowed")
        }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8.dropFirst()), as: UTF8.self)
        if fragment.isEmpty || fragment.utf8.first == UInt8(ascii: "/") {
            return SchemaPlace(document: document, pointer: try JSONPointer(fragment))
        }
        let anchors = anchors.load() ?? anchors.storeIfNil(Anchors(JSONPointer.anchors(in: root)))
        guard let pointer = anchors.places[fragment] else {
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) matches no \"$anchor\" of the schema")
        }
        return SchemaPlace(document: document, pointer: pointer)
    }
}

extension JSONPointer {
    /// The location of the schema with this `$anchor`. Not recursive.
    public init?(anchor: String, in document: JSONValue) {
        guard let pointer = JSONPointer.anchors(in: document)[anchor] else { return nil }
        self = pointer
    }

    /// The locations of all schemas with an `$anchor`. If several share one, one of them is used.
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

    /// Keywords whose values are data, in which `$anchor` has no meaning.
    private static let wordsWithValues: Set<String> = ["enum", "const", "default", "example", "examples"]
}
