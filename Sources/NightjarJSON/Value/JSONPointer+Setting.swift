import NIOCore

extension JSONPointer {
    /// Returns the JSON text `document` with `value` at the pointer. Objects that are missing are created.
    ///
    /// - Throws: `invalid_argument` if the text is not JSON, or if a value on the way is not an object.
    package func setting(_ value: JSONValue, in document: ByteBuffer) throws(NightjarError) -> ByteBuffer {
        var root: JSONValue
        do throws(NightjarError) {
            root = try document.withUnsafeReadableBytes { bytes in
                Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
            }.get()
        } catch {
            guard error.kind == .decoding else { throw error }
            throw NightjarError(.invalidArgument, "the body is \(error.message)")
        }
        try set(value, in: &root, tokens[...])
        return try root.encoded()
    }

    private func set(
        _ value: JSONValue, in target: inout JSONValue, _ rest: ArraySlice<String>
    ) throws(NightjarError) {
        guard let token = rest.first else { return target = value }
        let isNew = target == .null
        guard case .object(var members) = isNew ? .object([]) : target else {
            throw NightjarError(
                .invalidArgument,
                "the JSON text has \(target.typeName) where \(quoted(description)) requires an object")
        }
        let place: Int
        if let found = members.firstIndex(where: { $0.name.isExactly(token) }) {
            place = found
        } else {
            place = members.count
            members.append(Member(token, .null))
        }
        try set(value, in: &members[place].value, rest.dropFirst())
        target = .object(members)
    }
}

private typealias Member = JSONValue.Member
