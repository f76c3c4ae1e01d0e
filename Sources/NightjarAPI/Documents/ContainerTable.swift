/// Maps each container of a tree to its parent, to find the path to a node. Uses eight bytes for each container.
final class ContainerTable: Sendable {
    /// The node indices of all containers, in document order.
    private let indices: [UInt32]
    /// For each container, the position of its parent in ``indices``. The root container is its own parent.
    private let parents: [UInt32]

    init(_ tree: DocumentTree) {
        var indices: [UInt32] = []
        var parents: [UInt32] = []
        var open: [(position: UInt32, end: UInt32)] = []
        for (number, node) in tree.nodes.enumerated() where node.kind == .array || node.kind == .object {
            let index = UInt32(truncatingIfNeeded: number)
            while let last = open.last, last.end <= index { open.removeLast() }
            let position = UInt32(truncatingIfNeeded: indices.count)
            indices.append(index)
            parents.append(open.last?.position ?? 0)
            open.append((position, node.first))
        }
        self.indices = indices
        self.parents = parents
    }

    /// Returns the containers that enclose a node, from the innermost to the root.
    ///
    /// - Parameter looks: incremented by the number of nodes that were visited.
    func containers(of index: UInt32, in tree: DocumentTree, _ looks: inout Int) -> [UInt32] {
        // The position after the last container that begins before the node.
        let behind = indices.firstPosition(&looks) { $0 >= index }
        guard behind > 0 else { return [] }
        var at = behind - 1
        var containers: [UInt32] = []
        while true {
            looks += 1
            if tree.end(of: indices[at]) > index { containers.append(indices[at]) }
            guard at > 0 else { return containers }
            at = Int(parents[at])
        }
    }
}

extension DocumentTree {
    /// Returns the member names and element numbers that lead from the root to the place where a value is written.
    ///
    /// - Parameter looks: incremented by the number of nodes that were visited. The number depends mainly on the depth
    ///   of the node.
    func path(to index: UInt32, _ looks: inout Int) -> [String] {
        let table = containers.load() ?? containers.storeIfNil(ContainerTable(self))
        var tokens: [String] = []
        var inner = index
        for container in table.containers(of: index, in: self, &looks) {
            if nodes[Int(container)].kind == .object {
                looks += 1
                // A key directly precedes its value.
                tokens.append(String(decoding: text(inner - 1), as: UTF8.self))
            } else {
                tokens.append(String(number(of: inner, in: container, &looks)))
            }
            inner = container
        }
        return tokens.reversed()
    }

    /// Returns the position of a node in its array.
    private func number(of element: UInt32, in array: UInt32, _ looks: inout Int) -> Int {
        if let places = elements[array] { return places.firstPosition(&looks) { $0 >= element } }
        // A short array has no index.
        var number = 0
        var at = array + 1
        while at < element {
            looks += 1
            number += 1
            at = end(of: at)
        }
        return number
    }
}

extension [UInt32] {
    /// Returns the position of the first element that satisfies a predicate, or `count` if there is none. All elements
    /// after the first match must match too.
    fileprivate func firstPosition(_ looks: inout Int, where isSo: (UInt32) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            looks += 1
            let middle = low + (high - low) / 2
            if isSo(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
