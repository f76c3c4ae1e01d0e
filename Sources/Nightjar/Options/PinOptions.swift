import NightjarHTTP

extension Pinning {
    /// Reads pins by host pattern. The pins of a pattern are a list, or an object with the list and a date:
    /// `{pins=, report_only_after=}`.
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init()
        if case .null = value { return }
        guard case .object(let members) = value else {
            throw .mismatch(path, expected: "a table of host patterns and pins", value)
        }
        for member in members {
            let pattern = try HostPattern(member.name)
            pins[pattern] = try Pins(option: member.value, "\(path).\(member.name)")
        }
    }
}

extension Pinning.Pins {
    /// The options of a pattern before they are checked together.
    private struct Values {
        var pins: [Pinning.Pin] = []
        var reportOnlyAfter: Timestamp?
    }

    private static let options = OptionTable<Values>([
        Option(name: "pins") { value, path, values throws(NightjarError) in
            values.pins = try pins(value, path)
        },
        Option(name: "report_only_after") { value, path, values throws(NightjarError) in
            let text = try value.text(path)
            values.reportOnlyAfter = try naming(path) { () throws(NightjarError) in try date(text) }
        },
    ])

    fileprivate init(option value: JSONValue, _ path: String) throws(NightjarError) {
        var values = Values()
        if case .array = value {
            values.pins = try Self.pins(value, path)
        } else {
            try Self.options.apply(value, at: path, to: &values)
        }
        let (pins, date) = (values.pins, values.reportOnlyAfter)
        self = try Self.naming(path) { () throws(NightjarError) in try Self(pins, reportOnlyAfter: date) }
    }

    private static func pins(_ value: JSONValue, _ path: String) throws(NightjarError) -> [Pinning.Pin] {
        var pins: [Pinning.Pin] = []
        for text in try value.texts(path) {
            pins.append(try naming(path) { () throws(NightjarError) in try Pinning.Pin(text) })
        }
        return pins
    }

    /// Adds the option's name to the message of an error.
    private static func naming<Value>(
        _ path: String, _ body: () throws(NightjarError) -> Value
    ) throws(NightjarError) -> Value {
        do throws(NightjarError) {
            return try body()
        } catch {
            throw NightjarError(.invalidArgument, "option \(quoted(path)): \(error.message)")
        }
    }
}
