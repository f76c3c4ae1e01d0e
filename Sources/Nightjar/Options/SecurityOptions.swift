import NightjarHTTP

// Which credentials a call carries, of a client that has them by scheme.

extension SecurityRequirement {
    /// The name of a scheme, or a list of ways in: names, and objects of lists of scopes by name, whose schemes are needed
    /// together, as in OpenAPI.
    static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> [SecurityRequirement] {
        if case .string(let name) = value { return [SecurityRequirement(name)] }
        // An empty table of Lua may be either.
        guard value != .object([]) else { return [] }
        guard case .array(let elements) = value else {
            throw .mismatch(path, wanted: "the name of a security scheme or a list of them", value)
        }
        var ways: [SecurityRequirement] = []
        for (index, element) in elements.enumerated() {
            let path = "\(path)[\(index + 1)]"
            switch element {
            case .string(let name): ways.append(SecurityRequirement(name))
            case .array([]): ways.append(SecurityRequirement())
            case .object(let members):
                var way = SecurityRequirement()
                for member in members {
                    let scopes = member.value == .object([]) ? [] : try member.value.texts("\(path).\(member.name)")
                    way.schemes.append(Use(member.name, scopes: scopes))
                }
                ways.append(way)
            default: throw .mismatch(path, wanted: "a name, or a table of lists of scopes by name", element)
            }
        }
        return ways
    }
}

extension Request {
    /// False: none of the client's; a name or a list of names: those, together.
    mutating func readAuth(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): (usesAuth, schemes) = (flag, [])
        case .string(let name): (usesAuth, schemes) = (true, [name])
        case .array: (usesAuth, schemes) = (true, try value.texts(path))
        default: throw .mismatch(path, wanted: "true, false, or the name of a security scheme or a list of them", value)
        }
    }
}
