/// Checks a document against a ``JSONSchema``. The checker uses an explicit stack, so neither a deep document nor a
/// recursive schema can exhaust the host's stack.
///
/// The first pass only determines whether the document is valid. The second pass describes the failure.
struct JSONSchemaChecker {
    /// The maximum number of steps of one pass. A step applies a schema to a value or has a similar cost. Without the
    /// limit, nested `anyOf`s can require exponential time. The largest documents examined need 1 % of the limit.
    static let maximumSteps = 10_000_000
    /// The limit for a small document. The steps take about 0.1 seconds.
    static let leastSteps = 1_000_000
    /// The steps added to the limit for each value of a document.
    private static let stepsForValue = 1_000
    /// The steps added to the limit for each byte of a string, which a pattern may scan repeatedly.
    private static let stepsForByte = 20
    /// The maximum nesting of schemas being applied. A document has at most 1024 levels, and the schemas of APIs apply
    /// about three nested schemas to each level. Without the limit, a schema that refers to itself for the same value
    /// would push frames until the steps are used up.
    static let maximumDepth = 8192

    /// A bit mask: `isNeeded` is called every 256 rounds. The rounds take a few microseconds.
    private static let roundsBetweenChecks = 255

    enum Outcome {
        case valid, invalid
        /// The schema was pushed onto the stack and has not completed.
        case open
    }

    /// The groups of keywords, in the order in which a frame applies them.
    enum Stage: UInt8 {
        case elements, contains, members, names, reference, allOf, anyOf, oneOf, not, condition, dependent
        case unevaluatedElements, unevaluatedMembers, end
    }

    /// A schema that is being applied to a value.
    struct Frame {
        let node: JSONSchema.Node
        let value: JSONValue
        var stage = Stage.elements
        /// The current element, the current member, or the current schema of `allOf`, `anyOf` or `oneOf`. For `if`: 0
        /// until the condition has a result, then 1 if the value matches the condition and 2 if not.
        var index = 0
        /// For members, the next round for the current member. For `anyOf`, `oneOf` and `contains`, the number of valid
        /// results.
        var count = 0
        /// The evaluated elements and members. Nil unless this schema or an enclosing schema needs them.
        var seen: Seen?
    }

    struct Seen {
        var all = false
        var some: Set<Int> = []

        func includes(_ index: Int) -> Bool { all || some.contains(index) }

        mutating func add(_ other: Seen) {
            all = all || other.all
            if !all { some.formUnion(other.some) }
        }
    }

    let arena: JSONSchema.Arena
    let use: JSONSchema.Use
    var frames: [Frame] = []
    /// The remaining steps.
    var budget: Int
    /// True in the second pass, which describes failures.
    var reports = false
    /// The last failure.
    var failure: Failure?
    /// True if a limit was reached or the result is no longer wanted. All further results are meaningless.
    var isExhausted = false
    /// True if the limit that was reached is ``maximumDepth``.
    var isTooDeep = false
    /// Called repeatedly during the check. Returns false if the result is no longer needed.
    var isNeeded: (() -> Bool)?
    /// The results for each `anyOf` or `oneOf` in progress, by the position of its frame on the stack. Used in the
    /// second pass.
    var attempts: [Int: [Attempt]] = [:]
    private var scratch: JSONPattern.Scratch?

    init(_ arena: JSONSchema.Arena, _ use: JSONSchema.Use, maximumSteps: Int) {
        self.arena = arena
        self.use = use
        budget = maximumSteps
    }

    /// Returns the step limit for a document. The limit grows with the number of values and the length of strings.
    static func steps(for document: JSONValue) -> Int {
        var steps = leastSteps
        var rest = [document]
        while steps < maximumSteps, let value = rest.popLast() {
            steps += stepsForValue
            let room = max((maximumSteps - steps) / stepsForValue + 1 - rest.count, 0)
            switch value {
            case .string(let text): steps += text.utf8.count * stepsForByte
            case .array(let elements): rest += elements.prefix(room)
            case .object(let members): rest += members.prefix(room).map(\.value)
            default: break
            }
        }
        return min(steps, maximumSteps)
    }

    mutating func mismatch(of value: JSONValue, _ schema: JSONSchema.Index) -> JSONMismatch? {
        let allowance = budget
        if isValid(value, schema) { return nil }
        if isExhausted { return exhaustion(allowance) }
        budget = allowance
        reports = true
        let isValidNow = isValid(value, schema)
        if isExhausted { return exhaustion(allowance) }
        return isValidNow ? nil : failure?.mismatch
    }

    /// Runs one pass. Returns true if the value is valid. Describes failures only if `reports` is true.
    mutating func isValid(_ value: JSONValue, _ schema: JSONSchema.Index) -> Bool {
        frames.removeAll(keepingCapacity: true)
        var outcome = apply(schema, to: value)
        var rounds = 0
        while let top = frames.indices.last, !isExhausted {
            rounds &+= 1
            if rounds & JSONSchemaChecker.roundsBetweenChecks == 0, let isNeeded, !isNeeded() { isExhausted = true }
            outcome = advance(top, outcome)
            guard outcome != .open, let done = frames.popLast() else { continue }
            if outcome == .valid, let seen = done.seen, top > 0, frames[top - 1].seen != nil {
                let stage = frames[top - 1].stage
                if stage.rawValue >= Stage.reference.rawValue, stage.rawValue <= Stage.dependent.rawValue, stage != .not
                {
                    frames[top - 1].seen?.add(seen)
                }
            }
        }
        return outcome == .valid && !isExhausted
    }

    /// Applies a schema to a value. Returns the result if no subschema applies. Otherwise pushes a frame and returns
    /// `open`.
    mutating func apply(_ index: JSONSchema.Index, to value: JSONValue, tracks: Bool = false) -> Outcome {
        guard spend(1) else { return .invalid }
        if index == JSONSchema.Arena.any { return .valid }
        let node = arena[index]
        if node.rules.acceptsNull, case .null = value { return .valid }
        guard passes(value, node.rules) else { return .invalid }
        if node.rules.combination == nil {
            switch value {
            case .array: guard node.seesElements else { return .valid }
            case .object: guard node.seesMembers else { return .valid }
            default: return .valid
            }
        }
        guard frames.count < JSONSchemaChecker.maximumDepth else {
            isExhausted = true
            isTooDeep = true
            return .invalid
        }
        frames.append(Frame(node: node, value: value, seen: tracks || node.tracks ? Seen() : nil))
        return .open
    }

    mutating func spend(_ steps: Int) -> Bool {
        budget -= steps
        guard budget >= 0 else {
            isExhausted = true
            return false
        }
        return true
    }

    mutating func find(_ pattern: JSONPattern, in text: String) -> Bool {
        let scratch = scratch ?? JSONPattern.Scratch()
        self.scratch = scratch
        switch pattern.find(in: text, scratch, budget: &budget) {
        case .found: return true
        case .missing: return false
        case .exhausted:
            isExhausted = true
            return false
        }
    }

    /// Returns true if a value satisfies the keywords that do not apply subschemas.
    private mutating func passes(_ value: JSONValue, _ rules: JSONSchema.Rules) -> Bool {
        if rules.isNever { return fails("nothing", value.typeName) }
        guard rules.types.isEmpty || rules.types.include(value) else {
            return fails(rules.types.phrase, value.typeName, types: rules.types)
        }
        if let values = rules.values {
            guard spend(values.count / 4) else { return false }
            if !values.contains(where: { $0.isSame(as: value) }) {
                let isShown = reports && mayShowValue
                return fails(
                    JSONSchemaChecker.list(values), isShown ? JSONSchemaChecker.short(value) : value.typeName,
                    values: values)
            }
        }
        switch value {
        case .null, .bool: return true
        case .integer, .unsigned, .number: return rules.numbers.map { passes(number: value, $0.value) } ?? true
        case .string(let text): return passes(text, rules)
        case .array(let elements): return passes(elements, rules)
        case .object(let members): return passes(members, rules)
        }
    }

    private mutating func passes(number value: JSONValue, _ rules: JSONSchema.NumberRules) -> Bool {
        if let minimum = rules.minimum, JSONValue.order(value, minimum) == .less {
            return fails("a number of at least \(JSONSchemaChecker.short(minimum))", "a smaller one")
        }
        if let maximum = rules.maximum, JSONValue.order(value, maximum) == .more {
            return fails("a number of at most \(JSONSchemaChecker.short(maximum))", "a larger one")
        }
        if let above = rules.above, let order = JSONValue.order(value, above), order != .more {
            return fails(
                "a number greater than \(JSONSchemaChecker.short(above))",
                order == .same ? "that number itself" : "a smaller one")
        }
        if let below = rules.below, let order = JSONValue.order(value, below), order != .less {
            return fails(
                "a number less than \(JSONSchemaChecker.short(below))",
                order == .same ? "that number itself" : "a larger one")
        }
        if let divisor = rules.multipleOf, !value.isMultiple(of: divisor) {
            return fails("a multiple of \(JSONSchemaChecker.short(divisor))", "another number")
        }
        return true
    }

    private mutating func passes(_ text: String, _ rules: JSONSchema.Rules) -> Bool {
        if rules.length.areReported {
            guard spend(text.utf8.count / 256) else { return false }
            guard passes(text.unicodeScalars.count, rules.length, "a string", "character") else { return false }
        }
        if let pattern = rules.pattern, !find(pattern, in: text) {
            return fails("a string that matches \(quoted(pattern.source, limit: 100))", "another string")
        }
        guard let format = rules.format, !format.matches(text) else { return true }
        return fails(format.description, "another string")
    }

    private mutating func passes(_ elements: [JSONValue], _ rules: JSONSchema.Rules) -> Bool {
        guard passes(elements.count, rules.itemCount, "an array", "element") else { return false }
        guard rules.isUnique, elements.count > 1 else { return true }
        var equals = JSONValue.Equals(budget: budget)
        let pair = equals.firstPair(in: elements)
        budget = equals.budget
        guard budget >= 0 else {
            isExhausted = true
            return false
        }
        return pair.map { fails("an array of unique elements", "one whose elements \($0) and \($1) are equal") } ?? true
    }

    private mutating func passes(_ members: [JSONValue.Member], _ rules: JSONSchema.Rules) -> Bool {
        guard passes(members.count, rules.memberCount, "an object", "member") else { return false }
        guard spend(members.count * rules.required.count / 32) else { return false }
        for name in rules.required where !members.contains(where: { $0.name.isExactly(name) }) {
            if use != .any, let schema = rules.places[name], isLeftOut(arena[schema].rules) { continue }
            let expected = reports ? phrase(rules.places[name]) : ""
            return fails(expected, "nothing", at: name)
        }
        for rule in rules.dependentRequired where members.contains(where: { $0.name.isExactly(rule.name) }) {
            guard spend(members.count * rule.names.count / 32) else { return false }
            for name in rule.names where !members.contains(where: { $0.name.isExactly(name) }) {
                let expected = reports ? phrase(rules.places[name]) : ""
                return fails("\(expected) because \(quoted(rule.name, limit: 40)) is present", "nothing", at: name)
            }
        }
        return true
    }

    /// Returns true if a required member may be missing: a `readOnly` member in a request, or a `writeOnly` member in a
    /// response. OpenAPI 3.0.3 section 4.7.24.2.
    private func isLeftOut(_ rules: JSONSchema.Rules) -> Bool {
        use == .request ? rules.isReadOnly : rules.isWriteOnly
    }

    private mutating func passes(
        _ count: Int, _ bounds: JSONSchema.Bounds, _ container: String, _ unit: String
    ) -> Bool {
        if count < bounds.minimum {
            return fails("\(container) of at least \(counted(bounds.minimum, unit))", "one of \(count)")
        }
        if count > bounds.maximum {
            return fails("\(container) of at most \(counted(bounds.maximum, unit))", "one of \(count)")
        }
        return true
    }
}
