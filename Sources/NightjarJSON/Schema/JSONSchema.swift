import Synchronization

/// A JSON Schema 2020-12, with OpenAPI's `nullable` and `discriminator`.
///
/// `$dynamicRef` is not supported, and `$id` does not change the base of references. Only the formats date-time, date,
/// uuid, uri and email are checked. An unknown keyword without the prefix `x-` is an error, because ignoring a rule
/// would accept invalid documents. ``init(at:in:dialect:)`` reads the schemas of OpenAPI documents and ignores unknown
/// keywords.
///
/// Copying is cheap, because copies share their subschemas.
public struct JSONSchema: Sendable {
    /// The maximum nesting of a schema written by the caller, and of a value of `enum` or `const`.
    static let maximumDepth = 64

    let arena: Arena
    let root: Index

    init(_ arena: Arena, _ root: Index) {
        self.arena = arena
        self.root = root
    }

    /// Reads a schema written by the caller.
    ///
    /// - Throws: `invalid_argument` with the place in the schema and the reason; `no_memory`.
    public init(_ schema: JSONValue) throws(NightjarError) {
        let place = SchemaPlace(document: "", pointer: JSONPointer())
        var work = JSONSchemaReader.maximumWork
        (arena, root) = try JSONSchemaReader.read(
            schema, at: place, in: SelfContainedSchema(root: schema), nil, work: &work)
    }

    /// Reads a schema written by the caller.
    ///
    /// - Throws: `invalid_argument` if `text` is not JSON or not a valid schema; `too_large`; `no_memory`.
    public init(parsing text: String) throws(NightjarError) {
        self = try text.withRawBytes { bytes throws(NightjarError) in try JSONSchema(parsing: bytes) }
    }

    public init(parsing text: UnsafeRawBufferPointer) throws(NightjarError) {
        let schema: JSONValue
        do throws(NightjarError) {
            schema = try JSONValue(parsing: text)
        } catch {
            guard error.kind == .decoding else { throw error }
            throw NightjarError(.invalidArgument, "the schema is \(error.message)")
        }
        try self.init(schema)
    }

    /// The direction in which a document is sent. `readOnly` members may be missing in a request and `writeOnly`
    /// members in a response, even if they are required.
    public enum Use: Sendable { case any, request, response }

    /// Returns the first mismatch, or nil if the document is valid. A check that exceeds its limit returns a mismatch.
    public func mismatch(in document: JSONValue, use: Use = .any) -> JSONMismatch? {
        var checker = JSONSchemaChecker(arena, use, maximumSteps: JSONSchemaChecker.steps(for: document))
        return checker.mismatch(of: document, root)
    }

    /// The cost limit of a check.
    package struct CheckBudget {
        /// The maximum number of steps. A check that exceeds the maximum throws ``Unfinished``. If the maximum is nil,
        /// the limit depends on the size of the document, and a check that exceeds the limit returns a mismatch.
        package var maximumSteps: Int?
        /// Called repeatedly during the check. If the closure returns false, the check ends as if it had exceeded its
        /// limit.
        package var isNeeded: (@Sendable () -> Bool)?

        package init(maximumSteps: Int? = nil, isNeeded: (@Sendable () -> Bool)? = nil) {
            self.maximumSteps = maximumSteps
            self.isNeeded = isNeeded
        }
    }

    /// Thrown if a check with ``CheckBudget/maximumSteps`` exceeds this limit or is no longer needed.
    package struct Unfinished: Error {}

    package func mismatch(
        in document: JSONValue, use: Use, _ budget: CheckBudget
    ) throws(Unfinished) -> JSONMismatch? {
        let steps = budget.maximumSteps ?? JSONSchemaChecker.steps(for: document)
        var checker = JSONSchemaChecker(arena, use, maximumSteps: steps)
        checker.isNeeded = budget.isNeeded
        let mismatch = checker.mismatch(of: document, root)
        if budget.maximumSteps != nil, checker.isExhausted { throw Unfinished() }
        return mismatch
    }

    /// Checks a document.
    ///
    /// - Throws: `decoding` with the path, the expected and the found type, or if the check exceeds its limit.
    public func check(_ document: JSONValue, use: Use = .any) throws(NightjarError) {
        if let mismatch = mismatch(in: document, use: use) { throw mismatch.error }
    }
}

/// The source of a schema that refers only to itself.
private final class SelfContainedSchema: SchemaSource {
    /// The place of each `$anchor` in the schema.
    private final class Anchors: Sendable {
        let places: ExactDictionary<JSONPointer>

        init(_ places: ExactDictionary<JSONPointer>) { self.places = places }
    }

    let root: JSONValue
    /// Nil until the first reference to an anchor is resolved.
    private let anchors = AtomicLazyReference<Anchors>()

    init(root: JSONValue) { self.root = root }

    /// Returns a part of the caller's schema. Does not use `limit`, because no value is created.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let schema = place.pointer.value(in: root) else {
            throw NightjarError(
                .invalidArgument,
                "a reference points to \(quoted(place.pointer.description, limit: 300)), where the schema has no value")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        guard reference.utf8.first == UInt8(ascii: "#") else {
            throw NightjarError(
                .invalidArgument,
                "the reference \(quoted(reference)) points outside of the schema; references must begin with \"#\"")
        }
        let fragment = String(decoding: PercentEncoding.decoded(reference.utf8.dropFirst()), as: UTF8.self)
        if fragment.isEmpty || fragment.utf8.first == UInt8(ascii: "/") {
            return SchemaPlace(document: document, pointer: try JSONPointer(fragment))
        }
        let anchors = anchors.load() ?? anchors.storeIfNil(Anchors(JSONPointer.anchors(in: root)))
        guard let pointer = anchors.places[fragment] else {
            throw NightjarError(
                .invalidArgument, "the reference \(quoted(reference)) does not match any \"$anchor\" of the schema")
        }
        return SchemaPlace(document: document, pointer: pointer)
    }
}

extension JSONPointer {
    /// Finds the schema with this `$anchor` or `$dynamicAnchor`. Returns nil if there is none. The document may be
    /// nested to any depth.
    public init?(anchor: String, in document: JSONValue) {
        guard let pointer = JSONPointer.anchors(in: document)[anchor] else { return nil }
        self = pointer
    }

    /// Returns the place of each `$anchor` and `$dynamicAnchor`. If an anchor repeats, one of its places is returned.
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
                for member in members where !JSONPointer.keywordsWithData.contains(member.name) {
                    work.append((member.value, tokens + [member.name]))
                }
            case .array(let elements):
                for (index, element) in elements.enumerated() { work.append((element, tokens + [String(index)])) }
            default: break
            }
        }
        return anchors
    }

    /// Keywords whose values are data. An `$anchor` in data is not an anchor.
    private static let keywordsWithData: Set<String> = ["enum", "const", "default", "example", "examples"]
}
