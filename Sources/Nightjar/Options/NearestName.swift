/// The name among `known` that someone who wrote `name` most likely meant; nil when none is near enough to suggest.
///
/// Case, "-" and "_" do not count, so "baseUrl" finds "base_url". What is left may differ by a third of its letters, or one
/// may begin with the other ("verify_peer" finds "verify").
public func nearestName(to name: some StringProtocol, among known: some Sequence<String>) -> String? {
    // Longer than any name of ours with every letter wrong; keeps the work for a hostile name small.
    guard name.utf8.count <= 64 else { return nil }
    let wanted = letters(of: name)
    guard !wanted.isEmpty else { return nil }
    let tolerated = max(1, wanted.count / 3)

    var nearest: (name: String, distance: Int)?
    for candidate in known {
        let other = letters(of: candidate)
        var distance = editDistance(wanted, other)
        let common = min(wanted.count, other.count)
        if common >= 3, wanted.starts(with: other) || other.starts(with: wanted) { distance = min(distance, tolerated) }
        guard distance <= tolerated, distance < nearest?.distance ?? .max else { continue }
        nearest = (candidate, distance)
    }
    return nearest?.name
}

private func letters(of name: some StringProtocol) -> [UInt8] {
    name.utf8.compactMap { byte in
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "_"): nil
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        default: byte
        }
    }
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal string alignment).
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for (i, letter) in a.enumerated() {
        var row = [i + 1]
        row.reserveCapacity(b.count + 1)
        for (j, other) in b.enumerated() {
            var cost = min(last[j] + (letter == other ? 0 : 1), last[j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, letter == b[j - 1], a[i - 1] == other { cost = min(cost, beforeLast[j - 1] + 1) }
            row.append(cost)
        }
        beforeLast = last
        last = row
    }
    return last[b.count]
}
