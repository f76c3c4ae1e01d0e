import NightjarHTTP
import Synchronization

/// A JSON or YAML document in compact form.
///
/// The tree is an arena. Nodes are in document order, and the contents of a container directly follow the container.
/// The bytes of all texts share one buffer. The target of a YAML alias is stored once. Read the tree through
/// ``TreeNode``.
final class DocumentTree: Sendable {
    enum Kind: UInt8 {
        case null, bool, integer, number, string, array, object
        /// Refers to the node with the index `first`, which is not an alias.
        case alias
    }

    /// Takes sixteen bytes, so that a description takes about as much memory as its file.
    struct Node {
        var kind: Kind
        /// For a bool, its value. For an object, true if its members are in ``DocumentTree/merged``.
        var flag = false
        /// The column, counted from 1 and at most 65535. 0 if not recorded (JSON).
        var column: UInt16 = 0
        var line: UInt32 = 0
        /// For a scalar, the offset of its text. For a container, the index after its contents.
        var first: UInt32 = 0
        /// For a scalar, the length of its text in bytes. For a container, the number of its members or elements.
        var count: UInt32 = 0
    }

    /// The nodes of a member's key and value.
    struct Member {
        var key: UInt32
        var value: UInt32
    }

    /// The name of the document in messages.
    let name: String
    let nodes: [Node]
    let bytes: [UInt8]
    /// The members of objects with YAML merge keys: own members first, then merged members.
    let merged: [UInt32: [Member]]
    /// An index by name for each object with many members or with merge keys.
    let indices: [UInt32: MemberIndex]
    /// The nodes of the elements, for each array with many elements.
    let elements: [UInt32: [UInt32]]
    /// Objects with a `$anchor`, by its value.
    private let anchors: ExactDictionary<UInt32>
    /// The source of a JSON document, from which line and column are computed on demand. Empty for YAML.
    let source: [UInt8]
    /// True if the document has aliases, so that a value can be reached by more than one path.
    let hasAliases: Bool
    /// Maps containers to their parents. Built on first use.
    let containers = AtomicLazyReference<ContainerTable>()

    init(_ builder: consuming TreeBuilder) {
        name = builder.name
        nodes = builder.nodes
        bytes = builder.bytes
        merged = builder.merged
        indices = builder.indices
        elements = builder.elements
        anchors = builder.anchors
        source = builder.source
        hasAliases = builder.hasAliases
    }

    var root: TreeNode { TreeNode(self, 0) }

    /// Returns the object with a given `$anchor` of JSON Schema.
    func anchored(_ name: String) -> TreeNode? { anchors[name].map { TreeNode(self, $0) } }

    /// Returns the index after a node and its contents.
    func end(of index: UInt32) -> UInt32 {
        let node = nodes[Int(index)]
        return node.kind == .array || node.kind == .object ? node.first : index + 1
    }

    /// Returns the bytes of a scalar's text.
    func text(_ index: UInt32) -> ArraySlice<UInt8> {
        let node = nodes[Int(index)]
        return bytes[Int(node.first)..<(Int(node.first) + Int(node.count))]
    }

    /// Returns true if a scalar's text equals `other` byte for byte.
    func isText(_ index: UInt32, _ other: UnsafeRawBufferPointer) -> Bool {
        let node = nodes[Int(index)]
        guard Int(node.count) == other.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes[Int(node.first)..<(Int(node.first) + other.count)].elementsEqual(other)
        }
    }

    /// Returns the line and column of a node, counted from 1. The column counts characters.
    func position(of index: UInt32) -> (line: Int, column: Int) {
        let node = nodes[Int(index)]
        return node.line > 0 ? (Int(node.line), Int(node.column)) : JSONPosition.find(Int(index), in: source)
    }

    /// The maximum nesting depth of containers. Descriptions of real APIs have about 40 levels.
    static let maximumDepth = 256

    /// The maximum size of a document in bytes. Offsets have 32 bits, and unescaping can lengthen a YAML text by up to
    /// half.
    static let maximumLength = 1 << 30
}

extension DocumentTree {
    /// An index of an object's members by name: a hash table with open addressing. Entries are key nodes or positions
    /// in ``DocumentTree/merged``.
    struct MemberIndex {
        /// Each slot contains an entry plus one, or 0 if the slot is free. The size is a power of two, and at most half
        /// of the slots are used.
        private var slots: [UInt32]

        init(capacity: Int) {
            var size = 16
            while size < 2 * capacity { size *= 2 }
            slots = Array(repeating: 0, count: size)
        }

        /// Inserts `entry` unless the name is present.
        ///
        /// - Parameter isSame: returns true if an entry has the name.
        /// - Returns: the existing entry, or nil if `entry` was inserted.
        mutating func insert(
            _ entry: UInt32, named name: UnsafeRawBufferPointer, isSame: (UInt32) -> Bool
        ) -> UInt32? {
            var at = start(name)
            while slots[at] != 0 {
                if isSame(slots[at] - 1) { return slots[at] - 1 }
                at = (at + 1) & (slots.count - 1)
            }
            slots[at] = entry + 1
            return nil
        }

        func find(_ name: UnsafeRawBufferPointer, isSame: (UInt32) -> Bool) -> UInt32? {
            var at = start(name)
            while slots[at] != 0 {
                if isSame(slots[at] - 1) { return slots[at] - 1 }
                at = (at + 1) & (slots.count - 1)
            }
            return nil
        }

        /// Returns the first slot to search for `name`. The hash uses the random seed of the process, so no document
        /// can be designed to make all names collide.
        private func start(_ name: UnsafeRawBufferPointer) -> Int {
            var hasher = Hasher()
            hasher.combine(bytes: name)
            return hasher.finalize() & (slots.count - 1)
        }
    }
}
