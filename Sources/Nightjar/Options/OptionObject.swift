import NightjarHTTP

/// A JSON object whose names are options: read by type, each name once, with messages that tell where.
struct OptionObject {
    /// Names from the outermost object on, as in "timeout.total"; empty at the top.
    private let path: String
    private let members: [JSONValue.Member]

    /// - Parameters:
    ///   - known: the names that may occur.
    ///   - later: names that the design has and this version has not.
    /// - Throws: `invalid_argument` for another name, or one that occurs twice.
    init(
        _ value: JSONValue, path: String = "", known: [String], later: [String] = []
    ) throws(NightjarError) {
        guard case .object(let members) = value else {
            throw OptionObject.mismatch(path.isEmpty ? "the options" : "option \"\(path)\"", "an object", value)
        }
        self.path = path
        self.members = members
        var seen: Set<String> = []
        for member in members {
            let name = qualified(member.name)
            guard known.contains(member.name) else {
                throw OptionObject.unknown(member.name, name, known: known, later: later)
            }
            guard seen.insert(member.name).inserted else {
                throw NightjarError(.invalidArgument, "option \"\(name)\" is given twice")
            }
        }
    }

    /// The option's value and its full name; nil where it is not given or null.
    private func find(_ name: String) -> (value: JSONValue, name: String)? {
        guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
        return (value, qualified(name))
    }

    private func qualified(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    func value(_ name: String) -> JSONValue? { find(name)?.value }

    func string(_ name: String) throws(NightjarError) -> String? {
        guard let (value, name) = find(name) else { return nil }
        guard case .string(let text) = value else {
            throw OptionObject.mismatch("option \"\(name)\"", "a string", value)
        }
        return text
    }

    func bool(_ name: String) throws(NightjarError) -> Bool? {
        guard let (value, name) = find(name) else { return nil }
        guard case .bool(let flag) = value else {
            throw OptionObject.mismatch("option \"\(name)\"", "a boolean", value)
        }
        return flag
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(NightjarError) -> Int? {
        guard let (value, name) = find(name) else { return nil }
        let number: Int? =
            switch value {
            case .integer(let number): Int(exactly: number)
            case .number(let number): Int(exactly: number)
            default: nil
            }
        guard let number, range.contains(number) else {
            let limits =
                range.upperBound == .max
                ? "from \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            throw OptionObject.mismatch("option \"\(name)\"", "an integer \(limits)", value)
        }
        return number
    }

    func seconds(_ name: String) throws(NightjarError) -> Duration? {
        guard let (value, name) = find(name) else { return nil }
        return try OptionObject.seconds(value, name)
    }

    /// - Throws: also for what is no length of time.
    static func seconds(_ value: JSONValue, _ name: String) throws(NightjarError) -> Duration {
        let number: Double? =
            switch value {
            case .integer(let number): Double(number)
            case .number(let number): number
            default: nil
            }
        guard let number, let duration = Duration(seconds: number) else {
            throw mismatch("option \"\(name)\"", "a number of seconds from 0 to 100 years", value)
        }
        return duration
    }

    /// Names and texts, in their order.
    func strings(_ name: String) throws(NightjarError) -> [(name: String, value: String)]? {
        guard let (value, name) = find(name) else { return nil }
        guard case .object(let members) = value else {
            throw OptionObject.mismatch("option \"\(name)\"", "an object", value)
        }
        var pairs: [(name: String, value: String)] = []
        for member in members {
            guard case .string(let text) = member.value else {
                throw OptionObject.mismatch("option \"\(name).\(member.name)\"", "a string", member.value)
            }
            pairs.append((member.name, text))
        }
        return pairs
    }

    private static func mismatch(_ what: String, _ wanted: String, _ value: JSONValue) -> NightjarError {
        let got: String =
            switch value {
            case .integer(let number): "\(number)"
            case .unsigned(let number): "\(number)"
            case .number(let number): "\(number)"
            default: value.typeName
            }
        return NightjarError(.invalidArgument, "\(what) must be \(wanted), got \(got)")
    }

    private static func unknown(_ name: String, _ full: String, known: [String], later: [String]) -> NightjarError {
        if later.contains(name) {
            return NightjarError(.invalidArgument, "option \"\(full)\" is not in version \(Version.string) yet")
        }
        let nearest = NearestName.of(name, among: known + later).map { "; did you mean \"\($0)\"?" }
        return NightjarError(
            .invalidArgument,
            "unknown option \(quoted(full))\(nearest ?? "; known are \(known.joined(separator: ", "))")")
    }
}
