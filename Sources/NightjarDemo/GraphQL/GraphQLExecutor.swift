extension GraphQL {
    /// Executes one operation. Section 6.
    struct Executor {
        private let schema: Schema
        private let document: Document
        private let operation: Operation
        private let root: NamedType
        private let coercion: Coercion
        private var failures: [Failure] = []
        private var fieldCount = 0

        /// The maximum number of fields, because fragments can multiply them.
        private static let maximumFields = 100_000

        var kind: OperationKind { operation.kind }

        /// Reads and checks a request.
        ///
        /// - Parameters:
        ///   - name: The name of the operation. Nil if the text has only one.
        ///   - variables: An object, or null.
        init(
            _ schema: Schema, _ text: String, operation name: String?, variables: JSON
        ) throws(Failures) {
            do throws(Failure) {
                document = try Parser.document(text)
                operation = try Executor.operation(name, in: document)
                let failures = Validator.failures(of: operation, document, schema)
                guard failures.isEmpty, let root = schema.root(operation.kind) else {
                    throw failures.first ?? Executor.noRoot
                }
                self.root = root
                self.schema = schema
                var coercion = Coercion(schema: schema)
                try coercion.setVariables(variables, for: operation)
                self.coercion = coercion
            } catch {
                throw Failures(all: [error])
            }
        }

        /// The failures of a request that was not executed.
        struct Failures: Error {
            let all: [Failure]

            /// The list of the errors.
            var json: JSON { .array(all.map(\.json)) }

            var response: JSON { ["errors": json] }
        }

        private static let noRoot = Failure(message: "there is no such kind of operation")

        private static func operation(_ name: String?, in document: Document) throws(Failure) -> Operation {
            guard let name else {
                guard document.operations.count == 1, let only = document.operations.first else {
                    throw Failure(
                        message: document.operations.isEmpty
                            ? "the request has no operation" : "the request has several operations; set operationName")
                }
                return only
            }
            guard let operation = document.operations.first(where: { $0.name == name }) else {
                throw Failure(message: "there is no operation \(name)")
            }
            return operation
        }

        /// Returns the response: an object with `data`, and with `errors` if there are any.
        ///
        /// - Parameter source: The source of the root's fields.
        mutating func execute(_ source: Any) -> JSON {
            failures = []
            fieldCount = 0
            var data = JSON.null
            do throws(Null) {
                data = try object(root, source, operation.selections, [])
            } catch {}
            var members: [JSON.Member] = []
            if !failures.isEmpty { members.append(.init(name: "errors", value: .array(failures.map(\.json)))) }
            members.append(.init(name: "data", value: data))
            return .object(members)
        }

        /// Returns the name and the arguments of the field of a subscription. Sections 5.2.3.1 and 6.2.3.1.
        func subscribedField() throws(Failures) -> (name: String, arguments: [String: JSON]) {
            var groups: [(key: String, fields: [Field])] = []
            var visited: Set<String> = []
            collect(operation.selections, of: root, into: &groups, &visited)
            do throws(Failure) {
                guard groups.count == 1, let field = groups[0].fields.first, !field.name.hasPrefix("__"),
                    let definition = schema.field(field.name, of: root)
                else {
                    throw Failure(
                        message: "a subscription must have exactly one field, and not __typename",
                        locations: [operation.location])
                }
                let arguments = try coercion.arguments(field.arguments, for: definition.arguments, at: field.location)
                return (field.name, arguments)
            } catch {
                throw Failures(all: [error])
            }
        }

        // MARK: Objects

        /// A field that must not be null has no value: the object that has it becomes null. Section 6.4.4.
        private struct Null: Error {}

        private mutating func object(
            _ type: NamedType, _ source: Any, _ selections: [Selection], _ path: [JSON]
        ) throws(Null) -> JSON {
            var groups: [(key: String, fields: [Field])] = []
            var visited: Set<String> = []
            collect(selections, of: type, into: &groups, &visited)
            var members: [JSON.Member] = []
            for (key, fields) in groups {
                let value = try value(of: fields, type, source, path + [.string(key)])
                members.append(.init(name: key, value: value))
            }
            return .object(members)
        }

        /// Collects the fields of an object by their names in the response. Section 6.3.2.
        ///
        /// - Parameter visited: The fragments whose fields were collected. Without it, fragments that contain others twice
        ///   would need exponential time.
        private func collect(
            _ selections: [Selection], of type: NamedType, into groups: inout [(key: String, fields: [Field])],
            _ visited: inout Set<String>
        ) {
            for selection in selections {
                switch selection {
                case .field(let field) where isIncluded(field.directives):
                    if let index = groups.firstIndex(where: { $0.key == field.key }) {
                        groups[index].fields.append(field)
                    } else {
                        groups.append((field.key, [field]))
                    }
                case .spread(let name, let directives, _) where isIncluded(directives):
                    guard visited.insert(name).inserted, let fragment = document.fragments[name],
                        schema.applies(fragment.type, to: type.name)
                    else { continue }
                    collect(fragment.selections, of: type, into: &groups, &visited)
                case .inline(let condition, let directives, let selections, _) where isIncluded(directives):
                    guard schema.applies(condition ?? type.name, to: type.name) else { continue }
                    collect(selections, of: type, into: &groups, &visited)
                default: break
                }
            }
        }

        private func isIncluded(_ directives: [Directive]) -> Bool {
            directives.allSatisfy { directive in
                let condition = InputField(name: "if", description: "", type: "Boolean!")
                let values = try? coercion.arguments(directive.arguments, for: [condition], at: directive.location)
                return values?["if"] == .bool(directive.name == "include")
            }
        }

        // MARK: Fields

        private mutating func report(_ failure: Failure, _ field: Field, _ path: [JSON]) {
            failures.append(
                Failure(
                    message: failure.message,
                    locations: failure.locations.isEmpty ? [field.location] : failure.locations,
                    path: path, code: failure.code))
        }

        private mutating func value(
            of fields: [Field], _ type: NamedType, _ source: Any, _ path: [JSON]
        ) throws(Null) -> JSON {
            guard let field = fields.first, let definition = schema.field(field.name, of: type) else { return .null }
            if field.name == "__typename" { return .string(type.name) }
            let resolved: Resolved
            do throws(Failure) {
                fieldCount += 1
                guard fieldCount <= Executor.maximumFields else {
                    throw Failure(message: "the response has more than \(Executor.maximumFields) fields")
                }
                let arguments = try coercion.arguments(field.arguments, for: definition.arguments, at: field.location)
                resolved = try definition.resolve(source, arguments)
            } catch {
                report(error, field, path)
                return try Executor.null(definition.type)
            }
            return try nullable(resolved, definition.type, fields, path)
        }

        /// Completes a value. A value that cannot be completed is null, if the type allows it.
        private mutating func nullable(
            _ resolved: Resolved, _ type: TypeReference, _ fields: [Field], _ path: [JSON]
        ) throws(Null) -> JSON {
            do throws(Null) {
                return try completed(resolved, type, fields, path)
            } catch {
                return try Executor.null(type)
            }
        }

        private static func null(_ type: TypeReference) throws(Null) -> JSON {
            if type.isNonNull { throw Null() }
            return .null
        }

        /// Section 6.4.3. A failure has been reported when this function throws.
        private mutating func completed(
            _ resolved: Resolved, _ type: TypeReference, _ fields: [Field], _ path: [JSON]
        ) throws(Null) -> JSON {
            switch (type, resolved) {
            case (.nonNull(let inner), _):
                let value = try completed(resolved, inner, fields, path)
                guard value != .null else {
                    report(Failure(message: "the field \(fields[0].name) of the type \(type) is null"), fields[0], path)
                    throw Null()
                }
                return value
            case (_, .null): return .null
            case (.list(let element), .list(let values)):
                var elements: [JSON] = []
                for (index, value) in values.enumerated() {
                    elements.append(try nullable(value, element, fields, path + [.int(index)]))
                }
                return .array(elements)
            case (.named, .leaf(let value)): return value
            case (.named, .object(let name, let source)):
                guard let type = schema[name] else { return .null }
                return try object(type, source, fields.flatMap(\.selections), path)
            default:
                report(Failure(message: "the field \(fields[0].name) has a value that is not \(type)"), fields[0], path)
                throw Null()
            }
        }
    }
}
