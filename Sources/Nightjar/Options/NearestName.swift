/// Finds what somebody may have meant who wrote a name that is not known.
public enum NearestName {
    /// - Returns: the known name that differs least; nil when all differ in more than a third of their letters.
    public static func of(_ name: String, among known: [String]) -> String? {
        let letters = Array(name.utf8.prefix(longest))
        var best: (name: String, distance: Int)?
        for candidate in known {
            let distance = distance(letters, Array(candidate.utf8))
            if distance <= max(1, candidate.utf8.count / 3), distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// Letters added, left out, replaced or swapped with their neighbour: how slips of the hand count.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (lower(a[i]) == lower(b[j]) ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, beforeLast[j - 1] + 1) }
                row.append(least)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }

    private static func lower(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "-") ? UInt8(ascii: "_") : byte | 0x20 }

    /// Bytes of an unknown name that are looked at: longer than any known one, and a bound for what a stranger sends.
    private static let longest = 64
}
