import NightjarHTTP

/// A value in a ``DocumentTree``.
struct TreeNode: Sendable {
    let tree: DocumentTree
    /// The index of the node in the tree's arena. Never the index of an alias.
    let index: UInt32

    init(_ tree: DocumentTree, _ index: UInt32) {
        self.tree = tree
        let node = tree.nodes[Int(index)]
        self.index = node.kind == .alias ? node.first : index
    }

    private var node: DocumentTree.Node { tree.nodes[Int(index)] }

    var kind: DocumentTree.Kind { node.kind }
    var isObject: Bool { kind == .object }
    var isArray: Bool { kind == .array }

    /// The text of a string or a number. A YAML number is returned as written, because an author who writes
    /// `version: 1.10` means the text. Nil for other values.
    var text: String? {
        switch kind {
        case .string, .integer, .number: String(decoding: tree.text(index), as: UTF8.self)
        default: nil
        }
    }

    /// Returns the first `length` bytes of ``text``.
    func text(atMost length: Int) -> String? {
        switch kind {
        case .string, .integer, .number: String(decoding: tree.text(index).prefix(length), as: UTF8.self)
        default: nil
        }
    }

    /// The length of a scalar's text in bytes. 0 for a container.
    var textLength: Int { isObject || isArray ? 0 : Int(node.count) }

    var bool: Bool? { kind == .bool ? node.flag : nil }

    /// The type, for messages: "an object".
    var typeName: String {
        switch kind {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .number: "a number"
        case .string, .alias: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The position, for messages: "line 3 column 5".
    var position: String {
        let (line, column) = tree.position(of: index)
        return "line \(line) column \(column)"
    }

    // MARK: Containers

    /// The number of members or elements. 0 for a scalar.
    var count: Int { isObject || isArray ? Int(node.count) : 0 }

    /// The elements in document order. Empty if this is not an array.
    var elements: Elements { Elements(self) }

    /// Returns an element of the array. Returns nil if the array is shorter, or if this is not an array.
    func element(_ number: Int) -> TreeNode? {
        guard isArray, number >= 0, number < count else { return nil }
        if let places = tree.elements[index] { return TreeNode(tree, places[number]) }
        return elements.dropFirst(number).first { _ in true }
    }

    /// The members in document order, followed by the members that merge keys add. Empty if this is not an object.
    var members: Members { Members(self) }

    /// The value of the member with this name. Nil if there is none or if this is not an object.
    subscript(_ name: String) -> TreeNode? {
        guard isObject, count > 0 else { return nil }
        var name = name
        return name.withUTF8 { member(UnsafeRawBufferPointer($0)) }
    }

    private func member(_ name: UnsafeRawBufferPointer) -> TreeNode? {
        if node.flag {
            let members = tree.merged[index] ?? []
            let position = tree.indices[index]?.find(name) { tree.isText(members[Int($0)].key, name) }
            return position.map { TreeNode(tree, members[Int($0)].value) }
        }
        if let members = count > TreeBuilder.indexedFrom ? tree.indices[index] : nil {
            return members.find(name) { tree.isText($0, name) }.map { TreeNode(tree, $0 + 1) }
        }
        var key = index + 1
        for _ in 0..<count {
            if tree.isText(key, name) { return TreeNode(tree, key + 1) }
            key = tree.end(of: key + 1)
        }
        return nil
    }

    struct Elements: Sequence, IteratorProtocol {
        private let tree: DocumentTree
        private var at: UInt32
        private var left: Int

        init(_ array: TreeNode) {
            tree = array.tree
            at = array.index + 1
            left = array.isArray ? array.count : 0
        }

        mutating func next() -> TreeNode? {
            guard left > 0 else { return nil }
            left -= 1
            defer { at = tree.end(of: at) }
            return TreeNode(tree, at)
        }
    }

    struct Members: Sequence, IteratorProtocol {
        private let tree: DocumentTree
        private var at: UInt32
        private var left: Int
        private var merged: ArraySlice<DocumentTree.Member>?

        init(_ object: TreeNode) {
            tree = object.tree
            at = object.index + 1
            left = object.isObject ? object.count : 0
            merged = object.isObject && object.node.flag ? tree.merged[object.index]?[...] : nil
        }

        /// Returns the next member. `key` is the index of a scalar, so that keys can be compared without creating
        /// strings.
        mutating func next() -> (key: UInt32, value: TreeNode)? {
            if merged != nil { return merged?.popFirst().map { ($0.key, TreeNode(tree, $0.value)) } }
            guard left > 0 else { return nil }
            left -= 1
            let key = at
            at = tree.end(of: key + 1)
            return (key, TreeNode(tree, key + 1))
        }
    }

    /// Returns the text of a key of ``members``.
    func name(_ key: UInt32) -> String { String(decoding: tree.text(key), as: UTF8.self) }

    /// Returns the value of the merge key `<<`, which is not a member but can be the target of a JSON Pointer.
    private func mergeValue(_ name: String) -> TreeNode? {
        guard node.flag, name == "<<" else { return nil }
        var key = index + 1
        while key < node.first {
            if tree.text(key).elementsEqual("<<".utf8) { return TreeNode(tree, key + 1) }
            key = tree.end(of: key + 1)
        }
        return nil
    }

    // MARK: Pointers

    /// Returns the value at a JSON Pointer relative to this node. Returns nil if there is none. RFC 6901.
    func value(at pointer: JSONPointer) -> TreeNode? {
        var node = self
        for token in pointer.tokens {
            if node.isObject {
                guard let member = node[token] ?? node.mergeValue(token) else { return nil }
                node = member
            } else {
                guard let number = TreeNode.elementIndex(token), let element = node.element(number) else { return nil }
                node = element
            }
        }
        return node
    }

    private static func elementIndex(_ token: String) -> Int? {
        guard let first = token.utf8.first, token.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        guard first != UInt8(ascii: "0") || token.utf8.count == 1 else { return nil }
        return Int(token)
    }

    /// The path from the document's root to the place where this value is written. Aliases are not part of the path.
    var pointer: JSONPointer {
        var looks = 0
        return JSONPointer(tokens: tree.path(to: index, &looks))
    }
}
