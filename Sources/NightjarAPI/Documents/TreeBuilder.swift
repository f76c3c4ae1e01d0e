import NightjarHTTP

/// Builds a ``DocumentTree`` from the events of a reader, in document order.
struct TreeBuilder {
    typealias Node = DocumentTree.Node
    typealias Member = DocumentTree.Member

    /// A container whose end has not been read yet.
    private struct Open {
        let index: Int
        /// The number of children so far. For an object, keys are counted too.
        var children = 0
        /// Values of `<<`, whose members are merged into the object.
        var merges: [UInt32] = []
        /// True if the next child is the value of a `<<`.
        var expectsMerge = false
        /// True if the next child is the value of a `$anchor`.
        var expectsAnchor = false
    }

    let name: String
    /// The source of a JSON document, whose reader reports no lines. Empty for YAML.
    let source: [UInt8]
    private(set) var nodes: [Node] = []
    private(set) var bytes: [UInt8] = []
    private(set) var merged: [UInt32: [Member]] = [:]
    private(set) var indices: [UInt32: DocumentTree.MemberIndex] = [:]
    private(set) var elements: [UInt32: [UInt32]] = [:]
    private(set) var anchors = ExactDictionary<UInt32>()
    private var open: [Open] = []
    private var mergedMembers = 0
    private(set) var hasAliases = false
    /// The total length in bytes of the keys that are aliases.
    private var aliasedKeyBytes = 0

    /// - Parameters:
    ///   - capacity: the size of the document in bytes.
    ///   - source: the document, if nodes are added without line and column.
    init(name: String, capacity: Int, source: [UInt8] = []) {
        self.name = name
        self.source = source
        bytes.reserveCapacity(capacity)
        // Descriptions of real APIs have 20 bytes or more for each node.
        nodes.reserveCapacity(capacity / 20 + 16)
    }

    /// Checks that the tree of a document of `size` bytes fits into memory.
    ///
    /// - Throws: `no_memory`.
    static func checkMemory(_ size: Int, _ name: String) throws(NightjarError) {
        // Each byte of the document takes one byte of text and twelve bytes of nodes. A node takes up to 48 bytes while
        // the array grows, and a compact document has one node for every four bytes.
        try CheckedMemory.check(size * 13, for: "the document \(name)")
    }

    /// True if the next child is a key.
    var expectsKey: Bool {
        guard let last = open.last else { return false }
        return nodes[last.index].kind == .object && last.children & 1 == 0
    }

    var depth: Int { open.count }

    // MARK: Nodes in document order

    /// Appends a key or a scalar value.
    ///
    /// - Returns: the index of the node, to which a YAML anchor can refer.
    @discardableResult
    mutating func append(
        _ kind: DocumentTree.Kind, _ text: UnsafeRawBufferPointer, flag: Bool = false, line: Int = 0, column: Int = 0
    ) -> UInt32 {
        var node = made(kind, line, column)
        node.flag = flag
        node.first = UInt32(truncatingIfNeeded: bytes.count)
        node.count = UInt32(truncatingIfNeeded: text.count)
        let isAnchor = kind == .string && text.count == 7 && expectsKey && text.elementsEqual("$anchor".utf8)
        bytes.append(contentsOf: text)
        let index = append(node)
        if isAnchor { open[open.count - 1].expectsAnchor = true }
        return index
    }

    /// Appends the key `<<`, whose value is merged into the object.
    mutating func appendMergeKey(_ text: UnsafeRawBufferPointer, line: Int, column: Int) {
        append(.string, text, line: line, column: column)
        open[open.count - 1].expectsMerge = true
    }

    mutating func begin(
        _ kind: DocumentTree.Kind, line: Int = 0, column: Int = 0
    ) throws(NightjarError) -> UInt32 {
        guard open.count < DocumentTree.maximumDepth else {
            throw failure(
                "values are nested more than \(DocumentTree.maximumDepth) levels deep", made(kind, line, column))
        }
        let index = append(made(kind, line, column))
        open.append(Open(index: Int(index)))
        return index
    }

    mutating func end() throws(NightjarError) {
        guard let ended = open.popLast() else { return }
        nodes[ended.index].first = UInt32(truncatingIfNeeded: nodes.count)
        let isObject = nodes[ended.index].kind == .object
        nodes[ended.index].count = UInt32(truncatingIfNeeded: isObject ? ended.children / 2 : ended.children)
        guard isObject else { return indexElements(of: ended.index) }
        if ended.merges.isEmpty {
            try indexMembers(of: ended.index)
        } else {
            try merge(ended)
        }
    }

    /// Appends a YAML alias, as a key or a value.
    ///
    /// - Parameter target: the index of the node that the alias refers to.
    mutating func appendAlias(of target: UInt32, line: Int, column: Int) throws(NightjarError) {
        let named = nodes[Int(target)]
        guard named.kind != .array && named.kind != .object || named.first != 0 else {
            throw failure("an alias refers to a value that contains the alias", made(.alias, line, column))
        }
        if expectsKey {
            guard named.kind != .array, named.kind != .object else {
                throw failure("a key is a list or an object; keys must be strings", made(.alias, line, column))
            }
            aliasedKeyBytes += Int(named.count)
            guard aliasedKeyBytes <= TreeBuilder.maximumAliasedKeyBytes else {
                throw failure(
                    "keys that are aliases (*) take more than \(TreeBuilder.maximumAliasedKeyBytes >> 20) MiB",
                    made(.alias, line, column))
            }
            var key = made(.string, line, column)
            key.first = named.first
            key.count = named.count
            append(key)
            return
        }
        hasAliases = true
        var node = made(.alias, line, column)
        node.first = target
        append(node)
    }

    consuming func finish() -> DocumentTree {
        if nodes.isEmpty { append(made(.null, 1, 1)) }
        return DocumentTree(self)
    }

    @discardableResult
    private mutating func append(_ node: Node) -> UInt32 {
        let index = UInt32(truncatingIfNeeded: nodes.count)
        nodes.append(node)
        if let last = open.indices.last {
            open[last].children += 1
            if open[last].expectsMerge, open[last].children & 1 == 0 {
                open[last].expectsMerge = false
                open[last].merges.append(index)
            }
            if open[last].expectsAnchor, open[last].children & 1 == 0 {
                open[last].expectsAnchor = false
                if node.kind == .string {
                    anchors[withText(index) { String(decoding: $0, as: UTF8.self) }] = UInt32(
                        truncatingIfNeeded: open[last].index)
                }
            }
        }
        return index
    }

    private func made(_ kind: DocumentTree.Kind, _ line: Int, _ column: Int) -> Node {
        Node(kind: kind, column: UInt16(clamping: column), line: UInt32(clamping: line))
    }

    // MARK: Members

    /// Objects with more members than this get an index.
    static let indexedFrom = 8

    private mutating func indexMembers(of object: Int) throws(NightjarError) {
        let count = Int(nodes[object].count)
        guard count > 1 else { return }
        var keys: [UInt32] = []
        keys.reserveCapacity(count)
        forEachMember(of: object) { keys.append($0.key) }
        guard count > TreeBuilder.indexedFrom else {
            for at in 1..<count {
                for before in 0..<at where isSame(keys[before], keys[at]) { throw repeated(keys[before], keys[at]) }
            }
            return
        }
        var index = DocumentTree.MemberIndex(capacity: count)
        for key in keys {
            let there = withText(key) { text in index.insert(key, named: text) { isSame($0, key) } }
            if let there { throw repeated(there, key) }
        }
        indices[UInt32(truncatingIfNeeded: object)] = index
    }

    private mutating func indexElements(of array: Int) {
        guard nodes[array].count > TreeBuilder.indexedElementsFrom else { return }
        var places: [UInt32] = []
        places.reserveCapacity(Int(nodes[array].count))
        var next = array + 1
        for _ in 0..<nodes[array].count {
            places.append(UInt32(truncatingIfNeeded: next))
            next = end(of: next)
        }
        elements[UInt32(truncatingIfNeeded: array)] = places
    }

    /// Arrays with more elements than this get an index.
    private static let indexedElementsFrom = 64

    /// The maximum number of members that merge keys may add to the objects of a document. Without the limit, a small
    /// document could add too many.
    private static let maximumMergedMembers = 1_000_000
    /// Every 64 bytes of merged keys count as one more member, because keys are compared and looked up.
    private static let bytesOfMember = 64
    /// The maximum total length in bytes of the keys that are aliases. Each of these keys is copied when the tree is
    /// read.
    private static let maximumAliasedKeyBytes = 64 << 20

    /// Merges the values of `<<` into an object. Own members take precedence, followed by members that were merged
    /// earlier. YAML 1.2 dropped the merge keys of YAML 1.1, but documents still use them.
    private mutating func merge(_ ended: Open) throws(NightjarError) {
        var members: [Member] = []
        let merges = Set(ended.merges)
        forEachMember(of: ended.index) { if !merges.contains($0.value) { members.append($0) } }
        let own = members.count
        var sources: [Int] = []
        for value in ended.merges {
            sources += try mergeSources(value)
            try countMerged(sources.count, of: ended.index)
        }
        mergedMembers += sources.count
        for source in sources {
            if nodes[source].flag {
                members += merged[UInt32(truncatingIfNeeded: source)] ?? []
            } else {
                forEachMember(of: source) { members.append($0) }
            }
            try countMerged(members.count - own, of: ended.index)
        }
        mergedMembers += members.count - own
        let keyBytes = members[own...].reduce(0) { $0 + Int(nodes[Int($1.key)].count) }
        try countMerged(keyBytes / TreeBuilder.bytesOfMember, of: ended.index)
        mergedMembers += keyBytes / TreeBuilder.bytesOfMember
        var index = DocumentTree.MemberIndex(capacity: members.count)
        var kept: [Member] = []
        for (number, member) in members.enumerated() {
            let there = withText(member.key) { text in
                index.insert(UInt32(truncatingIfNeeded: kept.count), named: text) {
                    isSame(kept[Int($0)].key, member.key)
                }
            }
            if let there, number < own { throw repeated(kept[Int(there)].key, member.key) }
            if there == nil { kept.append(member) }
        }
        nodes[ended.index].flag = true
        nodes[ended.index].count = UInt32(truncatingIfNeeded: kept.count)
        merged[UInt32(truncatingIfNeeded: ended.index)] = kept
        indices[UInt32(truncatingIfNeeded: ended.index)] = index
    }

    /// - Throws: `decoding` if `members` more members would exceed the limit on merged members.
    private func countMerged(_ members: Int, of object: Int) throws(NightjarError) {
        guard mergedMembers + members <= TreeBuilder.maximumMergedMembers else {
            throw failure(
                "merge keys (<<) add more than \(TreeBuilder.maximumMergedMembers) members", nodes[object])
        }
    }

    /// Returns the objects that the value of a `<<` refers to: one object, or the elements of a list.
    private func mergeSources(_ value: UInt32) throws(NightjarError) -> [Int] {
        let at = resolved(Int(value))
        switch nodes[at].kind {
        case .object: return [at]
        case .array:
            var objects: [Int] = []
            var next = at + 1
            for _ in 0..<nodes[at].count {
                let element = resolved(next)
                guard nodes[element].kind == .object else { break }
                objects.append(element)
                next = end(of: next)
            }
            if objects.count == nodes[at].count { return objects }
        default: break
        }
        throw failure("the value of the merge key << must be an object or a list of objects", nodes[Int(value)])
    }

    private func forEachMember(of object: Int, _ body: (Member) -> Void) {
        var next = object + 1
        let end = Int(nodes[object].first)
        while next < end {
            let value = next + 1
            body(Member(key: UInt32(truncatingIfNeeded: next), value: UInt32(truncatingIfNeeded: value)))
            next = self.end(of: value)
        }
    }

    private func end(of node: Int) -> Int {
        nodes[node].kind == .array || nodes[node].kind == .object ? Int(nodes[node].first) : node + 1
    }

    private func resolved(_ node: Int) -> Int { nodes[node].kind == .alias ? Int(nodes[node].first) : node }

    private func isSame(_ a: UInt32, _ b: UInt32) -> Bool {
        let a = nodes[Int(a)]
        let b = nodes[Int(b)]
        guard a.count == b.count else { return false }
        let first = Int(a.first)
        let second = Int(b.first)
        return bytes[first..<(first + Int(a.count))].elementsEqual(bytes[second..<(second + Int(b.count))])
    }

    private func withText<Result>(_ node: UInt32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let node = nodes[Int(node)]
        return bytes.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[Int(node.first)..<Int(node.first + node.count)]))
        }
    }

    // MARK: Errors

    private func repeated(_ first: UInt32, _ second: UInt32) -> NightjarError {
        let text = withText(second) { String(decoding: $0, as: UTF8.self) }
        let line = position(of: nodes[Int(first)], first).line
        return failure("the key \(quoted(text)) is defined twice, first on line \(line); remove one", second)
    }

    /// - Parameter index: the node that the message concerns. The default is the node to be added next.
    private func failure(_ what: String, _ node: Node, _ index: UInt32? = nil) -> NightjarError {
        let (line, column) = position(of: node, index ?? UInt32(truncatingIfNeeded: nodes.count))
        return NightjarError(.decoding, "\(name) line \(line) column \(column): \(what)")
    }

    private func failure(_ what: String, _ index: UInt32) -> NightjarError {
        failure(what, nodes[Int(index)], index)
    }

    private func position(of node: Node, _ index: UInt32) -> (line: Int, column: Int) {
        node.line > 0 ? (Int(node.line), Int(node.column)) : JSONPosition.find(Int(index), in: source)
    }
}
