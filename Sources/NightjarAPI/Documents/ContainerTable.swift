/// Which container each of a tree's is in, for finding the way to a node. Eight bytes for each.
final class ContainerTable: Sendable {
    /// In the order of the document.
    private let indices: [UInt32]
    /// For each, the position of the one around it in ``indices``; of the first, its own.
    private let around: [UInt32]

    init(_ tree: DocumentTree) {
        var indices: [UInt32] = []
        var around: [UInt32] = []
        var open: [(position: UInt32, end: UInt32)] = []
        for (number, node) in tree.nodes.enumerated() where node.kind == .array || node.kind == .object {
            let index = UInt32(truncatingIfNeeded: number)
            while let last = open.last, last.end <= index { open.removeLast() }
            let position = UInt32(truncatingIfNeeded: indices.count)
            indices.append(index)
            around.append(open.last?.position ?? 0)
            open.append((position, node.first))
        }
        self.indices = indices
        self.around = around
    }

    /// The containers that a node is in, from the innermost to the root.
    ///
    /// - Parameter looks: what it costs, added to.
    func containers(of index: UInt32, in tree: DocumentTree, _ looks: inout Int) -> [UInt32] {
        // Behind the last one that begins before the node.
        let behind = indices.firstPosition(&looks) { $0 >= index }
        guard behind > 0 else { return [] }
        var at = behind - 1
        var containers: [UInt32] = []
        while true {
            looks += 1
            if tree.end(of: indices[at]) > index { containers.append(indices[at]) }
            guard at > 0 else { return containers }
            at = Int(around[at])
        }
    }
}

extension DocumentTree {
    /// The names and numbers that lead from the root to a value, where it is written.
    ///
    /// - Parameter looks: at nodes and places of them, added to; grows with the depth, and not with what is beside.
    func path(to index: UInt32, _ looks: inout Int) -> [String] {
        let table = containers.load() ?? containers.storeIfNil(ContainerTable(self))
        var tokens: [String] = []
        var inner = index
        for container in table.containers(of: index, in: self, &looks) {
            if nodes[Int(container)].kind == .object {
                looks += 1
                // A key is right before its value.
                tokens.append(String(decoding: text(inner - 1), as: UTF8.self))
            } else {
                tokens.append(String(number(of: inner, in: container, &looks)))
            }
            inner = container
        }
        return tokens.reversed()
    }

    /// Which element of an array a node is.
    private func number(of element: UInt32, in array: UInt32, _ looks: inout Int) -> Int {
        if let places = elements[array] { return places.firstPosition(&looks) { $0 >= element } }
        // The array is short, or it would have an index.
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
    /// Of a sorted list, the position of the first one that is so, or the count; all behind it are so too.
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
