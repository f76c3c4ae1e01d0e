extension GraphQL {
    /// Converts values of requests to those of the schema's types. Section 3, "Input Coercion".
    struct Coercion {
        let schema: Schema
        /// The values of the variables. A variable without a value and without a default value is absent.
        var variables: [String: JSON] = [:]

        // MARK: Arguments

        /// Returns the values of arguments or of the fields of an input object, with default values.
        ///
        /// - Throws: a failure without a path.
        func arguments(
            _ given: [Argument], for fields: [InputField], at location: Location
        ) throws(Failure) -> [String: JSON] {
            var values: [String: JSON] = [:]
            for field in fields {
                guard let argument = given.first(where: { $0.name == field.name }) else {
                    values[field.name] = field.fallback
                    continue
                }
                if case .variable(let name, _) = argument.value, variables[name] == nil {
                    values[field.name] = field.fallback
                    if field.isRequired {
                        throw Failure(
                            message: "the variable $\(name) of the argument \(field.name) has no value",
                            locations: [argument.location])
                    }
                    continue
                }
                do throws(Reason) {
                    values[field.name] = try coerced(argument.value, to: field.type)
                } catch {
                    throw Failure(
                        message: "the argument \(field.name)\(error.place) \(error.text)",
                        locations: [argument.location])
                }
            }
            return values
        }

        // MARK: Variables

        /// Sets the values of the variables of an operation.
        mutating func setVariables(_ given: JSON, for operation: Operation) throws(Failure) {
            for definition in operation.variables {
                guard schema[definition.type.name]?.isInput == true else {
                    throw Failure(
                        message:
                            "the variable $\(definition.name) has the type \(definition.type), which is no input type",
                        locations: [definition.location])
                }
                do throws(Reason) {
                    if let value = given[definition.name] {
                        variables[definition.name] = try coerced(value, to: definition.type)
                    } else if let fallback = definition.fallback {
                        variables[definition.name] = try coerced(fallback, to: definition.type)
                    } else if definition.type.isNonNull {
                        throw Reason("has no value")
                    }
                } catch {
                    throw Failure(
                        message: "the variable $\(definition.name)\(error.place) \(error.text)",
                        locations: [definition.location])
                }
            }
        }

        // MARK: Values

        /// Why a value cannot be used, and where in the value.
        private struct Reason: Error {
            var place = ""
            let text: String

            init(_ text: String) { self.text = text }

            func inside(_ place: String) -> Reason {
                var reason = self
                reason.place = place + self.place
                return reason
            }
        }

        private func coerced(_ value: Value, to type: TypeReference) throws(Reason) -> JSON {
            try coerced(try json(value, type), to: type)
        }

        /// Returns a literal as JSON. A value of an enumeration becomes a string; a string literal is an invalid one.
        private func json(_ value: Value, _ type: TypeReference) throws(Reason) -> JSON {
            var isEnumeration = false
            if case .enumeration? = schema[type.name]?.kind { isEnumeration = true }
            switch value {
            case .variable(let name, _): return variables[name] ?? .null
            case .null: return .null
            case .boolean(let flag): return .bool(flag)
            case .integer(let number): return .integer(number)
            case .float(let number): return .number(number)
            case .string(let text):
                guard !isEnumeration else { throw Reason("must be \(type), not a string") }
                return .string(text)
            case .enumeration(let name):
                guard isEnumeration else { throw Reason("must be \(type), not the name \(name)") }
                return .string(name)
            case .list(let values):
                var elements: [JSON] = []
                for (index, value) in values.enumerated() {
                    do throws(Reason) { elements.append(try json(value, type)) } catch {
                        throw error.inside("[\(index)]")
                    }
                }
                return .array(elements)
            case .object(let given):
                guard case .input(let fields)? = schema[type.name]?.kind else {
                    throw Reason("must be \(type), not an object")
                }
                var members: [JSON.Member] = []
                for member in given {
                    // A variable without a value is like an absent field.
                    if case .variable(let name, _) = member.value, variables[name] == nil { continue }
                    let inner = fields.first { $0.name == member.name }?.type ?? type
                    do throws(Reason) {
                        members.append(.init(name: member.name, value: try json(member.value, inner)))
                    } catch {
                        throw error.inside(".\(member.name)")
                    }
                }
                return .object(members)
            }
        }

        private func coerced(_ value: JSON, to type: TypeReference) throws(Reason) -> JSON {
            switch type {
            case .nonNull(let inner):
                guard value != .null else { throw Reason("must not be null") }
                return try coerced(value, to: inner)
            case _ where value == .null: return .null
            case .list(let element):
                guard case .array(let values) = value else { return .array([try coerced(value, to: element)]) }
                var elements: [JSON] = []
                for (index, value) in values.enumerated() {
                    do throws(Reason) { elements.append(try coerced(value, to: element)) } catch {
                        throw error.inside("[\(index)]")
                    }
                }
                return .array(elements)
            case .named(let name): return try coerced(value, toNamed: name)
            }
        }

        private func coerced(_ value: JSON, toNamed name: String) throws(Reason) -> JSON {
            switch (schema[name]?.kind, value) {
            case (.enumeration(let names)?, .string(let text)) where names.contains(text): return value
            case (.enumeration(let names)?, _):
                throw Reason("must be one of \(names.joined(separator: ", "))")
            case (.input(let fields)?, .object(let members)): return try object(members, name, fields)
            default: break
            }
            switch (name, value) {
            case ("Int", .integer(let number)) where Int32(exactly: number) != nil: return value
            case ("Int", .number(let number)) where Int32(exactly: number) != nil: return .integer(Int64(number))
            case ("Float", .integer), ("Float", .number), ("Boolean", .bool), ("String", .string), ("ID", .string):
                return value
            case ("ID", .integer(let number)): return .string("\(number)")
            default: throw Reason("must be \(name), not \(value.kind)")
            }
        }

        private func object(
            _ given: [JSON.Member], _ name: String, _ fields: [InputField]
        ) throws(Reason) -> JSON {
            if let unknown = given.first(where: { member in !fields.contains { $0.name == member.name } }) {
                throw Reason("has the field \(unknown.name), which \(name) does not have")
            }
            var members: [JSON.Member] = []
            for field in fields {
                let value = given.last { $0.name == field.name }?.value ?? field.fallback
                guard let value else {
                    if field.isRequired { throw Reason("has no field \(field.name)") }
                    continue
                }
                do throws(Reason) {
                    members.append(.init(name: field.name, value: try coerced(value, to: field.type)))
                } catch {
                    throw error.inside(".\(field.name)")
                }
            }
            return .object(members)
        }
    }
}
