/// Parses executable documents. Recursion is limited by ``maximumDepth``.
struct GraphQLParser {
    private typealias Selection = GraphQLDocument.Selection

    private var lexer: GraphQLLexer
    private var token: GraphQLLexer.Token

    init(_ text: String) throws(NightjarError) {
        lexer = try GraphQLLexer(text)
        token = try lexer.next()
    }

    /// The maximum depth of selection sets and of list and object literals. Servers usually allow 10 to 20.
    private static let maximumDepth = 100

    mutating func read(into document: inout GraphQLDocument) throws(NightjarError) {
        while token != .end {
            if token == .punctuator(UInt8(ascii: "{")) {
                var operation = GraphQLDocument.Operation()
                operation.selections = try selectionSet(0)
                document.operations.append(operation)
                continue
            }
            guard case .name(let keyword) = token else { throw unexpected("a definition") }
            if keyword == "fragment" {
                let (name, selections) = try fragment()
                document.fragments[name] = selections
            } else if let kind = GraphQLDocument.Kind(rawValue: keyword) {
                document.operations.append(try operation(kind))
            } else {
                throw lexer.error(
                    "\(quoted(keyword)) does not begin an executable definition (query, mutation, subscription, fragment)"
                )
            }
        }
        for operation in document.operations where operation.name == nil && document.operations.count > 1 {
            throw NightjarError(
                .invalidArgument,
                "the GraphQL document has several operations, and one has no name; give each operation a name")
        }
    }

    // MARK: Definitions

    private mutating func operation(_ kind: GraphQLDocument.Kind) throws(NightjarError) -> GraphQLDocument.Operation {
        var operation = GraphQLDocument.Operation(kind: kind)
        try advance()
        if case .name(let name) = token {
            operation.name = name
            try advance()
        }
        if try take("(") {
            repeat { operation.variables.append(try variableDefinition()) } while try !take(")")
        }
        try directives(0)
        operation.selections = try selectionSet(0)
        return operation
    }

    private mutating func variableDefinition() throws(NightjarError) -> GraphQLDocument.Variable {
        try expect("$")
        let name = try self.name("the name of a variable")
        try expect(":")
        var variable = GraphQLDocument.Variable(name: name, type: try type(0))
        if try take("=") {
            variable.hasDefault = true
            _ = try value(0)
        }
        try directives(0)
        return variable
    }

    private mutating func type(_ depth: Int) throws(NightjarError) -> GraphQLType {
        guard depth < GraphQLType.maximumDepth else { throw lexer.error("a type is nested too deeply") }
        var type: GraphQLType
        if try take("[") {
            type = .list(try self.type(depth + 1))
            try expect("]")
        } else {
            type = .named(try name("a type"))
        }
        if try take("!") { type = .nonNull(type) }
        return type
    }

    private mutating func fragment() throws(NightjarError) -> (name: String, selections: [GraphQLDocument.Selection]) {
        try advance()
        let name = try self.name("the name of a fragment")
        guard name != "on", try self.name("\"on\"") == "on" else { throw lexer.error("expected fragment NAME on TYPE") }
        _ = try self.name("a type")
        try directives(0)
        return (name, try selectionSet(0))
    }

    // MARK: Selections

    private mutating func selectionSet(_ depth: Int) throws(NightjarError) -> [GraphQLDocument.Selection] {
        guard depth < GraphQLParser.maximumDepth else { throw lexer.error("the fields are nested too deeply") }
        try expect("{")
        var selections: [Selection] = []
        repeat { selections.append(try selection(depth)) } while try !take("}")
        return selections
    }

    private mutating func selection(_ depth: Int) throws(NightjarError) -> GraphQLDocument.Selection {
        guard token == .spread else { return .field(try field(depth)) }
        try advance()
        if case .name(let name) = token, name != "on" {
            try advance()
            try directives(depth)
            return .spread(name)
        }
        if case .name = token {
            try advance()
            _ = try name("a type")
        }
        try directives(depth)
        return .inline(try selectionSet(depth + 1))
    }

    private mutating func field(_ depth: Int) throws(NightjarError) -> GraphQLDocument.Field {
        var name = try self.name("a field")
        let key = name
        if try take(":") { name = try self.name("a field") }
        var field = GraphQLDocument.Field(name: name, key: key)
        field.variables = try arguments(depth)
        try directives(depth)
        if token == .punctuator(UInt8(ascii: "{")) { field.selections = try selectionSet(depth + 1) }
        return field
    }

    private mutating func arguments(_ depth: Int) throws(NightjarError) -> [(argument: String, variable: String)] {
        var variables: [(argument: String, variable: String)] = []
        guard try take("(") else { return [] }
        repeat {
            let argument = try name("the name of an argument")
            try expect(":")
            if let variable = try value(depth) { variables.append((argument, variable)) }
        } while try !take(")")
        return variables
    }

    private mutating func directives(_ depth: Int) throws(NightjarError) {
        while try take("@") {
            _ = try name("a directive")
            _ = try arguments(depth)
        }
    }

    /// Skips a value. Returns the name of the variable if the value is a variable.
    private mutating func value(_ depth: Int) throws(NightjarError) -> String? {
        guard depth < GraphQLParser.maximumDepth else { throw lexer.error("a value is nested too deeply") }
        if try take("$") { return try name("the name of a variable") }
        if try take("[") {
            while try !take("]") { _ = try value(depth + 1) }
        } else if try take("{") {
            while try !take("}") {
                _ = try name("a field of an input object")
                try expect(":")
                _ = try value(depth + 1)
            }
        } else {
            switch token {
            case .name, .literal: try advance()
            default: throw unexpected("a value")
            }
        }
        return nil
    }

    // MARK: Tokens

    private mutating func advance() throws(NightjarError) { token = try lexer.next() }

    private mutating func take(_ character: Unicode.Scalar) throws(NightjarError) -> Bool {
        guard token == .punctuator(UInt8(ascii: character)) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(NightjarError) {
        guard try take(character) else { throw unexpected("\"\(character)\"") }
    }

    private mutating func name(_ role: String) throws(NightjarError) -> String {
        guard case .name(let name) = token else { throw unexpected(role) }
        try advance()
        return name
    }

    private func unexpected(_ expected: String) -> NightjarError {
        let found =
            switch token {
            case .end: "the end"
            case .name(let name): quoted(name)
            case .literal: "a literal"
            case .spread: "\"...\""
            case .punctuator(let byte): "\"\(Unicode.Scalar(byte))\""
            }
        return lexer.error("expected \(expected), found \(found)")
    }
}
