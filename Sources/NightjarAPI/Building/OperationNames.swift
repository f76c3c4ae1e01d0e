import NightjarHTTP

/// Assigns a unique name to each operation.
struct OperationNames {
    private var taken = ExactSet()
    /// The next suffix to try for a name that is already taken.
    private var next = ExactDictionary<Int>()

    /// The maximum length of an `operationId` in bytes. Real APIs use at most about 100 bytes.
    private static let maximumLength = 256

    /// Returns the `operationId` unchanged, even if it is not ASCII. If the `operationId` is missing or unusable,
    /// derives a name from the method and the path. Appends a number if the name is taken.
    ///
    /// - Returns: the name, and a note if the `operationId` could not be used.
    mutating func name(_ id: String?, _ method: String, _ path: String) -> (name: String, note: String?) {
        let made = OperationNames.made(method, path)
        guard let id, !id.isEmpty else { return (unique(made), nil) }
        guard id.utf8.count <= OperationNames.maximumLength,
            id.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            let name = unique(made)
            return (name, "the operationId \(quoted(id)) is not a valid name; using \(name)")
        }
        let name = unique(id)
        if name.isExactly(id) { return (name, nil) }
        return (name, "the operationId \(quoted(id)) is already used by another operation; using \(name)")
    }

    private mutating func unique(_ name: String) -> String {
        if taken.insert(name) { return name }
        var number = next[name] ?? 2
        while !taken.insert("\(name)_\(number)") { number += 1 }
        next[name] = number + 1
        return "\(name)_\(number)"
    }

    /// Converts `GET /users/{id}` to an identifier: `get_users_id`.
    static func made(_ method: String, _ path: String) -> String {
        var name = Array(method.utf8)
        var startsWord = true
        for byte in path.utf8 {
            guard ASCII.isDigit(byte) || ASCII.lowercase(byte) &- UInt8(ascii: "a") < 26 else {
                startsWord = true
                continue
            }
            if startsWord { name.append(UInt8(ascii: "_")) }
            startsWord = false
            name.append(byte)
        }
        return String(decoding: name, as: UTF8.self)
    }
}
