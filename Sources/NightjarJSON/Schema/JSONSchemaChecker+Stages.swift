extension JSONSchemaChecker {
    /// Continues the frame at `top`. Applies the next schemas until a schema is pushed or the frame is complete.
    ///
    /// - Parameter outcome: the result of the schema that was pushed last, or `open` if none has been pushed.
    mutating func advance(_ top: Int, _ outcome: Outcome) -> Outcome {
        var last: Outcome? = outcome == .open ? nil : outcome
        // Do not copy the whole frame: a second owner of `seen` would make each change copy the set.
        let node = frames[top].node
        let value = frames[top].value
        let rules = node.rules
        // A stage returns nil when it is complete, `invalid` on failure, and `open` after it has pushed a schema. A
        // stage that returned `open` is resumed with the result of that schema.
        while !isExhausted {
            let stage = frames[top].stage
            let next: Outcome?
            switch stage {
            case .elements, .contains, .unevaluatedElements:
                if node.seesElements, case .array(let elements) = value {
                    next = element(top, stage, elements, rules, last)
                } else {
                    next = nil
                }
            case .members, .names, .unevaluatedMembers:
                if node.seesMembers, case .object(let members) = value {
                    next =
                        stage == .members
                        ? member(top, members, rules, last) : otherMember(top, stage, members, rules, last)
                } else {
                    next = nil
                }
            case .end: return .valid
            default:
                if let combination = rules.combination {
                    next = sameValue(top, stage, value, combination.value, last)
                } else {
                    frames[top].stage = .unevaluatedElements
                    last = nil
                    continue
                }
            }
            guard let next else {
                frames[top].stage = Stage(rawValue: stage.rawValue + 1) ?? .end
                frames[top].index = 0
                frames[top].count = 0
                last = nil
                continue
            }
            return next
        }
        return .invalid
    }

    // MARK: Elements

    /// Continues a stage of an array.
    ///
    /// - Returns: nil if the stage is complete.
    private mutating func element(
        _ top: Int, _ stage: Stage, _ elements: [JSONValue], _ rules: JSONSchema.Rules, _ last: Outcome?
    ) -> Outcome? {
        switch stage {
        case .elements:
            if rules.items == nil, rules.prefix.isEmpty { return nil }
            if let last {
                guard last == .valid else { return .invalid }
                frames[top].index += 1
            }
            var index = frames[top].index
            while index < elements.count {
                guard let schema = index < rules.prefix.count ? rules.prefix[index] : rules.items else { break }
                frames[top].seen?.some.insert(index)
                let outcome = apply(schema, to: elements[index])
                guard outcome == .valid else { return outcome }
                index += 1
                frames[top].index = index
            }
            return nil
        case .contains:
            guard let rule = rules.contains?.value else { return nil }
            if let last { note(last, top) }
            while frames[top].index < elements.count {
                let outcome = apply(rule.schema, to: elements[frames[top].index])
                if outcome == .open || isExhausted { return outcome }
                note(outcome, top)
            }
            let count = frames[top].count
            if count < rule.count.minimum || count > rule.count.maximum {
                let (word, limit) =
                    count < rule.count.minimum ? ("at least", rule.count.minimum) : ("at most", rule.count.maximum)
                let verb = limit == 1 ? "matches" : "match"
                _ = fails(
                    "an array with \(word) \(counted(limit, "element")) that \(verb) \"contains\"",
                    "one with \(count)", ofTop: true)
                return .invalid
            }
            return nil
        default:
            guard let schema = rules.unevaluatedItems else { return nil }
            if let last {
                guard last == .valid else { return .invalid }
                frames[top].index += 1
            }
            while frames[top].index < elements.count {
                let index = frames[top].index
                if let seen = frames[top].seen, seen.includes(index) {
                    frames[top].index += 1
                    guard spend(1) else { return .invalid }
                    continue
                }
                let outcome = apply(schema, to: elements[index])
                guard outcome == .valid else { return outcome }
                frames[top].index += 1
            }
            frames[top].seen?.all = true
            return nil
        }
    }

    /// Records the result of `contains` for one element.
    private mutating func note(_ outcome: Outcome, _ top: Int) {
        if outcome == .valid {
            let index = frames[top].index
            frames[top].count += 1
            frames[top].seen?.some.insert(index)
        }
        frames[top].index += 1
    }

    // MARK: Members

    /// Applies the schemas of each member: the schema of its name and those of all patterns that its name matches. If
    /// there are none, applies the schema for additional members.
    private mutating func member(
        _ top: Int, _ members: [JSONValue.Member], _ rules: JSONSchema.Rules, _ last: Outcome?
    ) -> Outcome? {
        if let last {
            guard last == .valid else { return .invalid }
        }
        while frames[top].index < members.count {
            let index = frames[top].index
            let member = members[index]
            if rules.patterns.isEmpty {
                guard spend(1) else { return .invalid }
                // The schema is pushed once. The member is complete when this function is called again.
                guard frames[top].count == 0, let schema = rules.places[member.name] ?? rules.additional else {
                    frames[top].index += 1
                    frames[top].count = 0
                    continue
                }
                frames[top].count = 1
                frames[top].seen?.some.insert(index)
                if schema == JSONSchema.Arena.never, rules.places[member.name] == nil {
                    _ = fails("no member with this name", member.value.typeName)
                    return .invalid
                }
                let outcome = apply(schema, to: member.value)
                guard outcome == .valid else { return outcome }
                continue
            }
            if let outcome = matchedMember(top, member, rules) { return outcome }
            frames[top].index += 1
            frames[top].count = 0
        }
        return nil
    }

    /// Applies the schemas of one member in rounds. Round 0 applies the schema of the member's name. The next rounds
    /// apply the schemas of the patterns. If no schema has matched, the last round applies the schema for additional
    /// members. The frame's `count` contains the next round r: as r until a schema has matched, and as -r - 1
    /// afterwards.
    private mutating func matchedMember(
        _ top: Int, _ member: JSONValue.Member, _ rules: JSONSchema.Rules
    ) -> Outcome? {
        while true {
            let count = frames[top].count
            let isKnown = count < 0
            let round = isKnown ? -count - 1 : count
            let schema: JSONSchema.Index?
            switch round {
            case 0: schema = rules.places[member.name]
            case 1...rules.patterns.count:
                let (pattern, its) = rules.patterns[round - 1]
                let isFound = find(pattern, in: member.name)
                if isExhausted { return .invalid }
                schema = isFound ? its : nil
            case rules.patterns.count + 1: schema = isKnown ? nil : rules.additional
            default: return nil
            }
            let willBeKnown = isKnown || schema != nil
            frames[top].count = willBeKnown ? -(round + 1) - 1 : round + 1
            guard let schema else { continue }
            let index = frames[top].index
            frames[top].seen?.some.insert(index)
            if schema == JSONSchema.Arena.never, round == rules.patterns.count + 1 {
                _ = fails("no member with this name", member.value.typeName)
                return .invalid
            }
            let outcome = apply(schema, to: member.value)
            guard outcome == .valid else { return outcome }
        }
    }

    private mutating func otherMember(
        _ top: Int, _ stage: Stage, _ members: [JSONValue.Member], _ rules: JSONSchema.Rules, _ last: Outcome?
    ) -> Outcome? {
        guard let schema = stage == .names ? rules.names : rules.unevaluatedProperties else { return nil }
        if let last {
            guard last == .valid else {
                if stage == .names { describeMemberName() }
                return .invalid
            }
            frames[top].index += 1
        }
        while frames[top].index < members.count {
            let index = frames[top].index
            let member = members[index]
            if stage == .names {
                let outcome = apply(schema, to: .string(member.name))
                if outcome == .invalid { describeMemberName() }
                guard outcome == .valid else { return outcome }
            } else if let seen = frames[top].seen, seen.includes(index) {
                guard spend(1) else { return .invalid }
            } else if schema == JSONSchema.Arena.never {
                _ = fails("no member with this name", member.value.typeName)
                return .invalid
            } else {
                let outcome = apply(schema, to: member.value)
                guard outcome == .valid else { return outcome }
            }
            frames[top].index += 1
        }
        if stage == .unevaluatedMembers { frames[top].seen?.all = true }
        return nil
    }
}
