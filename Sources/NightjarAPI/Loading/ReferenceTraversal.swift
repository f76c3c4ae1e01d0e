import NightjarHTTP

/// Finds the documents that an API description refers to. The traversal is iterative, so the nesting depth does not
/// matter. Each place is visited once for each role, even if many aliases and references lead to it.
struct ReferenceTraversal {
    private struct Step {
        let place: DocumentPlace
        let role: DescriptionRole
    }

    private var seen: Set<UInt64> = []
    /// The places and roles to visit in documents that have not been received, by location.
    private var waiting = ExactDictionary<[(fragment: String, role: DescriptionRole)]>()

    /// Visits the places of a new document that other documents refer to. In the first document, visits all places,
    /// unless it has no `$ref` to another document.
    ///
    /// - Parameter document: the number of the new document in `set`.
    /// - Returns: the documents that are referred to but not in `set`, each once.
    mutating func received(_ document: Int, at location: DocumentLocation, in set: DocumentSet) -> [DocumentLocation] {
        let tree = set.documents[document].tree
        var steps: [Step] = []
        if document == 0 {
            // Most descriptions are a single document and refer to no other.
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
            guard node.isObject || node.isArray, seen.insert(ReferenceTraversal.key(step)).inserted else { continue }
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
                    // A separate step visits the mapping only once, even if several schemas share it through an alias.
                    steps.append(Step(place: mapping, role: .mapping))
                }
                // JSON Schema drafts before 2020-12 allow a list as `items`.
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

    /// Follows a reference. A reference that cannot be followed is ignored here and reported where it is used.
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
