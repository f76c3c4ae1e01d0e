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

            var response: JSON { ["errors": .array(all.map(\.json))] }
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

        // MARK: Objects

        /// A field that must not be null has no value: the object that has it becomes null. Section 6.4.4.
        private struct Null: Error {}

        private mutating func object(
            _ type: NamedType, _ source: Any, _ selections: [Selection], _ path: [JSON]
        ) throws(Null) -> JSON {
            var groups: [(key: String, fields: [Field])] = []
            collect(selections, of: type, into: &groups)
            var members: [JSON.Member] = []
            for (key, fields) in groups {
                let value = try value(of: fields, type, source, path + [.string(key)])
                members.append(.init(name: key, value: value))
            }
            return .object(members)
        }

        /// Collects the fields of an object by their names in the response. Section 6.3.2.
        private func collect(
            _ selections: [Selection], of type: NamedType, into groups: inout [(key: String, fields: [Field])]
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
                    guard let fragment = document.fragments[name], schema.applies(fragment.type, to: type.name) else {
                        continue
                    }
                    collect(fragment.selections, of: type, into: &groups)
                case .inline(let condition, let directives, let selections, _) where isIncluded(directives):
                    guard schema.applies(condition ?? type.name, to: type.name) else { continue }
                    collect(selections, of: type, into: &groups)
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

        private mutating func value(
            of fields: [Field], _ type: NamedType, _ source: Any, _ path: [JSON]
        ) throws(Null) -> JSON {
            guard let field = fields.first, let definition = schema.field(field.name, of: type) else { return .null }
            if field.name == "__typename" { return .string(type.name) }
            do throws(Failure) {
                fieldCount += 1
                guard fieldCount <= Executor.maximumFields else {
                    throw Failure(message: "the response has more than \(Executor.maximumFields) fields")
                }
                let arguments = try coercion.arguments(field.arguments, for: definition.arguments, at: field.location)
                let resolved = try definition.resolve(source, arguments)
                return try completed(resolved, definition.type, fields, path)
            } catch {
                if !(error == Executor.alreadyReported) {
                    failures.append(
                        Failure(
                            message: error.message,
                            locations: error.locations.isEmpty ? [field.location] : error.locations,
                            path: path, code: error.code))
                }
                if definition.type.isNonNull { throw Null() }
                return .null
            }
        }

        /// Stands for a null whose failure has been added to ``failures``.
        private static let alreadyReported = Failure(message: "")

        private mutating func completed(
            _ resolved: Resolved, _ type: TypeReference, _ fields: [Field], _ path: [JSON]
        ) throws(Failure) -> JSON {
            switch (type, resolved) {
            case (.nonNull(let inner), _):
                let value = try completed(resolved, inner, fields, path)
                guard value != .null else {
                    throw Failure(message: "the field \(fields[0].name) of the type \(type) is null")
                }
                return value
            case (_, .null): return .null
            case (.list(let element), .list(let values)): return try list(values, element, fields, path)
            case (.named, .leaf(let value)): return value
            case (.named, .object(let name, let source)):
                guard let type = schema[name] else { return .null }
                do throws(Null) {
                    return try object(type, source, fields.flatMap(\.selections), path)
                } catch {
                    throw Executor.alreadyReported
                }
            default: throw Failure(message: "the field \(fields[0].name) has a value that is not \(type)")
            }
        }

        private mutating func list(
            _ values: [Resolved], _ element: TypeReference, _ fields: [Field], _ path: [JSON]
        ) throws(Failure) -> JSON {
            var elements: [JSON] = []
            for (index, value) in values.enumerated() {
                let path = path + [.int(index)]
                do throws(Failure) {
                    elements.append(try completed(value, element, fields, path))
                } catch {
                    if !(error == Executor.alreadyReported) {
                        failures.append(
                            Failure(
                                message: error.message, locations: [fields[0].location], path: path, code: error.code))
                    }
                    if element.isNonNull { throw Executor.alreadyReported }
                    elements.append(.null)
                }
            }
            return .array(elements)
        }
    }
}
