/// Reads the fields of a JSON object in a request and collects the errors.
///
/// Null and a missing field are equivalent, because a merge patch has already been applied.
struct Fields {
    private let document: JSON
    private var faults: [Problem.Fault] = []

    /// - Parameters:
    ///   - readOnly: fields that the server sets. They are ignored, because a client may send back an object that it
    ///     has received.
    init(_ document: JSON, known: [String], readOnly: [String]) {
        self.document = document
        guard case .object(let members) = document else { return }
        for member in members where !known.contains(member.name) && !readOnly.contains(member.name) {
            let names = known.joined(separator: ", ")
            refuse(member.name, "is not a field that can be set; set one of \(names)")
        }
    }

    /// Throws a 422 problem with all errors that were found, if any.
    func check() throws(Problem) {
        guard faults.isEmpty else { throw Problem.invalid(faults) }
    }

    mutating func refuse(_ name: String, _ detail: String) {
        let escaped = name.flatMap { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }
        faults.append(Problem.Fault(place: .body(pointer: "/" + String(escaped)), detail: detail))
    }

    // MARK: Reading

    /// Reads a string of 1 to `limit` characters that is not blank.
    mutating func text(_ name: String, limit: Int) -> String {
        guard let text = optionalText(name, limit: limit) else {
            if isAbsent(name) { refuse(name, "is required") }
            return ""
        }
        if text.allSatisfy(\.isWhitespace) { refuse(name, "must not be empty") }
        return text
    }

    mutating func optionalText(_ name: String, limit: Int) -> String? {
        guard !isAbsent(name), let value = document[name] else { return nil }
        guard case .string(let text) = value else {
            refuse(name, "must be a string, not \(value.kind)")
            return nil
        }
        if text.count > limit { refuse(name, "must have at most \(limit) characters") }
        return text
    }

    mutating func flag(_ name: String, or fallback: Bool) -> Bool {
        guard !isAbsent(name), let value = document[name] else { return fallback }
        guard case .bool(let flag) = value else {
            refuse(name, "must be true or false, not \(value.kind)")
            return fallback
        }
        return flag
    }

    /// Reads the identifier of an existing row.
    mutating func id(_ name: String, of what: String, exists: (Int) -> Bool) -> Int {
        guard !isAbsent(name), let value = document[name] else {
            refuse(name, "is required")
            return 0
        }
        guard case .integer(let number) = value, let id = Int(exactly: number) else {
            refuse(name, "must be a whole number, not \(value.kind)")
            return 0
        }
        if !exists(id) { refuse(name, "there is no \(what) \(id)") }
        return id
    }

    mutating func texts(_ name: String, limit: Int, textLimit: Int) -> [String] {
        guard !isAbsent(name), let value = document[name] else { return [] }
        guard case .array(let values) = value else {
            refuse(name, "must be an array of strings, not \(value.kind)")
            return []
        }
        if values.count > limit { refuse(name, "must have at most \(limit) entries") }
        var texts: [String] = []
        for (index, value) in values.prefix(limit).enumerated() {
            guard case .string(let text) = value, !text.isEmpty, text.count <= textLimit else {
                faults.append(
                    Problem.Fault(
                        place: .body(pointer: "/\(name)/\(index)"),
                        detail: "must be a string of 1 to \(textLimit) characters"))
                continue
            }
            texts.append(text)
        }
        return texts
    }

    private func isAbsent(_ name: String) -> Bool {
        document[name] == nil || document[name] == .null
    }
}

extension Request {
    /// Applies a PATCH to `current` (RFC 7396). An absent field keeps its value, and null removes the value.
    func patched(_ current: JSON) throws(Problem) -> JSON {
        current.merging(try jsonObject(types: ["application/merge-patch+json", "application/json"]))
    }
}
