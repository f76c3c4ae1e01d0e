/// Finds the line and column of a value in a JSON text. Positions are needed only for messages, so computing them costs
/// less than storing them.
enum JSONPosition {
    /// - Parameters:
    ///   - number: the position of the value or name among all values and names, counted from 0 in document order.
    ///   - source: a valid JSON text.
    /// - Returns: line and column counted from 1, the column in characters. The end of the text if `number` is too
    ///   large.
    static func find(_ number: Int, in source: [UInt8]) -> (line: Int, column: Int) {
        var left = number
        var at = source.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        scan: while at < source.count {
            switch source[at] {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if left == 0 { break scan }
                left -= 1
                at += 1
            case UInt8(ascii: "\""):
                if left == 0 { break scan }
                left -= 1
                at = end(ofStringAt: at, in: source)
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
                at += 1
            default:
                if left == 0 { break scan }
                left -= 1
                while at < source.count, !isEnd(source[at]) { at += 1 }
            }
        }
        let before = source[..<min(at, source.count)]
        let line = before.count { $0 == 0x0A } + 1
        let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return (line, String(decoding: before[start...], as: UTF8.self).unicodeScalars.count { $0 != "\u{FEFF}" } + 1)
    }

    /// The line and column of a value, counted from 1.
    struct Place {
        let line: UInt32
        let column: UInt16
    }

    /// Returns the positions of the first `count` values and names in document order, in one pass.
    ///
    /// - Parameter source: as for ``find(_:in:)``.
    static func all(in source: [UInt8], count: Int) -> [Place] {
        var places: [Place] = []
        places.reserveCapacity(count)
        var at = source.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var line = 1
        /// The start of a part of the line, and the number of characters before it.
        var (start, before) = (at, 0)
        while at < source.count, places.count < count {
            let first = at
            switch source[at] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): at += 1
            case UInt8(ascii: "\""): at = end(ofStringAt: at, in: source)
            case 0x0A:
                at += 1
                line += 1
                (start, before) = (at, 0)
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0D:
                at += 1
                continue
            default: while at < source.count, !isEnd(source[at]) { at += 1 }
            }
            // Each byte of the line is counted once.
            before += source[start..<first].count { $0 & 0xC0 != 0x80 }
            start = first
            places.append(Place(line: UInt32(clamping: line), column: UInt16(clamping: before + 1)))
        }
        return places
    }

    private static func end(ofStringAt start: Int, in source: [UInt8]) -> Int {
        var at = start + 1
        while at < source.count, source[at] != UInt8(ascii: "\"") { at += source[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return at + 1
    }

    /// Returns true for a byte that ends a number or a literal.
    private static func isEnd(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D: true
        default: false
        }
    }
}
