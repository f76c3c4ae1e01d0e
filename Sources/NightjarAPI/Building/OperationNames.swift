import NightjarHTTP

/// Names for operations, each once.
struct OperationNames {
    private var taken = ExactSet()
    /// The number to try next where a name is taken.
    private var next = ExactDictionary<Int>()

    /// Bytes of an `operationId`. The longest of real APIs have about 100.
    private static let maximumLength = 256

    /// The operation's own name as it is, which may hold any letters; where it has none that can be written, one made
    /// of its method and path.
    ///
    /// - Returns: a note where it is not the operation's own.
    mutating func name(_ id: String?, _ method: String, _ path: String) -> (name: String, note: String?) {
        let made = OperationNames.made(method, path)
        guard let id, !id.isEmpty else { return (unique(made), nil) }
        guard id.utf8.count <= OperationNames.maximumLength,
            id.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            let name = unique(made)
            return (name, "its operationId \(quoted(id)) is no name; it is called \(name)")
        }
        let name = unique(id)
        if name.isExactly(id) { return (name, nil) }
        return (name, "its operationId \(quoted(id)) is another operation's too; it is called \(name)")
    }

    private mutating func unique(_ name: String) -> String {
        if taken.insert(name) { return name }
        var number = next[name] ?? 2
        while !taken.insert("\(name)_\(number)") { number += 1 }
        next[name] = number + 1
        return "\(name)_\(number)"
    }

    /// `GET /users/{id}` as an identifier: `get_users_id`.
    static func made(_ method: String, _ path: String) -> String {
        var name = Array(method.utf8)
        var isBehindGap = true
        for byte in path.utf8 {
            guard ASCII.isDigit(byte) || ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 else {
                isBehindGap = true
                continue
            }
            if isBehindGap { name.append(UInt8(ascii: "_")) }
            isBehindGap = false
            name.append(byte)
        }
        return String(decoding: name, as: UTF8.self)
    }
}
