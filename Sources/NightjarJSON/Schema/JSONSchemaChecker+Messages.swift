extension JSONSchemaChecker {
    /// Describes a value that does not match its schema.
    struct Failure {
        var mismatch: JSONMismatch
        /// The expected types, if the type is wrong.
        var types: JSONSchema.Types?
        /// The allowed values, if the value is not allowed by `enum` or `const`.
        var values: [JSONValue]?
        /// True if the message already names the schema of `anyOf` or `oneOf`.
        var namesBranch = false
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - name: the member name to append to the path.
    ///   - ofTop: true if the value on top of the stack fails, false if the value to be pushed next fails.
    /// - Returns: false.
    mutating func fails(
        _ expected: @autoclosure () -> String, _ found: @autoclosure () -> String, at name: String? = nil,
        types: JSONSchema.Types? = nil, values: [JSONValue]? = nil, ofTop: Bool = false
    ) -> Bool {
        guard reports else { return false }
        var tokens = path(ofTop ? frames.count - 1 : frames.count)
        if let name { tokens.append(name) }
        failure = Failure(
            mismatch: JSONMismatch(path: JSONPointer(tokens: tokens), expected: expected(), found: found()),
            types: types, values: values)
        return false
    }

    /// Rewords the failure so that it describes a member's name instead of its value.
    mutating func describeMemberName() {
        guard let mismatch = failure?.mismatch else { return }
        failure?.types = nil
        failure?.values = nil
        failure?.mismatch = JSONMismatch(
            path: mismatch.path, expected: "a member whose name is \(mismatch.expected)", found: mismatch.found)
    }

    /// Describes a value that matches the wrong number of schemas of `anyOf` or `oneOf`.
    mutating func report(
        of attempts: [Attempt], _ count: Int, _ top: Int, _ discriminator: JSONSchema.Discriminator?
    ) {
        let keyword = frames[top].stage == .oneOf ? "oneOf" : "anyOf"
        let value = frames[top].value
        let fitting = attempts.filter { $0.failure == nil }.map { String($0.branch + 1) }
        guard fitting.isEmpty else {
            _ = fails(
                "a value that matches exactly one of the \(count) schemas of \"oneOf\"",
                "one that matches schemas \(fitting.prefix(8).joined(separator: ", "))", ofTop: true)
            return
        }
        if let discriminator, !discriminator.names.isEmpty, case .object = value {
            if let meant = report(by: discriminator, top, value) {
                guard let selected = attempts.first(where: { $0.branch == meant })?.failure else { return }
                failure = selected
                failure?.namesBranch = true
            }
            return
        }
        let own = path(top).count
        let far = attempts.filter { $0.failure?.types == nil || $0.failure?.mismatch.path.tokens.count ?? 0 > own }
        if far.isEmpty {
            let types = attempts.reduce(into: JSONSchema.Types()) { $0.formUnion($1.failure?.types ?? []) }
            _ = fails(types.phrase, value.typeName, types: types, ofTop: true)
            return
        }
        if reportValues(far) { return }
        // A branch that fails at the `const` or `enum` of a direct member is probably not the intended branch. If there
        // are other branches, report their deepest failure. If several failures are equally deep, report the first.
        let meant = far.filter { $0.failure?.values == nil || $0.failure?.mismatch.path.tokens.count != own + 1 }
        guard
            let nearest = (meant.isEmpty ? far : meant).max(by: {
                ($0.failure?.mismatch.path.tokens.count ?? 0, -$0.branch)
                    < ($1.failure?.mismatch.path.tokens.count ?? 0, -$1.branch)
            }), var best = nearest.failure
        else { return }
        if !best.namesBranch, count > 1 {
            let expected =
                "\(best.mismatch.expected) (by schema \(nearest.branch + 1) of \(count) in \"\(keyword)\")"
            best.mismatch = JSONMismatch(
                path: best.mismatch.path, expected: expected, found: best.mismatch.found)
        }
        failure = Failure(mismatch: best.mismatch, types: nil, namesBranch: true)
    }

    /// Describes a discriminator value that selects no schema. The allowed values come from `enum` and `const`. If a
    /// schema has neither, its name is the allowed value.
    ///
    /// - Returns: the position of a schema whose `enum` or `const` allows the value. No failure is recorded in this
    ///   case.
    private mutating func report(by discriminator: JSONSchema.Discriminator, _ top: Int, _ value: JSONValue) -> Int? {
        guard let combination = frames[top].node.rules.combination?.value else { return nil }
        let schemas = frames[top].stage == .oneOf ? combination.oneOf : combination.anyOf
        let named = value[discriminator.property]
        var known: [JSONValue] = []
        for name in discriminator.names {
            let branch = discriminator.branches[name]
            let values = branch.flatMap { branch in
                schemas.indices.contains(branch)
                    ? self.values(of: discriminator.property, by: schemas[branch], JSONSchemaChecker.levelsOfValues)
                    : nil
            }
            if let named, let values, let branch, values.contains(where: { $0.isSame(as: named) }) { return branch }
            for one in values ?? [.string(name)] where !known.contains(where: { $0.isSame(as: one) }) {
                known.append(one)
            }
        }
        let isShown = mayShowValue && !SecretNames.isSecret(item: discriminator.property[...].utf8)
        let found = named.map { isShown ? JSONSchemaChecker.short($0) : $0.typeName } ?? "nothing"
        failure = Failure(
            mismatch: JSONMismatch(
                path: JSONPointer(tokens: path(top) + [discriminator.property]),
                expected: JSONSchemaChecker.list(known),
                found: found))
        return nil
    }

    /// Returns the values that a schema allows for a member with `enum` or `const`, or nil if both are missing.
    private func values(of property: String, by index: JSONSchema.Index, _ levels: Int) -> [JSONValue]? {
        guard levels > 0 else { return nil }
        let rules = arena[index].rules
        if let place = rules.places[property] {
            if let values = allowed(by: place, levels) { return values }
        }
        guard let combination = rules.combination?.value else { return nil }
        let parts =
            [combination.reference].compactMap { $0 } + combination.allOf.prefix(JSONSchemaChecker.partsOfValues)
        return parts.lazy.compactMap { values(of: property, by: $0, levels - 1) }.first
    }

    private func allowed(by index: JSONSchema.Index, _ levels: Int) -> [JSONValue]? {
        guard levels > 0 else { return nil }
        let rules = arena[index].rules
        if let values = rules.values { return values }
        return rules.combination?.value.reference.flatMap { allowed(by: $0, levels - 1) }
    }

    /// The maximum depth of the search for the allowed values of a member.
    private static let levelsOfValues = 8
    /// The maximum number of schemas of each `allOf` that are searched for the allowed values of a member.
    private static let partsOfValues = 16

    /// Reports the union of the allowed values if every schema restricts the same member with `enum` or `const`.
    /// Returns false otherwise.
    private mutating func reportValues(_ attempts: [Attempt]) -> Bool {
        guard attempts.count > 1, let first = attempts.first?.failure else { return false }
        var known: [JSONValue] = []
        for attempt in attempts {
            guard let failure = attempt.failure, let values = failure.values,
                failure.mismatch.path.tokens == first.mismatch.path.tokens
            else { return false }
            for value in values where !known.contains(where: { $0.isSame(as: value) }) { known.append(value) }
        }
        failure = Failure(
            mismatch: JSONMismatch(
                path: first.mismatch.path, expected: JSONSchemaChecker.list(known), found: first.mismatch.found),
            values: known, namesBranch: true)
        return true
    }

    func exhaustion(_ allowance: Int) -> JSONMismatch {
        return JSONMismatch(
            path: JSONPointer(tokens: path(frames.count)),
            expected: isTooDeep
                ? "a value with at most \(JSONSchemaChecker.maximumDepth) nested schemas"
                : "a value that can be checked in \(allowance) steps",
            found: "one that requires more")
    }

    /// Returns the path to the value of the frame at position `count`.
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

    /// True if no member name on the path suggests a secret.
    var mayShowValue: Bool {
        frames.allSatisfy { frame in
            switch (frame.stage, frame.value) {
            case (.members, .object(let members)), (.unevaluatedMembers, .object(let members)):
                frame.index >= members.count || !SecretNames.isSecret(item: members[frame.index].name[...].utf8)
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
            case .array: "a specific array"
            case .object: "a specific object"
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
