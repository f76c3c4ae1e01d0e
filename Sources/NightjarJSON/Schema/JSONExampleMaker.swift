/// Generates values that satisfy schemas.
struct JSONExampleMaker {
    /// The maximum nesting of values and of alternatives of `anyOf` and `oneOf`. Limits the stack depth.
    private static let maximumDepth = 32
    /// The maximum number of attempts for one example. Each generated value and each alternative of `anyOf` or `oneOf`
    /// counts as an attempt.
    private static let maximumAttempts = 2_000
    /// The maximum number of steps for checking one candidate.
    private static let maximumSteps = 200_000
    /// The maximum number of steps for checking all candidates.
    private static let allSteps = 5_000_000
    /// The maximum number of elements, members or repetitions that are generated.
    private static let maximumCount = 1_000

    private let arena: JSONSchema.Arena
    private let use: JSONSchema.Use
    private var attempts = 0
    private var depth = 0
    /// The schemas of the values under construction, outermost first. A value is not generated inside a value of the
    /// same schemas, because the result would be infinite or large.
    private var underway: [[JSONSchema.Index]] = []
    /// The remaining steps for checking candidates.
    private var budget = JSONExampleMaker.allSteps

    init(_ arena: JSONSchema.Arena, _ use: JSONSchema.Use) {
        self.arena = arena
        self.use = use
    }

    /// Returns a value that satisfies all `schemas`, or nil if none was found.
    mutating func example(of schemas: [JSONSchema.Index]) -> JSONValue? {
        guard depth < JSONExampleMaker.maximumDepth else { return nil }
        let parts = parts(of: schemas)
        for part in parts {
            let rules = arena[part].rules
            guard let notice = rules.notice?.value else { continue }
            for candidate in notice.examples.prefix(4) where accept(candidate, schemas) { return candidate }
            if let value = notice.defaultValue, accept(value, schemas) { return value }
            for candidate in (rules.values ?? []).prefix(64) where accept(candidate, schemas) { return candidate }
        }
        guard !underway.contains(schemas) else { return nil }
        underway.append(schemas)
        defer { underway.removeLast() }
        return made(of: parts, for: schemas, with: [], forced: [])
    }

    /// Tries the alternatives of `anyOf` and `oneOf` in order until a value is accepted.
    private mutating func made(
        of parts: [JSONSchema.Index], for schemas: [JSONSchema.Index], with chosen: [JSONSchema.Index],
        forced: [JSONValue.Member]
    ) -> JSONValue? {
        attempts += 1
        guard attempts < JSONExampleMaker.maximumAttempts, depth < JSONExampleMaker.maximumDepth else { return nil }
        depth += 1
        defer { depth -= 1 }
        let open = parts.first { part in
            guard let combination = arena[part].rules.combination?.value, !chosen.contains(part) else { return false }
            return !(combination.anyOf.isEmpty && combination.oneOf.isEmpty)
        }
        guard let open, let combination = arena[open].rules.combination?.value else {
            guard let value = plain(parts, forced), accept(value, schemas) else { return nil }
            return value
        }
        let branches = combination.oneOf.isEmpty ? combination.anyOf : combination.oneOf
        for (position, branch) in branches.enumerated() {
            var all = parts
            for part in self.parts(of: [branch]) where !all.contains(part) { all.append(part) }
            let name = combination.discriminator.flatMap { discriminator in
                discriminator.names.first { discriminator.branches[$0] == position }.map {
                    JSONValue.Member(discriminator.property, .string($0))
                }
            }
            // Try the discriminator's name for the schema first. The schema itself may define a different value.
            for named in name.map({ [forced + [$0], forced] }) ?? [forced] {
                if let value = made(of: all, for: schemas, with: chosen + [open], forced: named) { return value }
            }
        }
        return nil
    }

    /// Generates a value from the rules outside of `anyOf` and `oneOf`. The value is not checked.
    private mutating func plain(_ parts: [JSONSchema.Index], _ forced: [JSONValue.Member]) -> JSONValue? {
        let rules = parts.map { arena[$0].rules }
        var types = JSONSchema.Types.every
        for rule in rules where !rule.types.isEmpty {
            types.formIntersection(rule.types.contains(.number) ? rule.types.union(.integer) : rule.types)
        }
        if let values = rules.lazy.compactMap(\.values).first { return values.first }
        // If several types are allowed, derive the type from the other keywords.
        let isObject = !forced.isEmpty || rules.contains { !$0.properties.isEmpty || !$0.required.isEmpty }
        let isArray = rules.contains { $0.items != nil || !$0.prefix.isEmpty || $0.itemCount.areReported }
        let isNumber = rules.contains { $0.numbers != nil }
        if types.contains(.object), isObject { return object(rules, forced) }
        if types.contains(.array), isArray { return array(rules) }
        if types.contains(.integer), isNumber { return number(rules, isInteger: !types.contains(.number)) }
        if types.contains(.string) { return string(rules) }
        if types.contains(.integer) { return number(rules, isInteger: !types.contains(.number)) }
        if types.contains(.boolean) { return .bool(true) }
        if types.contains(.object) { return object(rules, forced) }
        if types.contains(.array) { return array(rules) }
        return types.contains(.null) ? .null : nil
    }

    // MARK: Containers

    private mutating func object(_ rules: [JSONSchema.Rules], _ forced: [JSONValue.Member]) -> JSONValue? {
        var members: [JSONValue.Member] = []
        var known = ExactSet()
        for name in rules.flatMap(\.required) where known.insert(name) {
            if let member = forced.first(where: { $0.name.isExactly(name) }) {
                members.append(member)
                continue
            }
            let schemas = schemas(of: name, rules)
            if use == .request, schemas.contains(where: { arena[$0].rules.isReadOnly }) { continue }
            guard let value = example(of: schemas) else { return nil }
            members.append(JSONValue.Member(name, value))
        }
        for member in forced where known.insert(member.name) { members.append(member) }
        let minimum = min(rules.map(\.memberCount.minimum).max() ?? 0, JSONExampleMaker.maximumCount)
        for property in rules.flatMap(\.properties) where members.count < minimum {
            guard known.insert(property.name), let value = example(of: schemas(of: property.name, rules))
            else {
                continue
            }
            members.append(JSONValue.Member(property.name, value))
        }
        var number = 1
        while members.count < minimum {
            guard let value = example(of: schemas(of: "name\(number)", rules)) else { return nil }
            members.append(JSONValue.Member("name\(number)", value))
            number += 1
        }
        return .object(members)
    }

    /// Returns the schemas that apply to a member with this name.
    private func schemas(of name: String, _ rules: [JSONSchema.Rules]) -> [JSONSchema.Index] {
        let schemas = rules.compactMap { $0.places[name] ?? $0.additional }
        return schemas.isEmpty ? [JSONSchema.Arena.any] : schemas
    }

    private mutating func array(_ rules: [JSONSchema.Rules]) -> JSONValue? {
        let contains = rules.compactMap { $0.contains?.value }
        let minimum = max(rules.map(\.itemCount.minimum).max() ?? 0, contains.map(\.count.minimum).max() ?? 0)
        guard minimum <= JSONExampleMaker.maximumCount else { return nil }
        var elements: [JSONValue] = []
        for index in 0..<minimum {
            var schemas = rules.compactMap { index < $0.prefix.count ? $0.prefix[index] : $0.items }
            schemas += contains.filter { index < $0.count.minimum }.map(\.schema)
            guard let value = example(of: schemas.isEmpty ? [JSONSchema.Arena.any] : schemas) else { return nil }
            elements.append(rules.contains(where: \.isUnique) ? other(value, than: elements, schemas) : value)
        }
        return .array(elements)
    }

    /// Returns a value that differs from all `elements`, if possible: `value`, another `enum` value, a larger integer
    /// or a longer string.
    private func other(
        _ value: JSONValue, than elements: [JSONValue], _ schemas: [JSONSchema.Index]
    ) -> JSONValue {
        func isFresh(_ value: JSONValue) -> Bool { !elements.contains { $0.isSame(as: value) } }
        if isFresh(value) { return value }
        for candidate in parts(of: schemas).flatMap({ arena[$0].rules.values ?? [] }) where isFresh(candidate) {
            return candidate
        }
        switch value {
        case .integer(let number):
            return .integer(number.addingReportingOverflow(Int64(clamping: elements.count)).partialValue)
        case .string(let text): return .string(text + String(elements.count))
        default: return value
        }
    }

    // MARK: Numbers and strings

    private func number(_ rules: [JSONSchema.Rules], isInteger: Bool) -> JSONValue? {
        let numbers = rules.compactMap { $0.numbers?.value }
        let divisor = numbers.lazy.compactMap(\.multipleOf).first
        var candidates: [JSONValue] = [.integer(1), .integer(0)]
        for rule in numbers {
            for bound in [rule.minimum, rule.maximum, rule.above, rule.below] {
                guard let bound, let double = try? bound.floatingPoint(Double.self) else { continue }
                candidates.append(bound)
                for near in [double.rounded(.up), double.rounded(.down), double + 1, double - 1, double + 0.5] {
                    candidates.append(Int64(exactly: near).map { .integer($0) } ?? .number(near))
                }
            }
            if let low = rule.minimum ?? rule.above, let high = rule.maximum ?? rule.below,
                let low = try? low.floatingPoint(Double.self), let high = try? high.floatingPoint(Double.self)
            {
                candidates.append(.number(low + (high - low) / 2))
            }
        }
        if let divisor {
            let steps = candidates
            candidates.append(divisor)
            guard let unit = try? divisor.floatingPoint(Double.self) else { return nil }
            for candidate in steps {
                guard let double = try? candidate.floatingPoint(Double.self) else { continue }
                for near in [(double / unit).rounded(.up), (double / unit).rounded(.down)] {
                    candidates.append(Int64(exactly: near * unit).map { .integer($0) } ?? .number(near * unit))
                }
            }
        }
        return candidates.first { value in
            guard !isInteger || value.isInteger else { return false }
            return numbers.allSatisfy { rule in
                func order(_ bound: JSONValue?) -> JSONValue.Order? { bound.flatMap { JSONValue.order(value, $0) } }
                return order(rule.minimum) != .less && order(rule.maximum) != .more
                    && order(rule.above) ?? .more == .more
                    && order(rule.below) ?? .less == .less && rule.multipleOf.map { value.isMultiple(of: $0) } ?? true
            }
        }
    }

    private func string(_ rules: [JSONSchema.Rules]) -> JSONValue? {
        let minimum = rules.map(\.length.minimum).max() ?? 0
        let maximum = rules.map(\.length.maximum).min() ?? Int.max
        guard minimum <= 100 * JSONExampleMaker.maximumCount else { return nil }
        if let pattern = rules.lazy.compactMap(\.pattern).first {
            // Repeat an unbounded part of the pattern until the text is long enough.
            for extra in [0, 1, max(0, minimum - 1), minimum] {
                var words = JSONPatternExample(pattern.source, extra: min(extra, JSONExampleMaker.maximumCount))
                if let text = words.text(), (minimum...max(minimum, maximum)).contains(text.unicodeScalars.count) {
                    return .string(text)
                }
            }
            return nil
        }
        if let format = rules.lazy.compactMap(\.format).first { return .string(format.example) }
        let name = rules.lazy.compactMap { $0.notice?.value.format }.first ?? ""
        var text = JSONExampleMaker.texts[name] ?? "string"
        if text.utf8.count > maximum { text = String(text.prefix(maximum)) }
        if text.utf8.count < minimum { text += String(repeating: "x", count: minimum - text.utf8.count) }
        return .string(text)
    }

    /// Examples of formats that the checker does not validate. All are ASCII, so a byte is a character.
    private static let texts = [
        "time": "12:00:00Z", "duration": "PT1S", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
        "uri-reference": "/path", "byte": "AA==", "decimal": "1", "int64": "1", "json-pointer": "/a",
    ]

    // MARK: Checking

    private mutating func accept(_ value: JSONValue, _ schemas: [JSONSchema.Index]) -> Bool {
        for schema in schemas {
            let steps = min(budget, JSONExampleMaker.maximumSteps)
            var checker = JSONSchemaChecker(arena, use, maximumSteps: steps)
            let isAccepted = checker.isValid(value, schema)
            budget -= min(steps, steps - checker.budget)
            guard isAccepted else { return false }
        }
        return true
    }

    /// Returns `schemas` and all schemas that apply unconditionally with them, each once.
    private func parts(of schemas: [JSONSchema.Index]) -> [JSONSchema.Index] {
        if schemas.count == 1 { return arena.parts(of: schemas[0]) }
        var known: Set<JSONSchema.Index> = []
        return schemas.flatMap(arena.parts).filter { known.insert($0).inserted }
    }
}
