/// Where in a document a reader or writer is. Cheap to make on the way: the texts are made when something is wrong.
struct JSONPlace: Sendable {
    enum Step: Sendable {
        case root
        case member(String)
        case element(Int)
    }

    /// A container on the way, shared by all that is in it.
    final class Container: Sendable {
        fileprivate let place: JSONPlace
        /// Containers around it.
        let depth: Int

        init(_ place: JSONPlace) {
            self.place = place
            depth = place.depth
        }
    }

    private let container: Container?
    private let step: Step

    /// Containers around it.
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

    /// With the names that the document has, whatever a strategy makes of them.
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

/// A name of a member or a number of an element.
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

    /// What inherited classes are kept under (Codable's `superDecoder()`).
    static let parent = JSONKey(stringValue: "super")
}

extension JSONPointer {
    init(_ path: [any CodingKey]) {
        self.init(tokens: path.map { $0.intValue.map(String.init) ?? $0.stringValue })
    }
}
