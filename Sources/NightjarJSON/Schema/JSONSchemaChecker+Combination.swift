extension JSONSchemaChecker {
    /// Applies a keyword whose schemas apply to the value itself. Returns nil if the stage is complete.
    mutating func sameValue(
        _ top: Int, _ stage: Stage, _ value: JSONValue, _ combination: JSONSchema.Combination, _ last: Outcome?
    ) -> Outcome? {
        switch stage {
        case .reference: return combination.reference.flatMap { one($0, top, value, last) }
        case .allOf: return all(combination.allOf, top, value, last)
        case .anyOf: return some(combination.anyOf, top, value, combination, last)
        case .oneOf: return some(combination.oneOf, top, value, combination, last)
        case .not:
            guard let schema = combination.not else { return nil }
            let outcome = last ?? apply(schema, to: value)
            if outcome == .open || isExhausted { return outcome }
            guard outcome == .valid else { return nil }
            _ = fails("a value that does not match \"not\"", value.typeName, ofTop: true)
            return .invalid
        case .condition:
            guard let schema = combination.condition else { return nil }
            var last = last
            if frames[top].index == 0 {
                let outcome = last ?? apply(schema, to: value, tracks: frames[top].seen != nil)
                if outcome == .open || isExhausted { return outcome }
                frames[top].index = outcome == .valid ? 1 : 2
                last = nil
            }
            let branch = frames[top].index == 1 ? combination.then : combination.otherwise
            return branch.flatMap { one($0, top, value, last) }
        default:
            guard !combination.dependent.isEmpty, case .object(let members) = value else { return nil }
            guard spend(members.count * combination.dependent.count / 32) else { return .invalid }
            let schemas = combination.dependent.filter { rule in members.contains { $0.name.isExactly(rule.name) } }
            return all(schemas.map(\.schema), top, value, last)
        }
    }

    private mutating func one(
        _ schema: JSONSchema.Index, _ top: Int, _ value: JSONValue, _ last: Outcome?
    ) -> Outcome? {
        let outcome = last ?? apply(schema, to: value, tracks: frames[top].seen != nil)
        return outcome == .valid ? nil : outcome
    }

    private mutating func all(
        _ schemas: [JSONSchema.Index], _ top: Int, _ value: JSONValue, _ last: Outcome?
    ) -> Outcome? {
        if let last {
            guard last == .valid else { return .invalid }
            frames[top].index += 1
        }
        while frames[top].index < schemas.count {
            let outcome = apply(schemas[frames[top].index], to: value, tracks: frames[top].seen != nil)
            guard outcome == .valid else { return outcome }
            frames[top].index += 1
        }
        return nil
    }

    // MARK: anyOf and oneOf

    /// The result of one schema of `anyOf` or `oneOf`.
    struct Attempt {
        let branch: Int
        /// Nil if the value is valid.
        let failure: Failure?
    }

    private mutating func some(
        _ schemas: [JSONSchema.Index], _ top: Int, _ value: JSONValue, _ combination: JSONSchema.Combination,
        _ last: Outcome?
    ) -> Outcome? {
        guard !schemas.isEmpty else { return nil }
        let isOneOf = frames[top].stage == .oneOf
        // If `anyOf` and `oneOf` are both present, the discriminator belongs to `oneOf`.
        let discriminator = isOneOf || combination.oneOf.isEmpty ? combination.discriminator : nil
        let tracks = frames[top].seen != nil
        if last == nil, frames[top].index == 0 {
            if let branch = discriminator?.branch(of: value), branch < schemas.count {
                frames[top].count = JSONSchemaChecker.chosen
                frames[top].index = branch
                return one(schemas[branch], top, value, nil)
            }
            if reports { attempts[top] = [] }
        }
        if frames[top].count == JSONSchemaChecker.chosen { return last == .valid ? nil : .invalid }
        var outcome = last
        while true {
            if isExhausted { return .invalid }
            if let outcome {
                note(branch: outcome, top)
                if outcome == .valid, isOneOf ? frames[top].count > 1 && !reports : !tracks { break }
            }
            guard frames[top].index < schemas.count else { break }
            outcome = apply(schemas[frames[top].index], to: value, tracks: tracks)
            if outcome == .open { return .open }
        }
        let count = frames[top].count
        if isOneOf ? count == 1 : count > 0 { return nil }
        if reports { report(of: attempts.removeValue(forKey: top) ?? [], schemas.count, top, discriminator) }
        return .invalid
    }

    private mutating func note(branch outcome: Outcome, _ top: Int) {
        let branch = frames[top].index
        if outcome == .valid { frames[top].count += 1 }
        frames[top].index += 1
        if reports { attempts[top]?.append(Attempt(branch: branch, failure: outcome == .valid ? nil : failure)) }
    }

    /// The `count` of a frame after the discriminator has selected a schema.
    private static let chosen = -1
}

extension JSONSchema.Discriminator {
    /// Returns the position of the schema that the value selects, or nil if the value selects none.
    func branch(of value: JSONValue) -> Int? {
        guard case .string(let name) = value[property] else { return nil }
        return branches[name]
    }
}
