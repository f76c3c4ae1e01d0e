/// Returns the known name with the smallest edit distance to `name`, to suggest it in an error message.
///
/// - Returns: nil if `known` is empty, or if the distance exceeds both 2 and a third of the known name's length in
///   bytes.
public func nearestName(to name: String, among known: [String]) -> String? {
    let wanted = Array(name.utf8.prefix(64))
    let ranked = known.map { (name: $0, distance: changes(from: wanted, to: Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(2, best.name.utf8.count / 3) ? best.name : nil
}

/// Returns the edit distance of two names: the number of insertions, deletions, substitutions and swaps of adjacent
/// bytes (optimal string alignment).
private func changes(from a: [UInt8], to b: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in 0..<a.count {
        var row = [i + 1]
        for j in 0..<b.count {
            var cost = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
            row.append(cost)
        }
        beforeLast = last
        last = row
    }
    return last[b.count]
}
