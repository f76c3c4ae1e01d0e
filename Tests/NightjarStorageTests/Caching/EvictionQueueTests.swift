import Glibc
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct EvictionQueueTests {
    // MARK: One after another

    /// A queue of named entries.
    private struct Store {
        var queue: EvictionQueue
        var slots: [String: Int] = [:]

        init(_ capacity: Int) { queue = EvictionQueue(capacity: capacity) }

        /// - Returns: The evicted names.
        @discardableResult
        mutating func add(_ name: String, _ weight: Int = 1) -> [String] {
            slots[name] = queue.insert(UInt64(truncatingIfNeeded: name.hashValue), weight: weight)
            return evict()
        }

        mutating func evict() -> [String] {
            var gone: [String] = []
            while let slot = queue.evict() {
                guard let name = slots.first(where: { $0.value == slot })?.key else { continue }
                slots[name] = nil
                gone.append(name)
            }
            return gone
        }

        mutating func touch(_ name: String) { if let slot = slots[name] { queue.touch(slot) } }
    }

    @Test func nothingIsEvictedWithinTheLimit() {
        var store = Store(10)
        for number in 0..<10 { #expect(store.add("\(number)").isEmpty) }
        #expect(store.queue.weight == 10 && store.queue.count == 10)
    }

    @Test func unusedEntriesAreEvictedInOrder() {
        var store = Store(3)
        for name in ["a", "b", "c"] { store.add(name) }
        #expect(store.add("d") == ["a"])
        #expect(store.add("e") == ["b"])
    }

    @Test func reusedEntriesStay() {
        var store = Store(10)
        store.add("kept")
        store.touch("kept")
        for number in 0..<1000 { store.add("\(number)") }
        #expect(store.slots["kept"] != nil)
    }

    @Test func recentlyEvictedEntryIsPromoted() {
        var store = Store(10)
        for number in 0..<11 { store.add("\(number)") }
        #expect(store.slots["0"] == nil)
        store.add("0")
        for number in 100..<108 { store.add("\(number)") }
        #expect(store.slots["0"] != nil)
    }

    @Test func unusedEntryOfTheMainQueueIsEvictedLast() {
        var store = Store(10)
        for number in 0..<10 {
            store.add("old \(number)")
            store.touch("old \(number)")
        }
        for number in 0..<200 {
            store.add("new \(number)")
            store.touch("new \(number)")
        }
        #expect(!store.slots.keys.contains { $0.hasPrefix("old") })
    }

    @Test func largeEntryEvictsOthers() {
        var store = Store(10)
        for number in 0..<10 { store.add("\(number)") }
        #expect(store.add("large", 8).count == 8)
        #expect(store.queue.weight == 10)
        // An entry that is larger than the capacity is evicted immediately.
        store.add("larger", 11)
        #expect(store.queue.weight <= 10 && store.slots["larger"] == nil)
    }

    @Test func grownEntryEvictsOthers() throws {
        var store = Store(10)
        for number in 0..<10 { store.add("\(number)") }
        store.queue.change(try #require(store.slots["9"]), weight: 4)
        #expect(store.evict() == ["0", "1", "2"])
    }

    /// After every operation, the weights and counts match the entries, and eviction terminates.
    @Test(arguments: 1...5) func sumsAreConsistent(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = EvictionQueue(capacity: 500)
        var weights: [Int: Int] = [:]
        for _ in 0..<3000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let weight = Int.random(in: 0...60, using: &random)
                weights[queue.insert(UInt64.random(in: 0..<200, using: &random), weight: weight)] = weight
            case 5..<7: if let slot = weights.keys.randomElement(using: &random) { queue.touch(slot) }
            case 7:
                guard let slot = weights.keys.randomElement(using: &random) else { continue }
                queue.remove(slot)
                weights[slot] = nil
            case 8:
                guard let slot = weights.keys.randomElement(using: &random) else { continue }
                weights[slot] = Int.random(in: 0...60, using: &random)
                queue.change(slot, weight: weights[slot] ?? 0)
            default: break
            }
            var isSound = true
            while let slot = queue.evict() { isSound = weights.removeValue(forKey: slot) != nil && isSound }
            isSound = isSound && queue.weight <= 500 && queue.count == weights.count
            guard isSound, queue.weight == weights.values.reduce(0, +) else {
                Issue.record("seed \(seed)")
                return
            }
        }
    }

    // MARK: Against the order of last use

    enum Trace: String, CaseIterable { case zipf, wonders, scans, loop }

    @Test(arguments: Trace.allCases, [0.7, 0.8, 0.9, 1.0, 1.1])
    func hitRateExceedsLRU(_ trace: Trace, _ alpha: Double) {
        for share in [0.01, 0.1] {
            let (lru, own) = hitRatios(trace, alpha, share: share)
            let percent = { (ratio: Double) in "\((ratio * 1000).rounded() / 10) %" }
            print(
                "\(trace) alpha \(alpha), room for \(Int(share * 100)) %: LRU \(percent(lru)), S3-FIFO \(percent(own))"
            )
            #expect(own > lru)
        }
    }

    /// Requests objects of many sizes with a Zipf distribution, and returns the hit ratios.
    ///
    /// The trace `wonders` also has requests for objects that are requested only once, one third of all requests.
    /// `scans` also scans other objects. `loop` also loops over slightly more objects than the capacity.
    private func hitRatios(_ trace: Trace, _ alpha: Double, share: Double) -> (lru: Double, own: Double) {
        var random = SeededRandom(seed: 11)
        let count = 5000
        var sums: [Double] = []
        for rank in 1...count { sums.append((sums.last ?? 0) + pow(Double(rank), -alpha)) }
        func draw() -> Int {
            let point = Double.random(in: 0..<(sums.last ?? 1), using: &random)
            var range = 0..<count - 1
            while !range.isEmpty {
                let middle = (range.lowerBound + range.upperBound) / 2
                range = sums[middle] < point ? middle + 1..<range.upperBound : range.lowerBound..<middle
            }
            return range.lowerBound
        }
        func size(_ object: Int) -> Int { 200 + object &* 2_654_435_761 % 4096 }
        let capacity = Int(Double((0..<count).reduce(0) { $0 + size($1) }) * share)
        var lru = LastUse(capacity: capacity)
        var queue = EvictionQueue(capacity: capacity)
        var slots: [Int: Int] = [:]
        var objects: [Int: Int] = [:]
        var (all, hitsOfLRU, hits) = (0, 0, 0)
        func access(_ object: Int) {
            all += 1
            if lru.access(object, size(object)) { hitsOfLRU += 1 }
            if let slot = slots[object] {
                hits += 1
                return queue.touch(slot)
            }
            let slot = queue.insert(UInt64(object), weight: size(object))
            slots[object] = slot
            objects[slot] = object
            while let slot = queue.evict() {
                if let gone = objects.removeValue(forKey: slot) { slots[gone] = nil }
            }
        }
        for step in 0..<40_000 {
            let isWonder = trace == .wonders && Int.random(in: 0..<3, using: &random) == 0
            access(isWonder ? 1_000_000 + step : draw())
            guard step % 8000 == 7999 else { continue }
            if trace == .scans { for object in 0..<1500 { access(2_000_000 + step + object) } }
            if trace == .loop { for round in 0..<1500 { access(3_000_000 + round % Int(Double(count) * share * 1.2)) } }
        }
        return (Double(hitsOfLRU) / Double(all), Double(hits) / Double(all))
    }

    /// LRU, which the queue must outperform.
    private struct LastUse {
        let capacity: Int
        private var weight = 0
        private var clock = 0
        private var entries: [Int: (size: Int, used: Int)] = [:]
        /// Uses in order, including outdated ones.
        private var uses: [(object: Int, used: Int)] = []
        private var oldest = 0

        init(capacity: Int) { self.capacity = capacity }

        mutating func access(_ object: Int, _ size: Int) -> Bool {
            let isHit = entries[object] != nil
            clock += 1
            entries[object] = (size, clock)
            uses.append((object, clock))
            if !isHit { weight += size }
            while weight > capacity {
                let use = uses[oldest]
                oldest += 1
                guard let entry = entries[use.object], entry.used == use.used else { continue }
                entries[use.object] = nil
                weight -= entry.size
            }
            return isHit
        }
    }
}
