extension GraphQL {
    /// Parses the text of a request. Section 2.
    struct Parser {
        private var lexer: Lexer
        private var token = Token.end
        private var location = Location(line: 1, column: 1)
        private var depth = 0

        /// The maximum nesting of selections, values and types, because reading recurses.
        private static let maximumDepth = 100

        static func document(_ text: String) throws(Failure) -> Document {
            var parser = Parser(lexer: Lexer(text))
            try parser.advance()
            return try parser.document()
        }

        private init(lexer: Lexer) { self.lexer = lexer }

        // MARK: Tokens

        private mutating func advance() throws(Failure) { (token, location) = try lexer.next() }

        private func unexpected(_ expected: String) -> Failure {
            Failure(message: "expected \(expected), found \(token.description)", locations: [location])
        }

        private mutating func accept(_ punctuator: String) throws(Failure) -> Bool {
            guard token == .punctuator(punctuator) else { return false }
            try advance()
            return true
        }

        private mutating func expect(_ punctuator: String) throws(Failure) {
            guard try accept(punctuator) else { throw unexpected("\"\(punctuator)\"") }
        }

        private mutating func name(_ expected: String) throws(Failure) -> String {
            guard case .name(let name) = token else { throw unexpected(expected) }
            try advance()
            return name
        }

        private mutating func accept(name: String) throws(Failure) -> Bool {
            guard token == .name(name) else { return false }
            try advance()
            return true
        }

        /// Reads elements up to a closing token. The opening one was read.
        private mutating func list<Element>(
            until end: String, isEmptyAllowed: Bool = false,
            _ element: (inout Parser) throws(Failure) -> Element
        ) throws(Failure) -> [Element] {
            depth += 1
            defer { depth -= 1 }
            guard depth <= Parser.maximumDepth else {
                throw Failure(message: "the request is nested too deeply", locations: [location])
            }
            var elements: [Element] = []
            if isEmptyAllowed, try accept(end) { return elements }
            repeat { elements.append(try element(&self)) } while try !accept(end)
            return elements
        }

        // MARK: Definitions

        private mutating func document() throws(Failure) -> Document {
            var document = Document()
            repeat {
                let start = location
                if try accept(name: "fragment") {
                    let fragment = try fragment(start)
                    guard document.fragments.updateValue(fragment, forKey: fragment.name) == nil else {
                        throw Failure(message: "there are two fragments \(fragment.name)", locations: [start])
                    }
                } else {
                    document.operations.append(try operation(start))
                }
            } while token != .end
            return document
        }

        private mutating func fragment(_ start: Location) throws(Failure) -> Fragment {
            let name = try name("the name of a fragment")
            guard name != "on", try accept(name: "on") else { throw unexpected("\"on\" and a type") }
            let type = try self.name("a type")
            _ = try directives()
            return Fragment(name: name, type: type, selections: try selections(), location: start)
        }

        private mutating func operation(_ start: Location) throws(Failure) -> Operation {
            if token == .punctuator("{") {
                return Operation(
                    kind: .query, name: nil, variables: [], selections: try selections(), location: start)
            }
            guard case .name(let word) = token, let kind = OperationKind(rawValue: word) else {
                throw unexpected("query, mutation, subscription or fragment")
            }
            try advance()
            var name: String?
            if case .name = token { name = try self.name("a name") }
            let variables =
                try accept("(")
                ? try list(until: ")") { (parser) throws(Failure) in try parser.variableDefinition() } : []
            _ = try directives()
            return Operation(
                kind: kind, name: name, variables: variables, selections: try selections(), location: start)
        }

        private mutating func variableDefinition() throws(Failure) -> VariableDefinition {
            let start = location
            try expect("$")
            let name = try name("the name of a variable")
            try expect(":")
            let type = try type()
            let fallback = try accept("=") ? try value(isConstant: true) : nil
            _ = try directives()
            return VariableDefinition(name: name, type: type, fallback: fallback, location: start)
        }

        private mutating func type() throws(Failure) -> TypeReference {
            let type: TypeReference
            if try accept("[") {
                let elements = try list(until: "]") { (parser) throws(Failure) in try parser.type() }
                guard elements.count == 1 else { throw unexpected("one type") }
                type = .list(elements[0])
            } else {
                type = .named(try name("a type"))
            }
            return try accept("!") ? .nonNull(type) : type
        }

        // MARK: Selections

        private mutating func selections() throws(Failure) -> [Selection] {
            try expect("{")
            return try list(until: "}") { (parser) throws(Failure) in try parser.selection() }
        }

        private mutating func selection() throws(Failure) -> Selection {
            let start = location
            guard try accept("...") else { return .field(try field(start)) }
            if case .name(let name) = token, name != "on" {
                try advance()
                return .spread(name: name, try directives(), start)
            }
            let type = try accept(name: "on") ? try name("a type") : nil
            return .inline(type: type, try directives(), try selections(), start)
        }

        private mutating func field(_ start: Location) throws(Failure) -> Field {
            var name = try name("a field")
            var alias: String?
            if try accept(":") { (alias, name) = (name, try self.name("a field")) }
            let arguments = try arguments()
            let directives = try directives()
            return Field(
                alias: alias, name: name, arguments: arguments, directives: directives,
                selections: token == .punctuator("{") ? try selections() : [], location: start)
        }

        private mutating func arguments() throws(Failure) -> [Argument] {
            guard try accept("(") else { return [] }
            return try list(until: ")") { (parser) throws(Failure) in
                let start = parser.location
                let name = try parser.name("an argument")
                try parser.expect(":")
                return Argument(name: name, value: try parser.value(isConstant: false), location: start)
            }
        }

        private mutating func directives() throws(Failure) -> [Directive] {
            var directives: [Directive] = []
            while true {
                let start = location
                guard try accept("@") else { return directives }
                let name = try name("the name of a directive")
                directives.append(Directive(name: name, arguments: try arguments(), location: start))
            }
        }

        // MARK: Values

        private mutating func value(isConstant: Bool) throws(Failure) -> Value {
            let start = location
            switch token {
            case .integer(let number):
                try advance()
                return .integer(number)
            case .float(let number):
                try advance()
                return .float(number)
            case .string(let text):
                try advance()
                return .string(text)
            case .name(let name):
                try advance()
                switch name {
                case "true": return .boolean(true)
                case "false": return .boolean(false)
                case "null": return .null
                default: return .enumeration(name)
                }
            case .punctuator("$") where !isConstant:
                try advance()
                return .variable(try name("the name of a variable"), start)
            case .punctuator("["):
                try advance()
                return .list(
                    try list(until: "]", isEmptyAllowed: true) { (parser) throws(Failure) in
                        try parser.value(isConstant: isConstant)
                    })
            case .punctuator("{"):
                try advance()
                return .object(
                    try list(until: "}", isEmptyAllowed: true) { (parser) throws(Failure) in
                        let name = try parser.name("a field")
                        try parser.expect(":")
                        return Value.Member(name: name, value: try parser.value(isConstant: isConstant))
                    })
            default: throw unexpected("a value")
            }
        }
    }
}
