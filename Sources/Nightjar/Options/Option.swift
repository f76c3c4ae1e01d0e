import NightjarHTTP

/// One option as it was written: its full path for messages, and its value.
///
/// Each reader throws ``ErrorKind/invalidArgument`` that says what was wanted and what was found.
struct Option {
    /// "timeout.connect"
    let path: String
    /// "connect"
    let name: String
    let value: JSONValue

    init(_ member: JSONValue.Member, inside parent: String? = nil) {
        path = parent.map { "\($0).\(member.name)" } ?? member.name
        name = member.name
        value = member.value
    }

    /// The options inside this object.
    func members(_ wanted: String) throws(NightjarError) -> [Option] {
        guard case .object(let members) = value else { throw wrong(wanted) }
        return members.map { Option($0, inside: path) }
    }

    /// The known option that this one's name says.
    func known<Name>(as: Name.Type) throws(NightjarError) -> Name
    where Name: RawRepresentable<String> & CaseIterable {
        if let option = Name(rawValue: name) { return option }
        let known = Name.allCases.map(\.rawValue)
        let advice =
            if let nearest = nearestName(to: name, among: known) {
                "did you mean \"\(nearest)\"?"
            } else {
                "known are \(known.joined(separator: ", "))"
            }
        throw NightjarError(.invalidArgument, "unknown option \(quoted(path)); \(advice)")
    }

    func string(_ wanted: String = "a string") throws(NightjarError) -> String {
        guard let text = value.string else { throw wrong(wanted) }
        return text
    }

    func bool() throws(NightjarError) -> Bool {
        guard let bool = value.bool else { throw wrong("true or false") }
        return bool
    }

    func integer(in range: ClosedRange<Int>) throws(NightjarError) -> Int {
        let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard let number = value.int, range.contains(number) else { throw wrong(wanted) }
        return number
    }

    func duration() throws(NightjarError) -> Duration {
        guard let seconds = value.double else { throw wrong("a number of seconds") }
        guard let duration = Duration(seconds: seconds) else {
            throw wrong("a number of seconds from 0 to 3155760000 (100 years)")
        }
        return duration
    }

    /// Nil: no limit, written as null, or as false where null is hard to write (a Lua table).
    func limit() throws(NightjarError) -> Duration? {
        isNone ? nil : try duration()
    }

    /// A number of bytes, or text with a unit: "64KB". Units are powers of 1024.
    func byteCount() throws(NightjarError) -> Int {
        let wanted = "a number of bytes or a size like \"20MB\""
        switch value {
        case .string(let text):
            guard let count = Option.byteCount(text) else { throw wrong(wanted) }
            return count
        default:
            guard let count = value.int, count >= 0 else { throw wrong(wanted) }
            return count
        }
    }

    /// Written as null or false: the option is taken away.
    var isNone: Bool { value == .null || value == .bool(false) }

    func wrong(_ wanted: String) -> NightjarError {
        NightjarError(.invalidArgument, "option \(quoted(path)) must be \(wanted), found \(found)")
    }

    /// A number is told as such, because its size may be the fault; anything else by its type, because it may be a secret.
    private var found: String {
        switch value {
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .number(let number): "\(number)"
        case .bool(let value): "\(value)"
        default: value.typeName
        }
    }

    private static func byteCount(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isWholeNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = Int(digits), let shift = units[unit.uppercased()] else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
        return overflow ? nil : bytes
    }

    private static let units = ["": 0, "B": 0, "KB": 10, "MB": 20, "GB": 30, "KIB": 10, "MIB": 20, "GIB": 30]
}
