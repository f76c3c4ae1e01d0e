import NightjarHTTP

extension CatalogBuilder {
    /// The URLs of a list of servers, absolute, their variables filled in by what is sent where nobody chooses. OpenAPI
    /// 3.1 sections 4.8.5 and 4.8.6.
    ///
    /// - Parameter context: what has the list; nil: the description.
    /// - Returns: nil where there is no list.
    mutating func servers(of place: DocumentPlace, _ context: String? = nil) -> [String]? {
        guard let list = place["servers"], list.node.isArray else { return nil }
        if let urls = serverLists[list.key] { return urls }
        var urls: [String] = []
        for (number, element) in list.node.elements.prefix(CatalogBuilder.maximumServers).enumerated() {
            let server = DocumentPlace(document: list.document, node: element)
            let context = context.map { "\($0).servers.\(number)" } ?? "servers.\(number)"
            do throws(NightjarError) {
                guard let template = texts.text(server["url"]) else {
                    throw NightjarError(.invalidArgument, "it has no url")
                }
                let url = try filled(template, server["variables"])
                serverBytes += url.utf8.count
                guard serverBytes <= CatalogBuilder.maximumServerBytes else {
                    throw NightjarError(
                        .invalidArgument,
                        "the servers of the document have more than \(CatalogBuilder.maximumServerBytes >> 20) MiB")
                }
                if let absolute = try set.documents[server.document].location.server(url) {
                    urls.append(absolute)
                } else {
                    note(context, "\(quoted(url)) is relative, and a file has no URL; set the client's base URL")
                }
            } catch {
                note(context, "it is left out: \(error.message)")
            }
        }
        serverLists[list.key] = urls
        return urls
    }

    /// Servers of a list.
    private static let maximumServers = 1000
    /// Bytes of the URLs of all servers. By aliases and variables, a document of few bytes can have any number of the longest.
    private static let maximumServerBytes = 16 << 20

    private func filled(_ template: String, _ variables: DocumentPlace?) throws(NightjarError) -> String {
        guard template.utf8.count <= CatalogBuilder.maximumPath else {
            throw NightjarError(.invalidArgument, "it is too long")
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
                throw NightjarError(.invalidArgument, "nothing is said of its variable \(quoted(name))")
            }
            guard
                let value = texts.text(variable["default"])
                    ?? variable["enum"]?.node.elements.first(where: { _ in true })?.text
            else {
                throw NightjarError(.invalidArgument, "its variable \(quoted(name)) has no default")
            }
            url += value
            guard url.utf8.count <= CatalogBuilder.maximumPath else {
                throw NightjarError(.invalidArgument, "it is too long")
            }
            rest = rest[rest.utf8.index(after: close)...]
        }
        guard url.utf8.count + rest.utf8.count <= CatalogBuilder.maximumPath else {
            throw NightjarError(.invalidArgument, "it is too long")
        }
        return url + rest
    }
}
