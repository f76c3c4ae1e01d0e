import NightjarHTTP

/// What stands at a place of a description, as far as ``CatalogBuilder`` looks: of its references those are followed,
/// and none in examples, defaults and extensions (`x-...`), where a `$ref` is what somebody else makes of it.
enum DescriptionRole: UInt8 {
    case document, info, tags, tag, text, components, securitySchemes, leaf
    case paths, pathItem, operation, parameters, parameter, requestBody, content, mediaType
    case responses, response, answers, answer
    case examples, schema, schemas, schemaList, mapping

    enum Shape {
        /// An object whose members these are.
        case members([(String, DescriptionRole)])
        /// An object with names that nobody knows before.
        case map(DescriptionRole)
        case list(DescriptionRole)
    }

    /// What goes on beside a `$ref`.
    var keepsSiblings: Bool { self == .schema || self == .pathItem }

    var shape: Shape {
        switch self {
        case .document:
            .members([("info", .info), ("tags", .tags), ("paths", .paths), ("components", .components)])
        case .info, .tag: .members([("description", .text)])
        case .tags: .list(.tag)
        case .text, .leaf, .mapping: .members([])
        case .components: .members([("securitySchemes", .securitySchemes)])
        case .securitySchemes: .map(.leaf)
        case .paths: .map(.pathItem)
        case .pathItem: DescriptionRole.pathItemShape
        case .operation: DescriptionRole.operationShape
        case .parameters: .list(.parameter)
        case .parameter: .members([("schema", .schema), ("content", .content), ("examples", .examples)])
        case .requestBody: .members([("content", .content)])
        case .content: .map(.mediaType)
        case .mediaType: .members([("schema", .schema), ("examples", .examples)])
        case .responses: .map(.response)
        case .response: .members([("content", .answers)])
        case .answers: .map(.answer)
        case .answer: .members([("schema", .schema)])
        case .examples: .map(.leaf)
        case .schema: DescriptionRole.schemaShape
        case .schemas: .map(.schema)
        case .schemaList: .list(.schema)
        }
    }

    private static let pathItemShape = Shape.members(
        [("parameters", .parameters)] + DescriptionRole.methods.map { ($0, .operation) })

    private static let operationShape = Shape.members([
        ("parameters", .parameters), ("requestBody", .requestBody), ("responses", .responses), ("description", .text),
    ])

    private static let schemaShape = Shape.members(
        ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"].map { ($0, .schemas) }
            + ["allOf", "anyOf", "oneOf", "prefixItems"].map { ($0, .schemaList) }
            + [
                "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                "additionalItems", "unevaluatedItems", "unevaluatedProperties",
            ].map { ($0, .schema) })

    /// Members of a path item that are operations. OpenAPI 3.1 section 4.8.9.
    static let methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
}

/// Finds the documents that an API's description refers to. A loop over what is left to look at: how deep documents
/// nest does not matter, and each place is looked at once, however many aliases and references lead to it.
struct ReferenceWalk {
    private struct Step {
        let place: DocumentPlace
        let role: DescriptionRole
    }

    private var seen: Set<UInt64> = []
    /// What waits for a document: where in it, and what is there.
    private var waiting = ExactDictionary<[(fragment: String, role: DescriptionRole)]>()

    /// Goes through what the newest document is looked at for.
    ///
    /// - Parameter document: its number in `set`.
    /// - Returns: documents that are not in `set`, each once.
    mutating func received(_ document: Int, at location: DocumentLocation, in set: DocumentSet) -> [DocumentLocation] {
        let tree = set.documents[document].tree
        var steps: [Step] = []
        if document == 0 {
            // Most descriptions are one document, in which there is nothing to find.
            guard tree.refersElsewhere else { return [] }
            steps.append(Step(place: DocumentPlace(document: 0, node: tree.root), role: .document))
        }
        for (fragment, role) in waiting.removeValue(location.text) ?? [] {
            guard let node = try? set.node(fragment, in: tree) else { continue }
            steps.append(Step(place: DocumentPlace(document: document, node: node), role: role))
        }
        var wanted: [DocumentLocation] = []
        while let step = steps.popLast() {
            let node = step.place.node
            guard node.isObject || node.isArray, seen.insert(ReferenceWalk.key(step)).inserted else { continue }
            if step.role == .mapping {
                let around = Step(place: step.place, role: .schema)
                for (_, value) in node.members {
                    guard let reference = value.text(atMost: DocumentSet.maximumReference + 1) else { continue }
                    follow(reference, around, in: set, &steps, &wanted)
                }
                continue
            }
            if let reference = step.place.reference {
                follow(reference, step, in: set, &steps, &wanted)
                guard step.role.keepsSiblings else { continue }
            }
            switch step.role.shape {
            case .members(let members):
                for (name, role) in members {
                    if let place = step.place[name] { steps.append(Step(place: place, role: role)) }
                }
                if step.role == .schema, let mapping = step.place["discriminator"]?["mapping"] {
                    // A step of its own: schemas may share it by an alias, and it is gone through once.
                    steps.append(Step(place: mapping, role: .mapping))
                }
                // Older drafts take a list there.
                if step.role == .schema, let items = step.place["items"], items.node.isArray {
                    steps.append(Step(place: items, role: .schemaList))
                }
            case .map(let role):
                for (_, value) in node.members {
                    steps.append(Step(place: DocumentPlace(document: step.place.document, node: value), role: role))
                }
            case .list(let role):
                for element in node.elements {
                    steps.append(Step(place: DocumentPlace(document: step.place.document, node: element), role: role))
                }
            }
        }
        return wanted
    }

    /// What cannot be followed is told where it is used.
    private mutating func follow(
        _ reference: String, _ step: Step, in set: DocumentSet, _ steps: inout [Step],
        _ wanted: inout [DocumentLocation]
    ) {
        guard let (location, fragment) = try? set.target(of: reference, in: step.place.document) else { return }
        if let document = set.document(at: location) {
            guard let node = try? set.node(fragment, in: set.documents[document].tree) else { return }
            steps.append(Step(place: DocumentPlace(document: document, node: node), role: step.role))
        } else if !set.hasFailed(location) {
            if waiting[location.text] == nil { wanted.append(location) }
            waiting[location.text, default: []].append((fragment, step.role))
        }
    }

    private static func key(_ step: Step) -> UInt64 {
        UInt64(step.place.document) << 40 | UInt64(step.place.node.index) << 8 | UInt64(step.role.rawValue)
    }
}
