import NightjarHTTP

// The choice of credentials for a call of a client with several security schemes.

extension SecurityRequirement {
    /// Reads the name of a scheme, or a list of alternatives. An alternative is a scheme name, or an object that maps
    /// scheme names to lists of scopes. The schemes of one object are required together, as in OpenAPI.
    static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> [SecurityRequirement] {
        if case .string(let name) = value { return [SecurityRequirement(name)] }
        // An empty Lua table is encoded as an empty object, but means an empty list here.
        guard value != .object([]) else { return [] }
        guard case .array(let elements) = value else {
            throw .mismatch(path, expected: "a security scheme name or a list of alternatives", value)
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
            default: throw .mismatch(path, expected: "a scheme name, or a table of scope lists by scheme name", element)
            }
        }
        return ways
    }
}

extension Request {
    /// Reads the option `auth` of a call. `false` sends no credentials. A scheme name or a list of scheme names sends
    /// the credentials of these schemes.
    mutating func readAuth(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): (usesAuth, schemes) = (flag, [])
        case .string(let name): (usesAuth, schemes) = (true, [name])
        case .array: (usesAuth, schemes) = (true, try value.texts(path))
        default:
            throw .mismatch(
                path, expected: "true, false, a security scheme name or a list of security scheme names", value)
        }
    }
}
