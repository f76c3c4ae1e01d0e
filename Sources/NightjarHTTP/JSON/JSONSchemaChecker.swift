/// Walks a document along a ``JSONSchema``, with a stack of its own: neither a deep document nor a schema that is within
/// itself decides how much of the host's is used.
///
/// It goes twice: quietly, and once more with words when something is wrong.
struct JSONSchemaChecker {
    /// Steps of one walk: schemas laid on values, and what costs as much. `anyOf` within `anyOf` within `anyOf` would
    /// otherwise take longer than anybody waits; the largest documents take a hundredth.
    static let maximumSteps = 10_000_000
    /// The same for a document of a few values: a tenth of a second. A schema of 4 KB can ask for any number.
    static let leastSteps = 1_000_000
    /// What each value of a document adds, and each byte of a text, which a pattern may go over again and again.
    private static let stepsForValue = 1_000
    private static let stepsForByte = 20
    /// Schemas laid on values within each other. A document has 1024 levels at most, and an API's schemas about three for
    /// each; a schema that refers to itself without going deeper has any number.
    static let maximumDepth = 8192

    /// Less one; a power of two. They take some microseconds.
    private static let roundsBetweenAsking = 255

    enum Outcome {
        case valid, invalid
        /// Its schemas are still at work: it has been laid on the stack.
        case open
    }

    /// What a schema is being laid on next, in this order.
    enum Stage: UInt8 {
        case elements, contains, members, names, reference, allOf, anyOf, oneOf, not, condition, dependent
        case unevaluatedElements, unevaluatedMembers, end
    }

    /// A schema and a value under way.
    struct Frame {
        let node: JSONSchema.Node
        let value: JSONValue
        var stage = Stage.elements
        /// Of the element, the member or the schema in its list.
        var index = 0
        /// For members, the schema of those that are laid on one; for lists, how many were valid; for `if`, what came of it.
        var count = 0
        /// Which elements and members have been looked at, where somebody asks.
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
    /// Steps left.
    var budget: Int
    /// Whether failures are put in words.
    var tells = false
    /// The last one.
    var failure: Failure?
    /// A limit was reached, and nothing counts any more.
    var isExhausted = false
    /// It was that of schemas within each other.
    var isTooDeep = false
    /// Asked now and then whether anybody waits for the result; nil: somebody does.
    var isWanted: (() -> Bool)?
    /// Of lists of schemas under way, by their place on the stack; while it tells.
    var attempts: [Int: [Attempt]] = [:]
    private var scratch: JSONPattern.Scratch?

    init(_ arena: JSONSchema.Arena, _ use: JSONSchema.Use, maximumSteps: Int) {
        self.arena = arena
        self.use = use
        budget = maximumSteps
    }

    /// How many steps the check of a document may take: more for a large one, as each of its values may need some.
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
        tells = true
        let isValidNow = isValid(value, schema)
        if isExhausted { return exhaustion(allowance) }
        return isValidNow ? nil : failure?.mismatch
    }

    /// Without telling why not.
    mutating func isValid(_ value: JSONValue, _ schema: JSONSchema.Index) -> Bool {
        frames.removeAll(keepingCapacity: true)
        var outcome = apply(schema, to: value)
        var rounds = 0
        while let top = frames.indices.last, !isExhausted {
            rounds &+= 1
            if rounds & JSONSchemaChecker.roundsBetweenAsking == 0, let isWanted, !isWanted() { isExhausted = true }
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

    /// Lays a schema on a value: at once where there is nothing within, else it goes onto the stack.
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

    /// Whether a value stands what a schema says of itself alone, without its elements and members.
    private mutating func passes(_ value: JSONValue, _ rules: JSONSchema.Rules) -> Bool {
        if rules.isNever { return fails("nothing", value.typeName) }
        guard rules.types.isEmpty || rules.types.include(value) else {
            return fails(rules.types.phrase, value.typeName, types: rules.types)
        }
        if let values = rules.values {
            guard spend(values.count / 4) else { return false }
            if !values.contains(where: { $0.isSame(as: value) }) {
                let isShown = tells && mayShowValue
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
        if rules.length.areTold {
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
        return pair.map { fails("an array without equal elements", "one whose elements \($0) and \($1) are") } ?? true
    }

    private mutating func passes(_ members: [JSONValue.Member], _ rules: JSONSchema.Rules) -> Bool {
        guard passes(members.count, rules.memberCount, "an object", "member") else { return false }
        guard spend(members.count * rules.required.count / 32) else { return false }
        for name in rules.required where !members.contains(where: { $0.name.isExactly(name) }) {
            if use != .any, let schema = rules.places[name], isLeftOut(arena[schema].rules) { continue }
            let expected = tells ? phrase(rules.places[name]) : ""
            return fails(expected, "nothing", at: name)
        }
        for rule in rules.dependentRequired where members.contains(where: { $0.name.isExactly(rule.name) }) {
            guard spend(members.count * rule.names.count / 32) else { return false }
            for name in rule.names where !members.contains(where: { $0.name.isExactly(name) }) {
                let expected = tells ? phrase(rules.places[name]) : ""
                return fails("\(expected), for there is \(quoted(rule.name, limit: 40))", "nothing", at: name)
            }
        }
        return true
    }

    /// What is only read need not be sent, and what is only written is not answered. OpenAPI 3.0.3 section 4.7.24.2.
    private func isLeftOut(_ rules: JSONSchema.Rules) -> Bool {
        use == .request ? rules.isReadOnly : rules.isWriteOnly
    }

    private mutating func passes(
        _ count: Int, _ bounds: JSONSchema.Bounds, _ container: String, _ unit: String
    ) -> Bool {
        func amount(_ count: Int) -> String { count == 1 ? "1 \(unit)" : "\(count) \(unit)s" }
        if count < bounds.minimum {
            return fails("\(container) of at least \(amount(bounds.minimum))", "one of \(count)")
        }
        if count > bounds.maximum {
            return fails("\(container) of at most \(amount(bounds.maximum))", "one of \(count)")
        }
        return true
    }
}
