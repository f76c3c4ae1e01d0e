import Synchronization

extension JSONSchema {
    /// Schemas that refer to each other by number, so that one may be within itself.
    ///
    /// It grows, and what is in it never moves or changes, so that those who look need no lock: a number is told only when
    /// all that can be reached from it is here. One thread at a time may add.
    final class Arena: @unchecked Sendable {
        /// Numbers of them: 16, 32, 64 and so on, from the first chunk on.
        private let chunks: UnsafeMutablePointer<UnsafeMutablePointer<Node>?>
        /// Touched by who adds.
        private(set) var count = 0
        private(set) var noteCount = 0
        /// Whether there is any note; for those who look.
        private let hasNotes = Atomic<Bool>(false)

        /// With the first two.
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

        /// - Parameter index: of a schema, or of one that can be reached from it.
        subscript(_ index: Index) -> Node {
            let (chunk, place) = Arena.place(of: Int(index))
            guard let nodes = chunks[chunk] else { return Arena.nothing }
            return nodes[place]
        }

        /// Puts schemas behind those that are there. Nobody knows their numbers yet.
        func add(_ nodes: [Node]) {
            for node in nodes {
                let (chunk, place) = Arena.place(of: count)
                let room: UnsafeMutablePointer<Node>
                if let known = chunks[chunk] {
                    room = known
                } else {
                    // Written once: others read it from when they know a number in it.
                    room = .allocate(capacity: Arena.size(of: chunk))
                    chunks[chunk] = room
                }
                (room + place).initialize(to: node)
                count += 1
                noteCount += node.notes?.value.count ?? 0
            }
            if noteCount > 0 { hasNotes.store(true, ordering: .releasing) }
        }

        /// What was passed over when a schema and those that can be reached from it were read, from the top.
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

        /// `true`, and where nothing is said.
        static let any: Index = 0
        /// `false`.
        static let never: Index = 1

        /// More than there are numbers.
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
    /// The schemas that its keywords hold, in no particular order.
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
