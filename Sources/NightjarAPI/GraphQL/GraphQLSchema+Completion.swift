/// Completion of documents in an editor.
extension GraphQLSchema {
    /// Returns the names that can follow the end of an incomplete document: fields, arguments, values of enums, types or
    /// keywords. If the document ends with a part of a name, all names for this place are returned.
    ///
    /// - Parameter kind: the kind of the operation if the document begins with `{`.
    package func completions(
        of text: String, _ kind: GraphQLDocument.Kind = .query
    ) throws(NightjarError) -> [String] {
        var reader = CompletionReader(schema: self, kind: kind)
        var lexer = try GraphQLLexer(text)
        var pending: GraphQLLexer.Token?
        // A string that is not complete is an error of the lexer, and nothing completes there.
        while let token = try? lexer.next() {
            if token == .end {
                // A name that ends at the end of the text is not complete.
                if case .name? = pending, GraphQLLexer.endsWithName(text) { return reader.names }
                if let pending { reader.read(pending) }
                return reader.names
            }
            if let pending { reader.read(pending) }
            pending = token
        }
        return []
    }
}

extension GraphQLLexer {
    static func endsWithName(_ text: String) -> Bool {
        text.utf8.last.map { $0 == UInt8(ascii: "_") || ASCII.isDigit($0) || isName(String(Unicode.Scalar($0))) }
            ?? false
    }
}

/// Follows the tokens of a document, which may have errors, and keeps the types of the open selection sets.
private struct CompletionReader {
    private enum Scope {
        /// A selection set of a type. Nil: unknown.
        case selections(String?)
        /// The arguments of a field. Nil: unknown.
        case arguments(GraphQLSchema.Field?)
        /// A list, an object, or the variables of an operation.
        case other
    }

    let schema: GraphQLSchema
    /// The kind of the operation that begins next.
    var kind: GraphQLDocument.Kind
    private var scopes: [Scope] = []
    /// The field whose arguments or selections may follow.
    private var field: GraphQLSchema.Field?
    /// The type that follows `on`.
    private var condition: String?
    private var expectsCondition = false
    private var isSpread = false
    /// Whether the name of a directive follows, or its arguments.
    private var isDirective = false
    private var expectsDirective = false
    /// The argument whose value follows.
    private var argument: GraphQLSchema.Input?
    private var expectsValue = false

    init(schema: GraphQLSchema, kind: GraphQLDocument.Kind) {
        self.schema = schema
        self.kind = kind
    }

    private var type: String? {
        for scope in scopes.reversed() {
            if case .selections(let type) = scope { return type }
        }
        return nil
    }

    // MARK: The names for the end

    var names: [String] {
        if expectsDirective { return ["include", "skip"] }
        if expectsCondition {
            return schema.types.filter { if case .object = $0.value { true } else { $0.value == .union } }.map(\.key)
                .sorted()
        }
        switch scopes.last {
        case nil: return field == nil ? ["fragment", "mutation", "query", "subscription"] : []
        case .selections(let type):
            if isSpread { return ["on"] }
            return (type.map(schema.fields) ?? []).map(\.name) + (type == nil ? [] : ["__typename"])
        case .arguments(let field):
            guard expectsValue else { return field?.arguments.map(\.name) ?? [] }
            guard let argument else { return [] }
            if case .enumeration(let values)? = schema.types[argument.type.name] { return values }
            return argument.type.name == "Boolean" ? ["false", "true"] : []
        case .other: return []
        }
    }

    // MARK: Tokens

    mutating func read(_ token: GraphQLLexer.Token) {
        switch token {
        case .name(let name): read(name: name)
        case .literal: expectsValue = false
        case .spread: isSpread = true
        case .punctuator(let byte): read(sign: Unicode.Scalar(byte))
        case .end: break
        }
    }

    private mutating func read(name: String) {
        isDirective = false
        if expectsDirective {
            (expectsDirective, isDirective) = (false, true)
            return
        }
        if expectsCondition {
            (condition, expectsCondition) = (name, false)
            return
        }
        switch scopes.last {
        case nil:
            if let kind = GraphQLDocument.Kind(rawValue: name) { self.kind = kind }
            if name == "on" { expectsCondition = true }
        case .selections(let type):
            if isSpread {
                isSpread = false
                expectsCondition = name == "on"
            } else {
                field = (type.map(schema.fields) ?? []).first { $0.name == name }
            }
        case .arguments(let field):
            if expectsValue {
                expectsValue = false
            } else {
                argument = field?.arguments.first { $0.name == name }
            }
        case .other: break
        }
    }

    private mutating func read(sign: Unicode.Scalar) {
        let followsDirective = isDirective
        isDirective = false
        switch sign {
        case "{":
            if case .arguments? = scopes.last {
                scopes.append(.other)
            } else if case .other? = scopes.last {
                scopes.append(.other)
            } else {
                let next =
                    scopes.isEmpty ? condition ?? schema.root(kind) : isSpread ? type : condition ?? field?.type.name
                (condition, isSpread, field) = (nil, false, nil)
                scopes.append(.selections(next))
            }
        case "(":
            if case .selections? = scopes.last, !followsDirective {
                scopes.append(.arguments(field))
            } else {
                scopes.append(.other)
            }
        case "[": scopes.append(.other)
        case "}", ")", "]":
            if case .selections? = scopes.popLast() { (field, condition) = (nil, nil) }
            expectsValue = false
        case "@": expectsDirective = true
        case ":":
            if case .arguments? = scopes.last { expectsValue = true }
        default: break
        }
    }
}
