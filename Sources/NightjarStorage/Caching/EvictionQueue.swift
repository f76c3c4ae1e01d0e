/// Says what has to go from a store of bounded size: S3-FIFO (Yang and others, SOSP 2023), with sizes.
///
///     new ──▶ small ──asked for again──▶ main ──not asked for since──▶ gone
///                └──not asked for──▶ gone, its fingerprint remembered: when it comes back it goes to main
///
/// What is asked for once passes through the small queue and costs the others nothing, which is where the order of last use
/// fails. A hit moves nothing: it counts to three.
struct EvictionQueue {
    /// Where an entry is, from ``insert(_:weight:)`` until it is evicted or removed; then another may get the number.
    typealias Slot = Int

    private struct Node {
        var fingerprint: UInt64 = 0
        var weight = 0
        /// Towards the newer.
        var newer: Int32 = none
        /// Towards the older; of a free node, the next free one.
        var older: Int32 = none
        var uses: UInt8 = 0
        var isMain = false
    }

    private struct Line {
        var newest: Int32 = none
        var oldest: Int32 = none
        var weight = 0
    }

    let capacity: Int
    var weight: Int { small.weight + main.weight }
    private(set) var count = 0
    private var nodes: [Node] = []
    private var free = none
    private var small = Line()
    private var main = Line()
    private var ghosts = GhostList()
    private let smallCapacity: Int

    /// - Parameter capacity: the sum of weights beyond which ``evict()`` names somebody.
    init(capacity: Int) {
        self.capacity = max(capacity, 0)
        smallCapacity = self.capacity / EvictionQueue.smallShare
    }

    // MARK: Events

    /// - Parameters:
    ///   - fingerprint: a hash of its name, by which it is known when it comes back.
    ///   - weight: at least 0. Bounded by the caller: no sum of weights may overflow.
    mutating func insert(_ fingerprint: UInt64, weight: Int) -> Slot {
        let slot: Int32
        if free != EvictionQueue.none {
            slot = free
            free = nodes[Int(slot)].older
        } else {
            slot = Int32(truncatingIfNeeded: nodes.count)
            nodes.append(Node())
        }
        nodes[Int(slot)] = Node(fingerprint: fingerprint, weight: weight, isMain: ghosts.remove(fingerprint))
        append(slot)
        count += 1
        return Int(slot)
    }

    @inline(__always)
    mutating func touch(_ slot: Slot) {
        if nodes[slot].uses < EvictionQueue.mostUses { nodes[slot].uses += 1 }
    }

    /// Without a memory of it: who asks for that does not want it back.
    mutating func remove(_ slot: Slot) {
        unlink(Int32(truncatingIfNeeded: slot))
        release(slot)
    }

    mutating func change(_ slot: Slot, weight: Int) {
        let change = weight - nodes[slot].weight
        nodes[slot].weight = weight
        if nodes[slot].isMain { main.weight += change } else { small.weight += change }
    }

    /// - Returns: who went, while there is too much; then nil.
    mutating func evict() -> Slot? {
        while weight > capacity {
            // Main alone is left when small is empty, and the other way round.
            let fromSmall = small.weight > smallCapacity || main.oldest == EvictionQueue.none
            let slot = fromSmall ? small.oldest : main.oldest
            guard slot != EvictionQueue.none else { return nil }
            let node = nodes[Int(slot)]
            unlink(slot)
            if fromSmall {
                guard node.uses >= EvictionQueue.usesForMain else {
                    ghosts.add(node.fingerprint, limit: max(count, EvictionQueue.fewestGhosts))
                    release(Int(slot))
                    return Int(slot)
                }
                nodes[Int(slot)].isMain = true
                nodes[Int(slot)].uses = 0
            } else {
                guard node.uses > 0 else {
                    release(Int(slot))
                    return Int(slot)
                }
                nodes[Int(slot)].uses -= 1
            }
            append(slot)
        }
        return nil
    }

    // MARK: Lines

    private mutating func append(_ slot: Int32) {
        let node = nodes[Int(slot)]
        var line = node.isMain ? main : small
        nodes[Int(slot)].newer = EvictionQueue.none
        nodes[Int(slot)].older = line.newest
        if line.newest != EvictionQueue.none { nodes[Int(line.newest)].newer = slot } else { line.oldest = slot }
        line.newest = slot
        line.weight += node.weight
        if node.isMain { main = line } else { small = line }
    }

    private mutating func unlink(_ slot: Int32) {
        let node = nodes[Int(slot)]
        var line = node.isMain ? main : small
        if node.newer != EvictionQueue.none {
            nodes[Int(node.newer)].older = node.older
        } else {
            line.newest = node.older
        }
        if node.older != EvictionQueue.none {
            nodes[Int(node.older)].newer = node.newer
        } else {
            line.oldest = node.newer
        }
        line.weight -= node.weight
        if node.isMain { main = line } else { small = line }
    }

    private mutating func release(_ slot: Slot) {
        nodes[slot] = Node(older: free)
        free = Int32(truncatingIfNeeded: slot)
        count -= 1
    }

    // MARK: Numbers

    private static let none: Int32 = -1
    /// The part of the whole for what has not been asked for again: a tenth, as the paper has it.
    static let smallShare = 10
    /// Two bits.
    static let mostUses: UInt8 = 3
    /// Uses in the small queue that lead to main.
    static let usesForMain: UInt8 = 1
    private static let fewestGhosts = 64
}

/// The fingerprints of what went lately, a bounded number of them, the oldest forgotten first.
private struct GhostList {
    private var order: [UInt64] = []
    /// In `order`; what is before it is past.
    private var start = 0
    /// One that came back and went again is in `order` twice, and is forgotten with the first: that is rare, and makes an
    /// entry begin in the small queue.
    private var known: Set<UInt64> = []

    mutating func add(_ fingerprint: UInt64, limit: Int) {
        order.append(fingerprint)
        known.insert(fingerprint)
        while order.count - start > limit {
            known.remove(order[start])
            start += 1
        }
        if start > 1024, start > order.count / 2 {
            order.removeFirst(start)
            start = 0
        }
    }

    mutating func remove(_ fingerprint: UInt64) -> Bool { known.remove(fingerprint) != nil }
}
