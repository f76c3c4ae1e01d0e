import NightjarHTTP

extension CatalogBuilder {
    /// OpenAPI 3.1 section 4.8.30: a list of ways to log in, of which one is enough.
    ///
    /// - Returns: false where there is none, nil where nothing is said or going without is one of the ways.
    func requiresAuth(_ security: DocumentPlace?) -> Bool? {
        guard let security, security.node.isArray else { return nil }
        let ways = security.node.elements.map { $0.count }
        if ways.allSatisfy({ $0 == 0 }) { return false }
        return ways.contains(0) ? nil : true
    }

    /// OpenAPI 3.1 section 4.8.27. One with several flows is there once for each, the best first.
    mutating func readSecuritySchemes() {
        guard let schemes = root["components"]?["securitySchemes"] else { return }
        for (key, value) in schemes.node.members {
            let name = schemes.node.name(key)
            let context = "components.securitySchemes.\(name)"
            do throws(NightjarError) {
                let source = try set.resolved(DocumentPlace(document: schemes.document, node: value))
                for kind in try kinds(source, context) {
                    var scheme = SecurityScheme(name, kind)
                    scheme.documentation = text("description", of: source, context)
                    made.security.append(scheme)
                }
            } catch {
                note(context, "it is left out: \(error.message)")
            }
        }
    }

    private mutating func kinds(
        _ source: DocumentPlace, _ context: String
    ) throws(NightjarError) -> [SecurityScheme.Kind] {
        switch source.text("type") {
        case "http":
            switch source.text("scheme")?.lowercased() {
            case "bearer": return [.bearer]
            case "basic": return [.basic]
            case "digest": return [.digest]
            case let scheme: return [.other("http \(scheme ?? "")")]
            }
        case "apiKey":
            guard let name = source.text("name"), let place = source.text("in").flatMap(Parameter.Place.init),
                place != .path
            else { throw NightjarError(.invalidArgument, "an apiKey needs a name, and in: query, header or cookie") }
            return [.apiKey(name: name, place: place)]
        case "oauth2":
            let flows: [SecurityScheme.Flow] = [.authorizationCode, .clientCredentials, .password, .implicit]
            return flows.compactMap { flow in source["flows"]?[flow.rawValue].map { oauth(flow, $0, context) } }
        case let type?: return [.other(type)]
        case nil: throw NightjarError(.invalidArgument, "it has no type")
        }
    }

    private mutating func oauth(
        _ flow: SecurityScheme.Flow, _ source: DocumentPlace, _ context: String
    ) -> SecurityScheme.Kind {
        var scopes: [(name: String, documentation: String)] = []
        if let listed = source["scopes"] {
            for (key, value) in listed.node.members { scopes.append((listed.node.name(key), value.text ?? "")) }
        }
        return .oauth2(
            flow: flow, authorizationURL: url("authorizationUrl", of: source, context),
            tokenURL: url("tokenUrl", of: source, context), scopes: scopes)
    }

    private mutating func url(_ name: String, of source: DocumentPlace, _ context: String) -> String? {
        guard let written = source.text(name), !written.isEmpty else { return nil }
        do throws(NightjarError) {
            return try set.documents[source.document].location.server(written)
        } catch {
            note("\(context).\(name)", error.message)
            return nil
        }
    }
}
