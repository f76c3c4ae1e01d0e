/// Selects the entries to evict from a cache of bounded size: S3-FIFO (Yang et al., SOSP 2023) with weighted entries.
///
///     new ──▶ small ──used again──▶ main ──not used since──▶ evicted
///                └──not used──▶ evicted; its fingerprint is kept: a new entry with it starts in main
///
/// Entries that are used only once pass through the small queue and do not displace others, as they would with LRU. A
/// hit does not move the entry. It only increments a counter, up to three.
struct EvictionQueue {
    /// The index of an entry, valid from ``insert(_:weight:)`` until the entry is evicted or removed. The index is then
    /// reused.
    typealias Slot = Int

    private struct Node {
        var fingerprint: UInt64 = 0
        var weight = 0
        /// The next newer node.
        var newer: Int32 = none
        /// The next older node. For a free node, the next free node.
        var older: Int32 = none
        var uses: UInt8 = 0
        var isMain = false
    }

    private struct LinkedList {
        var newest: Int32 = none
        var oldest: Int32 = none
        var weight = 0
    }

    let capacity: Int
    var weight: Int { small.weight + main.weight }
    private(set) var count = 0
    private var nodes: [Node] = []
    private var free = none
    private var small = LinkedList()
    private var main = LinkedList()
    private var ghosts = GhostList()
    private let smallCapacity: Int

    /// - Parameter capacity: the sum of weights above which ``evict()`` returns entries.
    init(capacity: Int) {
        self.capacity = max(capacity, 0)
        smallCapacity = self.capacity / EvictionQueue.smallShare
    }

    // MARK: Events

    /// Inserts an entry as the newest of its queue.
    ///
    /// - Parameters:
    ///   - fingerprint: a hash of the entry's name. It identifies an entry that is inserted again after its eviction.
    ///   - weight: at least 0. The caller limits it so that sums of weights cannot overflow.
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
        if nodes[slot].uses < EvictionQueue.maximumUses { nodes[slot].uses += 1 }
    }

    /// Removes an entry. Its fingerprint is not remembered, because the entry was not evicted.
    mutating func remove(_ slot: Slot) {
        unlink(Int32(truncatingIfNeeded: slot))
        release(slot)
    }

    mutating func change(_ slot: Slot, weight: Int) {
        let change = weight - nodes[slot].weight
        nodes[slot].weight = weight
        if nodes[slot].isMain { main.weight += change } else { small.weight += change }
    }

    /// Evicts one entry and returns it, or returns nil if the capacity is not exceeded.
    mutating func evict() -> Slot? {
        while weight > capacity {
            // If one queue is empty, entries are evicted from the other queue.
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

    // MARK: Queues

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
    /// One tenth of the capacity is for new entries, as in the paper.
    static let smallShare = 10
    /// The maximum of the hit counter, as in the paper.
    static let maximumUses: UInt8 = 3
    /// The minimum number of hits for moving an entry from the small queue to the main queue instead of evicting it.
    static let usesForMain: UInt8 = 1
    private static let fewestGhosts = 64
}

/// The fingerprints of recently evicted entries. The list is bounded: the oldest fingerprints are dropped first.
private struct GhostList {
    private var order: [UInt64] = []
    /// The index in `order` of the first valid element.
    private var start = 0
    /// The fingerprints in the list. A fingerprint that was removed and added again is in `order` twice and is dropped
    /// when its first occurrence is dropped. This is rare. The only effect is that an entry starts in the small queue.
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
