import NightjarHTTP

extension CatalogBuilder {
    /// Returns the absolute URLs of a `servers` list. Variables are replaced with their defaults, or with the first
    /// value of `enum` if there is no default. Invalid URLs are omitted, as are relative URLs in a file. OpenAPI 3.1
    /// sections 4.8.5 and 4.8.6.
    ///
    /// - Parameter context: the place of the object that has the list, for notes. Nil for the list of the document.
    /// - Returns: nil if there is no list.
    mutating func servers(of place: DocumentPlace, _ context: String? = nil) -> [String]? {
        guard let list = place["servers"], list.node.isArray else { return nil }
        if let urls = serverLists[list.key] { return urls }
        var urls: [String] = []
        for (number, element) in list.node.elements.prefix(CatalogBuilder.maximumServers).enumerated() {
            let server = DocumentPlace(document: list.document, node: element)
            let context = context.map { "\($0).servers.\(number)" } ?? "servers.\(number)"
            do throws(NightjarError) {
                guard let template = texts.text(server["url"]) else {
                    throw NightjarError(.invalidArgument, "the url is missing")
                }
                let url = try filled(template, server["variables"])
                serverBytes += url.utf8.count
                guard serverBytes <= CatalogBuilder.maximumServerBytes else {
                    throw NightjarError(
                        .invalidArgument,
                        "the server URLs of the document take more than \(CatalogBuilder.maximumServerBytes >> 20) MiB")
                }
                if let absolute = try set.documents[server.document].location.server(url) {
                    urls.append(absolute)
                } else {
                    note(
                        context,
                        "\(quoted(url)) is relative, but the description was read from a file; set the base URL"
                    )
                }
            } catch {
                note(context, "ignored: \(error.message)")
            }
        }
        serverLists[list.key] = urls
        return urls
    }

    /// The maximum number of servers that are read from one list.
    private static let maximumServers = 1000
    /// The maximum total length of all server URLs in bytes. With aliases and variables, a small document can expand to
    /// any number of long URLs.
    private static let maximumServerBytes = 16 << 20

    private func filled(_ template: String, _ variables: DocumentPlace?) throws(NightjarError) -> String {
        guard template.utf8.count <= CatalogBuilder.maximumPath else {
            throw NightjarError(.invalidArgument, "the URL is longer than \(CatalogBuilder.maximumPath) bytes")
        }
        var url = ""
        var rest = template[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")) {
            url += rest[..<open]
            rest = rest[rest.utf8.index(after: open)...]
            guard let close = rest.utf8.firstIndex(of: UInt8(ascii: "}")) else {
                throw NightjarError(.invalidArgument, "\(quoted(template)) has a { without a }")
            }
            let name = String(rest[..<close])
            guard let variable = variables?[name] else {
                throw NightjarError(.invalidArgument, "undefined variable \(quoted(name))")
            }
            guard
                let value = texts.text(variable["default"])
                    ?? variable["enum"]?.node.elements.first(where: { _ in true })?.text
            else {
                throw NightjarError(.invalidArgument, "the variable \(quoted(name)) has no default")
            }
            url += value
            guard url.utf8.count <= CatalogBuilder.maximumPath else {
                throw NightjarError(.invalidArgument, "the URL is longer than \(CatalogBuilder.maximumPath) bytes")
            }
            rest = rest[rest.utf8.index(after: close)...]
        }
        guard url.utf8.count + rest.utf8.count <= CatalogBuilder.maximumPath else {
            throw NightjarError(.invalidArgument, "the URL is longer than \(CatalogBuilder.maximumPath) bytes")
        }
        return url + rest
    }
}
