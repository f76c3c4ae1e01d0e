import CSimdjson
import NightjarHTTP

extension TreeNode {
    /// The maximum number of values that ``json()`` creates. With aliases, a document of a kilobyte can expand to more
    /// than the available memory.
    static let maximumValues = 1_000_000

    /// Every 64 bytes of a text count as one more value.
    private static let bytesOfValue = 64

    /// A container with values still to be added.
    private struct Open {
        let isObject: Bool
        var name = ""
        var elements: Elements
        var members: Members
        var values: [JSONValue] = []
        var named: [JSONValue.Member] = []

        init(_ node: TreeNode) {
            isObject = node.isObject
            elements = node.elements
            members = node.members
            if isObject { named.reserveCapacity(node.count) } else { values.reserveCapacity(node.count) }
        }

        mutating func next(_ tree: DocumentTree) -> TreeNode? {
            guard isObject else { return elements.next() }
            guard let member = members.next() else { return nil }
            name = String(decoding: tree.text(member.key), as: UTF8.self)
            return member.value
        }

        mutating func append(_ value: JSONValue) {
            if isObject { named.append(JSONValue.Member(name, value)) } else { values.append(value) }
        }

        var value: JSONValue { isObject ? .object(named) : .array(values) }
    }

    /// Returns the value with its contents. Aliases and merge keys are expanded.
    ///
    /// - Parameter limit: the number of values that may still be created. Decremented.
    /// - Throws: `invalid_argument` if the limit is exceeded or if values are nested too deeply.
    func json(limit: inout Int) throws(NightjarError) -> JSONValue {
        var open: [Open] = []
        var node = self
        while true {
            limit -= 1 + node.textLength / TreeNode.bytesOfValue
            guard limit >= 0 else {
                throw failure("the value is too large, including its aliases (*); make it smaller")
            }
            var value: JSONValue
            if node.isObject || node.isArray {
                guard open.count < DocumentTree.maximumDepth else {
                    throw failure(
                        "with its aliases (*) expanded, the value has more than \(DocumentTree.maximumDepth) levels")
                }
                open.append(Open(node))
            } else {
                value = node.scalar
                guard let last = open.indices.last else { return value }
                open[last].append(value)
            }
            // Advance to the next value. Close the containers that are complete.
            while true {
                let last = open.count - 1
                if let next = open[last].next(tree) {
                    node = next
                    limit -= open[last].name.utf8.count / TreeNode.bytesOfValue
                    break
                }
                value = open.removeLast().value
                guard let around = open.indices.last else { return value }
                open[around].append(value)
            }
        }
    }

    func json() throws(NightjarError) -> JSONValue {
        var limit = TreeNode.maximumValues
        return try json(limit: &limit)
    }

    private var scalar: JSONValue {
        switch kind {
        case .bool: .bool(bool ?? false)
        case .integer: YAMLScalar.integer(tree.text(index))
        case .number: YAMLScalar.number(tree.text(index))
        case .string: .string(String(decoding: tree.text(index), as: UTF8.self))
        case .null, .array, .object, .alias: .null
        }
    }

    func failure(_ what: String) -> NightjarError {
        NightjarError(.invalidArgument, "\(tree.name) \(position): \(what)")
    }
}
