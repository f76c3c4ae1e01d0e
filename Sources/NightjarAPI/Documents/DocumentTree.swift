import NightjarHTTP
import Synchronization

/// A JSON or YAML document as it was written, small: of a large API's description most is never looked at.
///
/// An arena: nodes in the order of the document, those inside of a container right behind it, and the bytes of all
/// texts in one buffer. What an alias of YAML stands for is there once, however often it is named. Read through
/// ``TreeNode``.
final class DocumentTree: Sendable {
    enum Kind: UInt8 {
        case null, bool, integer, number, string, array, object
        /// Stands for the node of the index `first`, which is no alias.
        case alias
    }

    /// Sixteen bytes, so that a description weighs about as much here as in its file.
    struct Node {
        var kind: Kind
        /// A bool's value; of an object, whether ``DocumentTree/merged`` has its members.
        var flag = false
        /// From 1; saturating. 0: nobody has counted (JSON).
        var column: UInt16 = 0
        var line: UInt32 = 0
        /// Of a scalar: where its text begins. Of a container: the index behind what is inside of it.
        var first: UInt32 = 0
        /// Of a scalar: bytes of its text. Of a container: its members or elements.
        var count: UInt32 = 0
    }

    /// A place in an object: its key's node and its value's.
    struct Member {
        var key: UInt32
        var value: UInt32
    }

    /// What the document is called in messages.
    let name: String
    let nodes: [Node]
    let bytes: [UInt8]
    /// The members of objects that YAML's merge keys add to, those of their own first.
    let merged: [UInt32: [Member]]
    /// Of objects with many members, which member has a name.
    let indices: [UInt32: MemberIndex]
    /// Of arrays with many elements, where those are.
    let elements: [UInt32: [UInt32]]
    /// Objects that have a `$anchor`, by that.
    private let anchors: ExactDictionary<UInt32>
    /// The text of a JSON document, in which places are looked for when there is something to say about one.
    let source: [UInt8]
    /// Whether it has aliases, by which a value can be reached on more than one way.
    let hasAliases: Bool
    /// Made when somebody asks where a node is.
    let containers = AtomicLazyReference<ContainerTable>()

    init(
        name: String, nodes: [Node], bytes: [UInt8], merged: [UInt32: [Member]], indices: [UInt32: MemberIndex],
        elements: [UInt32: [UInt32]], anchors: ExactDictionary<UInt32>, source: [UInt8],
        hasAliases: Bool
    ) {
        self.name = name
        self.nodes = nodes
        self.bytes = bytes
        self.merged = merged
        self.indices = indices
        self.elements = elements
        self.anchors = anchors
        self.source = source
        self.hasAliases = hasAliases
    }

    var root: TreeNode { TreeNode(self, 0) }

    /// What a `$anchor` of JSON Schema names.
    func anchored(_ name: String) -> TreeNode? { anchors[name].map { TreeNode(self, $0) } }

    /// The index behind a node and all that is inside of it.
    func end(of index: UInt32) -> UInt32 {
        let node = nodes[Int(index)]
        return node.kind == .array || node.kind == .object ? node.first : index + 1
    }

    /// Of a scalar.
    func text(_ index: UInt32) -> ArraySlice<UInt8> {
        let node = nodes[Int(index)]
        return bytes[Int(node.first)..<(Int(node.first) + Int(node.count))]
    }

    /// Whether a scalar's text is this one, to the byte.
    func isText(_ index: UInt32, _ other: UnsafeRawBufferPointer) -> Bool {
        let node = nodes[Int(index)]
        guard Int(node.count) == other.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes[Int(node.first)..<(Int(node.first) + other.count)].elementsEqual(other)
        }
    }

    /// From 1, the column in characters.
    func position(of index: UInt32) -> (line: Int, column: Int) {
        let node = nodes[Int(index)]
        return node.line > 0 ? (Int(node.line), Int(node.column)) : JSONPosition.find(Int(index), in: source)
    }

    /// Containers within each other before a document is refused. Descriptions of real APIs have about 40.
    static let maximumDepth = 256

    /// Bytes of a document. Offsets have 32 bits, and a text may grow by half where its escapes are undone.
    static let maximumLength = 1 << 30
}

extension DocumentTree {
    /// The members of an object by name: a hash table of open addressing, of keys' nodes or of positions in
    /// ``DocumentTree/merged``.
    struct MemberIndex {
        /// Entries plus one; 0: free. A power of two of them, at most half of them taken.
        private var slots: [UInt32]

        init(capacity: Int) {
            var size = 16
            while size < 2 * capacity { size *= 2 }
            slots = Array(repeating: 0, count: size)
        }

        /// Puts `entry` in, unless there is one of that name.
        ///
        /// - Parameter isSame: whether an entry has the name.
        /// - Returns: the one that is there already.
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

        /// Hashed with the process' own seed: nobody can write names that all land in one place.
        private func start(_ name: UnsafeRawBufferPointer) -> Int {
            var hasher = Hasher()
            hasher.combine(bytes: name)
            return hasher.finalize() & (slots.count - 1)
        }
    }
}
