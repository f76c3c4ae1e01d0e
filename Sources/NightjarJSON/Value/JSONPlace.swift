/// The current place of a reader or builder in a document. Creating a place is cheap, because the path is built only
/// when it is needed.
struct JSONPlace: Sendable {
    enum Step: Sendable {
        case root
        case member(String)
        case element(Int)
    }

    /// A container on the path, shared by the places of all its contents.
    final class Container: Sendable {
        fileprivate let place: JSONPlace
        /// The number of enclosing containers.
        let depth: Int

        init(_ place: JSONPlace) {
            self.place = place
            depth = place.depth
        }
    }

    private let container: Container?
    private let step: Step

    /// The number of enclosing containers.
    var depth: Int { container.map { $0.depth + 1 } ?? 0 }

    static let root = JSONPlace(container: nil, step: .root)

    init(_ step: Step, in container: Container) {
        self.init(container: container, step: step)
    }

    init(_ pointer: JSONPointer) {
        self = pointer.tokens.reduce(.root) { JSONPlace(.member($1), in: Container($0)) }
    }

    private init(container: Container?, step: Step) {
        self.container = container
        self.step = step
    }

    var pointer: JSONPointer {
        JSONPointer(
            tokens: steps.compactMap { step in
                switch step {
                case .root: nil
                case .member(let name): name
                case .element(let index): String(index)
                }
            })
    }

    /// The path as coding keys. Member names are those of the document, not those of the Swift type.
    var codingPath: [any CodingKey] {
        steps.compactMap { step in
            switch step {
            case .root: nil
            case .member(let name): JSONKey(stringValue: name)
            case .element(let index): JSONKey(intValue: index)
            }
        }
    }

    private var steps: [Step] {
        var steps = [step]
        var next = container
        while let container = next {
            steps.append(container.place.step)
            next = container.place.container
        }
        return steps.reversed()
    }
}

/// A coding key for a member name or an element's position.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    /// The key that `superDecoder()` and `superEncoder()` use.
    static let parent = JSONKey(stringValue: "super")
}

extension JSONPointer {
    init(_ path: [any CodingKey]) {
        self.init(tokens: path.map { $0.intValue.map(String.init) ?? $0.stringValue })
    }
}
