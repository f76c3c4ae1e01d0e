import NightjarHTTP

/// One option: its name, and a closure that applies its value.
struct Option<Target>: Sendable {
    let name: String
    /// - Parameter path: The option's full name, for messages.
    let apply: @Sendable (_ value: JSONValue, _ path: String, _ target: inout Target) throws(NightjarError) -> Void
}

/// The options of one table. A table can contain further tables.
struct OptionTable<Target>: Sendable {
    let options: [Option<Target>]

    init(_ options: [Option<Target>]) { self.options = options }

    /// Returns `target` with all options of a document applied.
    func applied(_ document: JSONValue, at path: String = "", to target: Target) throws(NightjarError) -> Target {
        var changed = target
        try apply(document, at: path, to: &changed)
        return changed
    }

    /// - Throws: `invalid_argument` for an unknown name (with the nearest known name) or a value of the wrong type.
    func apply(_ value: JSONValue, at path: String, to target: inout Target) throws(NightjarError) {
        guard case .object(let members) = value else { throw .mismatch(path, expected: "a table of options", value) }
        for member in members {
            let full = path.isEmpty ? member.name : "\(path).\(member.name)"
            guard let option = options.first(where: { $0.name == member.name }) else {
                throw unknown(member.name, full)
            }
            try option.apply(member.value, full, &target)
        }
    }

    /// Returns the same options for a value that contains the target.
    func lifted<Outer>(to part: WritableKeyPath<Outer, Target> & Sendable) -> [Option<Outer>] {
        options.map { option in
            Option<Outer>(name: option.name) { value, path, outer throws(NightjarError) in
                try option.apply(value, path, &outer[keyPath: part])
            }
        }
    }

    private func unknown(_ name: String, _ full: String) -> NightjarError {
        let hint = nearestName(to: name, among: options.map(\.name)).map { "; did you mean \"\($0)\"?" }
        let all = options.map(\.name).joined(separator: ", ")
        return NightjarError(
            .invalidArgument, "unknown option \(quoted(full))" + (hint ?? "; the known options are \(all)"))
    }
}

extension NightjarError {
    static func mismatch(_ path: String, expected: String, _ found: JSONValue) -> NightjarError {
        let place = path.isEmpty ? "the options" : "option \(quoted(path))"
        return NightjarError(.invalidArgument, "\(place) must be \(expected), found \(found.typeName)")
    }
}

extension JSONValue {
    func text(_ path: String) throws(NightjarError) -> String {
        guard case .string(let text) = self else { throw .mismatch(path, expected: "a string", self) }
        return text
    }

    /// Reads a list of strings. Lua encodes an empty list as an object.
    func texts(_ path: String) throws(NightjarError) -> [String] {
        if isEmptyTable { return [] }
        guard case .array(let items) = self else { throw .mismatch(path, expected: "a list of strings", self) }
        var texts: [String] = []
        for (index, item) in items.enumerated() { texts.append(try item.text("\(path)[\(index + 1)]")) }
        return texts
    }

    /// Whether the value is an empty object, which can be an empty list of Lua.
    var isEmptyTable: Bool {
        if case .object(let members) = self { members.isEmpty } else { false }
    }

    func flag(_ path: String) throws(NightjarError) -> Bool {
        guard case .bool(let flag) = self else { throw .mismatch(path, expected: "true or false", self) }
        return flag
    }

    /// Reads a timeout in seconds. 0 and false mean unlimited; null means not set and returns nil.
    func limit(_ path: String) throws(NightjarError) -> Duration? {
        switch self {
        case .null: return nil
        case .bool(false): return Timeouts.unlimited
        case .integer, .unsigned, .number: return try duration(path)
        default: throw .mismatch(path, expected: "a number of seconds, false or null", self)
        }
    }

    func duration(_ path: String) throws(NightjarError) -> Duration {
        let seconds: Double
        switch self {
        case .integer(let number): seconds = Double(number)
        case .unsigned(let number): seconds = Double(number)
        case .number(let number): seconds = number
        default: throw .mismatch(path, expected: "a number of seconds", self)
        }
        guard let duration = Duration(seconds: seconds) else { throw .duration(path, seconds) }
        return duration
    }

    func count(_ path: String, in range: ClosedRange<Int>) throws(NightjarError) -> Int {
        if case .unsigned(let number) = self {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must be between \(range.lowerBound) and \(range.upperBound), got \(number)")
        }
        guard case .integer(let number) = self else { throw .mismatch(path, expected: "an integer", self) }
        guard let count = Int(exactly: number), range.contains(count) else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must be between \(range.lowerBound) and \(range.upperBound), got \(number)")
        }
        return count
    }

    /// Reads a number of bytes like ``size(_:)``, at most `largest`.
    func size(_ path: String, atMost largest: Int) throws(NightjarError) -> Int {
        let size = try size(path)
        guard size <= largest else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must be between 0 and \(largest) bytes, got \(size)")
        }
        return size
    }

    /// Reads a number of bytes: 65536, or "64KB", "20MB", "1GB" with a factor of 1024.
    func size(_ path: String) throws(NightjarError) -> Int {
        if case .integer = self { return try count(path, in: 0...Int.max) }
        guard case .string(let text) = self else { throw .mismatch(path, expected: "a number of bytes", self) }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).uppercased()
        let shift = ["": 0, "B": 0, "KB": 10, "MB": 20, "GB": 30][unit]
        guard let shift, let number = Int(digits), number <= Int.max >> shift else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is \(quoted(text)), which is not a valid size; write 65536, \"64KB\", "
                    + "\"20MB\" or \"1GB\""
            )
        }
        return number << shift
    }
}
