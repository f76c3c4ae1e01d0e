extension JSONSchemaChecker {
    /// A value that is not as a schema has it.
    struct Failure {
        var mismatch: JSONMismatch
        /// Where it was of none of these types.
        var types: JSONSchema.Types?
        /// Whether it tells which schema of a list it is of.
        var namesBranch = false
    }

    /// Notes a failure.
    ///
    /// - Parameters:
    ///   - name: of a member that the path ends with.
    ///   - ofTop: it is of the value of the schema on top of the stack, and not of what was about to be laid on that.
    /// - Returns: false.
    mutating func fails(
        _ expected: @autoclosure () -> String, _ found: @autoclosure () -> String, at name: String? = nil,
        types: JSONSchema.Types? = nil, ofTop: Bool = false
    ) -> Bool {
        guard tells else { return false }
        var tokens = path(ofTop ? frames.count - 1 : frames.count)
        if let name { tokens.append(name) }
        failure = Failure(
            mismatch: JSONMismatch(path: JSONPointer(tokens: tokens), expected: expected(), found: found()),
            types: types)
        return false
    }

    /// The failure is of a name and not of a value.
    mutating func nameTheName() {
        guard let mismatch = failure?.mismatch else { return }
        failure?.types = nil
        failure?.mismatch = JSONMismatch(
            path: mismatch.path, expected: "a member whose name is \(mismatch.expected)", found: mismatch.found)
    }

    /// Puts in words that the wrong number of schemas of `anyOf` or `oneOf` fits.
    mutating func tell(
        of attempts: [Attempt], _ count: Int, _ top: Int, _ discriminator: JSONSchema.Discriminator?
    ) {
        let keyword = frames[top].stage == .oneOf ? "oneOf" : "anyOf"
        let value = frames[top].value
        let fitting = attempts.filter { $0.failure == nil }.map { String($0.branch + 1) }
        guard fitting.isEmpty else {
            _ = fails(
                "a value that fits one of the \(count) schemas of \"oneOf\"",
                "one that fits \(fitting.prefix(8).joined(separator: ", "))", ofTop: true)
            return
        }
        if let discriminator, !discriminator.names.isEmpty, case .object = value {
            let named = value[discriminator.property]
            let isShown = mayShowValue && !Redaction.isSecret(name: discriminator.property[...].utf8)
            let found = named.map { isShown ? JSONSchemaChecker.short($0) : $0.typeName } ?? "nothing"
            let known = discriminator.names.map { JSONValue.string($0) }
            var tokens = path(top)
            tokens.append(discriminator.property)
            failure = Failure(
                mismatch: JSONMismatch(
                    path: JSONPointer(tokens: tokens), expected: JSONSchemaChecker.list(known), found: found))
            return
        }
        let own = path(top).count
        let far = attempts.filter { $0.failure?.types == nil || $0.failure?.mismatch.path.tokens.count ?? 0 > own }
        if far.isEmpty {
            let types = attempts.reduce(into: JSONSchema.Types()) { $0.formUnion($1.failure?.types ?? []) }
            _ = fails(types.phrase, value.typeName, types: types, ofTop: true)
            return
        }
        // Deepest, and of those the first.
        guard
            let nearest = far.max(by: {
                ($0.failure?.mismatch.path.tokens.count ?? 0, -$0.branch)
                    < ($1.failure?.mismatch.path.tokens.count ?? 0, -$1.branch)
            }), var told = nearest.failure
        else { return }
        if !told.namesBranch, count > 1 {
            let expected = "\(told.mismatch.expected) (by schema \(nearest.branch + 1) of \(count) in \"\(keyword)\")"
            told.mismatch = JSONMismatch(path: told.mismatch.path, expected: expected, found: told.mismatch.found)
        }
        failure = Failure(mismatch: told.mismatch, types: nil, namesBranch: true)
    }

    func exhaustion(_ allowance: Int) -> JSONMismatch {
        return JSONMismatch(
            path: JSONPointer(tokens: path(frames.count)),
            expected: isTooDeep
                ? "at most \(JSONSchemaChecker.maximumDepth) schemas within each other"
                : "what can be checked in \(allowance) steps",
            found: "more")
    }

    /// The way to what is about to be checked by a frame's schema.
    private func path(_ count: Int) -> [String] {
        frames.prefix(max(0, count)).compactMap { frame in
            switch (frame.stage, frame.value) {
            case (.elements, .array), (.contains, .array), (.unevaluatedElements, .array): String(frame.index)
            case (.members, .object(let members)), (.names, .object(let members)),
                (.unevaluatedMembers, .object(let members)):
                frame.index < members.count ? members[frame.index].name : nil
            default: nil
            }
        }
    }

    /// Whether no name on the way here is one of a secret.
    var mayShowValue: Bool {
        frames.allSatisfy { frame in
            switch (frame.stage, frame.value) {
            case (.members, .object(let members)), (.unevaluatedMembers, .object(let members)):
                frame.index >= members.count || !Redaction.isSecret(name: members[frame.index].name[...].utf8)
            default: true
            }
        }
    }

    func phrase(_ schema: JSONSchema.Index?) -> String {
        guard let schema, case let types = arena[schema].rules.types, !types.isEmpty else { return "a value" }
        return types.phrase
    }

    static func list(_ values: [JSONValue]) -> String {
        let shown = values.prefix(8).map { value in
            switch value {
            case .array: "a certain array"
            case .object: "a certain object"
            default: short(value)
            }
        }
        if values.count == 1 { return shown[0] }
        return "one of \(shown.joined(separator: ", "))" + (values.count > shown.count ? ", ..." : "")
    }

    static func short(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): String(flag)
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .number(let number): String(number)
        case .string(let text): quoted(text, limit: 40)
        case .array, .object: value.typeName
        }
    }
}
