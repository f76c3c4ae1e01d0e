import NightjarHTTP
import Testing

@testable import NightjarAPI

extension CorpusTests {
    /// Creates two requests for each operation: one with all parameters, one with only the required parameters. The
    /// values are examples of the document or generated from its schemas.
    @Test(arguments: [
        ("openai.yaml"), ("discord.json"), ("digitalocean/specification/DigitalOcean-public.v2.yaml"),
        ("examples/v3.0-api-with-examples.json"), ("examples/v3.0-callback-example.yaml"),
        ("examples/v3.0-link-example.json"), ("examples/v3.0-petstore-expanded.yaml"),
        ("examples/v3.0-petstore.yaml"), ("examples/v3.0-uspto.json"), ("examples/v3.1-non-oauth-scopes.json"),
        ("examples/v3.1-tictactoe.yaml"),
    ])
    func everyOperationHasARequest(file: String) throws {
        let catalog = try CatalogLoader.load("\(corpus)/\(file)", read: contents)
        var failures: [String] = []
        for operation in catalog.operations {
            for isWhole in [false, true] {
                do {
                    let request = try operation.request(arguments(operation, isWhole))
                    if request.target.contains("{") || request.target.contains("//") && request.target.first == "/" {
                        failures.append("\(operation.name): \(request.target)")
                    }
                } catch {
                    failures.append((error as? NightjarError)?.message ?? "\(error)")
                }
            }
        }
        #expect(failures.isEmpty, "\(failures.count) of \(catalog.operations.count): \(failures.prefix(20))")
    }

    private func arguments(_ operation: NightjarAPI.Operation, _ isWhole: Bool) throws -> Arguments {
        var arguments = Arguments()
        for parameter in operation.parameters where parameter.isRequired || isWhole {
            let schema = try parameter.schema?.get()
            let values = [parameter.example, schema?.example(use: .request), "x"].compactMap { $0 }
            let value = values.first { value in schema?.mismatch(in: value, use: .request) == nil } ?? "x"
            arguments.values.append((name: "\(parameter.place.rawValue).\(parameter.name)", value: value))
        }
        guard let content = operation.content, content.isRequired || isWhole, let choice = content.choices.first else {
            return arguments
        }
        let schema = try choice.schema?.get()
        let values = [choice.example, schema?.example(use: .request)].compactMap { $0 }
        if let value = values.first(where: { value in schema?.mismatch(in: value, use: .request) == nil }) {
            arguments.body = .value(value)
        } else {
            arguments.body = .content(.file(path: "/dev/null"), type: nil)
        }
        return arguments
    }
}
