import NightjarHTTP

/// Writes a ``DocumentTree`` whose values come from another tree. Each written value has the position of the value that
/// it comes from, so that messages name the lines of the original document.
///
/// A value that is written again is written as an alias, so the new tree takes about as much memory as the original.
struct TreeWriter {
    /// The rule for writing the members of a value.
    enum Role: UInt8 {
        /// Unchanged.
        case copy
        case schema, schemaMap, schemaList
        /// An object whose member `schema` is a schema.
        case holder
        /// An object of such objects.
        case holderMap
    }

    private struct Frame {
        let index: UInt32
        let node: TreeNode
        let role: Role
        var members: TreeNode.Members
        var elements: TreeNode.Elements

        init(_ index: UInt32, _ node: TreeNode, _ role: Role) {
            self.index = index
            self.node = node
            self.role = role
            members = node.members
            elements = node.elements
        }
    }

    private var builder: TreeBuilder
    private let source: DocumentTree
    /// The positions of the nodes of a JSON document. Empty for YAML, whose nodes have positions.
    private let positions: [JSONPosition.Place]
    private var line = 1
    private var column = 1
    /// The written containers of a document with aliases, by original container and role.
    private var written: [UInt64: UInt32] = [:]
    private var nodeCount = 0
    private var byteCount = 0

    init(_ source: DocumentTree) throws(NightjarError) {
        self.source = source
        try TreeBuilder.checkMemory(source.bytes.count, source.name)
        positions = source.source.isEmpty ? [] : JSONPosition.all(in: source.source, count: source.nodes.count)
        builder = TreeBuilder(name: source.name, capacity: source.bytes.count)
    }

    consuming func finish() -> DocumentTree { builder.finish() }

    // MARK: New values

    /// Sets the position of the values that are written next to that of `node`.
    mutating func move(to node: TreeNode) {
        let own = source.nodes[Int(node.index)]
        if own.line > 0 {
            (line, column) = (Int(own.line), Int(own.column))
        } else if positions.indices.contains(Int(node.index)) {
            let place = positions[Int(node.index)]
            (line, column) = (Int(place.line), Int(place.column))
        }
    }

    /// Writes a name or a string.
    mutating func text(_ text: String) throws(NightjarError) {
        var text = text
        try count(text.utf8.count)
        text.withUTF8 { _ = builder.append(.string, UnsafeRawBufferPointer($0), line: line, column: column) }
    }

    mutating func flag(_ value: Bool) throws(NightjarError) {
        try count(5)
        var text = value ? "true" : "false"
        text.withUTF8 {
            _ = builder.append(.bool, UnsafeRawBufferPointer($0), flag: value, line: line, column: column)
        }
    }

    /// Begins an object or array. The following values are its contents, until ``end()``.
    ///
    /// - Returns: the value, for ``again(_:)``.
    mutating func begin(_ kind: DocumentTree.Kind) throws(NightjarError) -> UInt32 {
        try count(0)
        return try builder.begin(kind, line: line, column: column)
    }

    mutating func end() throws(NightjarError) { try builder.end() }

    mutating func member(_ name: String, _ value: String) throws(NightjarError) {
        try text(name)
        try text(value)
    }

    mutating func member(_ name: String, _ value: Bool) throws(NightjarError) {
        try text(name)
        try flag(value)
    }

    /// Writes a complete value once more.
    mutating func again(_ index: UInt32) throws(NightjarError) {
        try count(0)
        try builder.appendAlias(of: index, line: line, column: column)
    }

    // MARK: Values of the original

    mutating func member(_ name: String, _ node: TreeNode, _ role: Role = .copy) throws(NightjarError) {
        move(to: node)
        try text(name)
        try write(node, role)
    }

    /// Writes the member of `node` with this name, if there is one.
    mutating func copy(_ name: String, of node: TreeNode, as newName: String? = nil) throws(NightjarError) {
        if let value = node[name] { try member(newName ?? name, value) }
    }

    /// Writes the members whose names begin with `x-`, except for those that the converter reads.
    mutating func copyExtensions(of node: TreeNode) throws(NightjarError) {
        for (key, value) in node.members {
            let name = node.name(key)
            guard name.utf8.starts(with: "x-".utf8), name != "x-nullable", name != "x-example" else { continue }
            try member(name, value)
        }
    }

    /// Writes a value with its contents. Iterative, so that the nesting depth does not affect the stack.
    mutating func write(_ node: TreeNode, _ role: Role) throws(NightjarError) {
        var open: [Frame] = []
        try enter(node, role, &open)
        while let last = open.indices.last {
            if open[last].node.isArray {
                if let element = open[last].elements.next() {
                    try enter(element, open[last].role == .schemaList ? .schema : .copy, &open)
                    continue
                }
            } else if let (key, value) = open[last].members.next() {
                try writeMember(open[last].node, open[last].node.name(key), value, open[last].role, &open)
                continue
            }
            let frame = open.removeLast()
            try builder.end()
            if source.hasAliases { written[TreeWriter.key(frame.node, frame.role)] = frame.index }
        }
    }

    private mutating func enter(_ node: TreeNode, _ role: Role, _ open: inout [Frame]) throws(NightjarError) {
        move(to: node)
        guard node.isObject || node.isArray else { return try scalar(node) }
        if let known = written[TreeWriter.key(node, role)] { return try again(known) }
        try count(0)
        open.append(Frame(try builder.begin(node.kind, line: line, column: column), node, role))
    }

    private mutating func scalar(_ node: TreeNode) throws(NightjarError) {
        let text = source.text(node.index)
        try count(text.count)
        text.withUnsafeBytes {
            _ = builder.append(node.kind, $0, flag: node.bool ?? false, line: line, column: column)
        }
    }

    private mutating func writeMember(
        _ object: TreeNode, _ name: String, _ value: TreeNode, _ role: Role, _ open: inout [Frame]
    ) throws(NightjarError) {
        move(to: value)
        switch role {
        case .copy, .schemaList: break
        case .schemaMap: return try enter(value, named: name, .schema, &open)
        case .holderMap: return try enter(value, named: name, .holder, &open)
        case .holder: return try enter(value, named: name, name == "schema" ? .schema : .copy, &open)
        case .schema: return try writeSchemaMember(object, name, value, &open)
        }
        try enter(value, named: name, .copy, &open)
    }

    private mutating func enter(
        _ node: TreeNode, named name: String, _ role: Role, _ open: inout [Frame]
    ) throws(NightjarError) {
        try text(name)
        try enter(node, role, &open)
    }

    /// Writes a member of a schema. Schemas of OpenAPI 3.0 differ from those of Swagger 2.0 in `discriminator`, in the
    /// type `file`, and in `nullable`, which many Swagger documents have as `x-nullable`.
    private mutating func writeSchemaMember(
        _ schema: TreeNode, _ name: String, _ value: TreeNode, _ open: inout [Frame]
    ) throws(NightjarError) {
        switch name {
        case "discriminator" where value.kind == .string:
            try text(name)
            _ = try begin(.object)
            try member("propertyName", value.text ?? "")
            try end()
        case "type" where value.kind == .string && value.text == "file":
            try member("type", "string")
            if schema["format"] == nil { try member("format", "binary") }
        case "x-nullable":
            if schema["nullable"] == nil { try enter(value, named: "nullable", .copy, &open) }
        case "collectionFormat": break
        case "properties", "patternProperties", "definitions", "dependentSchemas":
            try enter(value, named: name, .schemaMap, &open)
        case "allOf", "anyOf", "oneOf": try enter(value, named: name, .schemaList, &open)
        case "items": try enter(value, named: name, value.isArray ? .schemaList : .schema, &open)
        case "additionalProperties", "not": try enter(value, named: name, .schema, &open)
        default: try enter(value, named: name, .copy, &open)
        }
    }

    // MARK: Bounds

    /// Counts one value.
    ///
    /// - Throws: `too_large` if the new tree would be much larger than the original, because aliases or parameters of
    ///   paths repeat values.
    private mutating func count(_ bytes: Int) throws(NightjarError) {
        nodeCount += 1
        byteCount += bytes
        guard nodeCount <= TreeWriter.maximumNodes(source.nodes.count),
            byteCount <= TreeWriter.maximumBytes(source.bytes.count)
        else {
            throw NightjarError(
                .tooLarge,
                "\(source.name) becomes too large when it is converted from Swagger 2.0; convert it to OpenAPI 3 and "
                    + "load the result")
        }
    }

    private static func maximumNodes(_ count: Int) -> Int { 16 * count + 100_000 }

    private static func maximumBytes(_ count: Int) -> Int { min(16 * count + (4 << 20), DocumentTree.maximumLength) }

    private static func key(_ node: TreeNode, _ role: Role) -> UInt64 {
        UInt64(node.index) << 8 | UInt64(role.rawValue)
    }
}
