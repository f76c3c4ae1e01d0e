extension GraphQL {
    /// Checks an operation before its execution: fields, arguments, fragments and variables. Section 5.
    struct Validator {
        private let schema: Schema
        private let document: Document
        private let operation: Operation
        private var failures: [Failure] = []
        /// The fragments that contain the present place.
        private var open: [String] = []
        /// The fragments that were checked.
        private var checked: Set<String> = []

        /// Returns the failures of an operation.
        static func failures(of operation: Operation, _ document: Document, _ schema: Schema) -> [Failure] {
            guard let root = schema.root(operation.kind) else {
                return [
                    Failure(
                        message: "there are no operations of the kind \(operation.kind.rawValue)",
                        locations: [operation.location])
                ]
            }
            var validator = Validator(schema: schema, document: document, operation: operation)
            validator.check(operation.selections, of: root)
            return validator.failures
        }

        private init(schema: Schema, document: Document, operation: Operation) {
            (self.schema, self.document, self.operation) = (schema, document, operation)
        }

        private mutating func fail(_ message: String, _ location: Location) {
            failures.append(Failure(message: message, locations: [location]))
        }

        private mutating func check(_ selections: [Selection], of type: NamedType) {
            for selection in selections {
                switch selection {
                case .field(let field): check(field, of: type)
                case .spread(let name, let directives, let location):
                    check(directives)
                    check(fragment: name, of: type, location)
                case .inline(let condition, let directives, let selections, let location):
                    check(directives)
                    if let inner = conditionType(condition ?? type.name, of: type, location) {
                        check(selections, of: inner)
                    }
                }
            }
        }

        private mutating func check(_ field: Field, of type: NamedType) {
            check(field.directives)
            guard let definition = schema.field(field.name, of: type) else {
                return fail("the type \(type.name) has no field \(field.name)", field.location)
            }
            check(field.arguments, for: definition.arguments, "the field \(field.name)", field.location)
            guard let inner = schema[definition.type.name], inner.fields != nil else {
                if !field.selections.isEmpty {
                    fail("the field \(field.name) of the type \(definition.type) has no fields", field.location)
                }
                return
            }
            if field.selections.isEmpty {
                fail(
                    "the field \(field.name) of the type \(definition.type) needs a selection of fields", field.location
                )
            }
            check(field.selections, of: inner)
        }

        private mutating func check(fragment name: String, of outer: NamedType, _ location: Location) {
            guard let fragment = document.fragments[name] else {
                return fail("there is no fragment \(name)", location)
            }
            guard !open.contains(name) else { return fail("the fragment \(name) contains itself", location) }
            guard let type = conditionType(fragment.type, of: outer, location), checked.insert(name).inserted else {
                return
            }
            open.append(name)
            check(fragment.selections, of: type)
            open.removeLast()
        }

        /// Returns the type of a fragment in a selection of fields of `outer`.
        private mutating func conditionType(
            _ name: String, of outer: NamedType, _ location: Location
        ) -> NamedType? {
            guard let type = schema[name], type.fields != nil else {
                fail("there is no type \(name) with fields", location)
                return nil
            }
            if schema.objects(of: name).isDisjoint(with: schema.objects(of: outer.name)) {
                fail("no object of the type \(outer.name) has the type \(name)", location)
                return nil
            }
            return type
        }

        private mutating func check(_ directives: [Directive]) {
            let condition = [InputField(name: "if", description: "", type: "Boolean!")]
            for directive in directives {
                guard ["skip", "include"].contains(directive.name) else {
                    fail("there is no directive @\(directive.name)", directive.location)
                    continue
                }
                check(directive.arguments, for: condition, "the directive @\(directive.name)", directive.location)
            }
        }

        private mutating func check(
            _ arguments: [Argument], for fields: [InputField], _ owner: String, _ location: Location
        ) {
            for argument in arguments {
                if let field = fields.first(where: { $0.name == argument.name }) {
                    check(argument.value, field.type, hasFallback: field.fallback != nil, field.name)
                } else {
                    fail("\(owner) has no argument \(argument.name)", argument.location)
                }
            }
            for field in fields where field.isRequired && !arguments.contains(where: { $0.name == field.name }) {
                fail("\(owner) needs the argument \(field.name) of the type \(field.type)", location)
            }
        }

        /// Checks the variables in a value.
        private mutating func check(_ value: Value, _ type: TypeReference, hasFallback: Bool, _ name: String) {
            switch value {
            case .variable(let variable, let location):
                guard let definition = operation.variables.first(where: { $0.name == variable }) else {
                    return fail("the variable $\(variable) is not defined", location)
                }
                let hasFallback = hasFallback || definition.fallback.map { $0 != .null } == true
                if !Validator.accepts(type, definition.type, hasFallback: hasFallback) {
                    fail(
                        "the variable $\(variable) has the type \(definition.type), but \(name) has the type \(type)",
                        location)
                }
            case .list(let values):
                guard case .list(let element) = type.nullable else { return }
                for value in values { check(value, element, hasFallback: false, name) }
            case .object(let members):
                guard case .input(let fields)? = schema[type.name]?.kind else { return }
                for member in members {
                    guard let field = fields.first(where: { $0.name == member.name }) else { continue }
                    check(member.value, field.type, hasFallback: field.fallback != nil, field.name)
                }
            default: break
            }
        }

        /// Whether a variable can be used at a place. Section 5.8.5.
        private static func accepts(_ place: TypeReference, _ variable: TypeReference, hasFallback: Bool) -> Bool {
            switch (place, variable) {
            case (.nonNull(let place), .nonNull(let variable)): accepts(place, variable, hasFallback: false)
            case (.nonNull(let place), _): hasFallback && accepts(place, variable, hasFallback: false)
            case (_, .nonNull(let variable)): accepts(place, variable, hasFallback: false)
            case (.list(let place), .list(let variable)): accepts(place, variable, hasFallback: false)
            case (.named(let place), .named(let variable)): place == variable
            default: false
            }
        }
    }
}
