import Synchronization

extension JSONSchema {
    /// Schemas that refer to each other by index, so that a schema can contain itself.
    ///
    /// The arena only grows, and its contents never move or change. Readers need no lock, because an index is published
    /// only after all schemas reachable from the index have been added. Only one thread at a time may add schemas.
    final class Arena: @unchecked Sendable {
        /// Chunks of 16, 32, 64, ... nodes.
        private let chunks: UnsafeMutablePointer<UnsafeMutablePointer<Node>?>
        /// The number of schemas. Used only by the thread that adds schemas.
        private(set) var count = 0
        private(set) var noteCount = 0
        /// True if any schema has notes. Used by readers.
        private let hasNotes = Atomic<Bool>(false)

        /// Creates an arena with ``any`` and ``never``.
        init() {
            chunks = .allocate(capacity: Arena.chunkCount)
            chunks.initialize(repeating: nil, count: Arena.chunkCount)
            var never = Rules()
            never.isNever = true
            add([Node(Rules()), Node(never)])
        }

        deinit {
            for chunk in 0..<Arena.chunkCount {
                guard let nodes = chunks[chunk] else { break }
                nodes.deinitialize(count: min(Arena.size(of: chunk), count - Arena.first(of: chunk)))
                nodes.deallocate()
            }
            chunks.deallocate()
        }

        /// - Parameter index: the index of a published schema, or of a schema reachable from a published one.
        subscript(_ index: Index) -> Node {
            let (chunk, place) = Arena.place(of: Int(index))
            guard let nodes = chunks[chunk] else { return Arena.nothing }
            return nodes[place]
        }

        /// Appends schemas. The caller publishes their indices afterwards.
        func add(_ nodes: [Node]) {
            for node in nodes {
                let (chunk, place) = Arena.place(of: count)
                let room: UnsafeMutablePointer<Node>
                if let known = chunks[chunk] {
                    room = known
                } else {
                    // Written once. Readers access a chunk only after they have received an index in that chunk.
                    room = .allocate(capacity: Arena.size(of: chunk))
                    chunks[chunk] = room
                }
                (room + place).initialize(to: node)
                count += 1
                noteCount += node.notes?.value.count ?? 0
            }
            if noteCount > 0 { hasNotes.store(true, ordering: .releasing) }
        }

        /// Returns the notes about a schema and the schemas reachable from it, breadth first.
        func notes(of root: Index, atMost maximum: Int) -> [String] {
            guard hasNotes.load(ordering: .acquiring) else { return [] }
            var notes: [String] = []
            var seen: Set<Index> = [root]
            var queue = [root]
            var next = 0
            while next < queue.count, notes.count < maximum {
                let node = self[queue[next]]
                next += 1
                if let its = node.notes { notes += its.value.prefix(maximum - notes.count) }
                node.rules.forEachSchema { if seen.insert($0).inserted { queue.append($0) } }
            }
            return notes
        }

        /// The schema `true`, also used where a schema is missing.
        static let any: Index = 0
        /// The schema `false`.
        static let never: Index = 1

        /// 28 chunks have room for every non-negative ``Index``.
        private static let chunkCount = 28
        private static let nothing = Node(Rules())

        private static func size(of chunk: Int) -> Int { 16 << chunk }

        private static func first(of chunk: Int) -> Int { (16 << chunk) - 16 }

        private static func place(of index: Int) -> (chunk: Int, place: Int) {
            let number = index &+ 16
            let chunk = Int.bitWidth &- 5 &- number.leadingZeroBitCount
            return (chunk, number &- (16 << chunk))
        }
    }
}

extension JSONSchema.Rules {
    /// Calls `body` with each schema that the keywords contain, in no particular order.
    func forEachSchema(_ body: (JSONSchema.Index) -> Void) {
        for property in properties { body(property.schema) }
        for schema in [items, contains?.value.schema, unevaluatedItems, additional, names, unevaluatedProperties] {
            if let schema { body(schema) }
        }
        prefix.forEach(body)
        for pattern in patterns { body(pattern.schema) }
        guard let combination = combination?.value else { return }
        let one = [
            combination.reference, combination.not, combination.condition, combination.then, combination.otherwise,
        ]
        for schema in one { if let schema { body(schema) } }
        for schemas in [combination.allOf, combination.anyOf, combination.oneOf] { schemas.forEach(body) }
        for dependent in combination.dependent { body(dependent.schema) }
    }
}
