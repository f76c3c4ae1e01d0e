import NightjarHTTP

extension CatalogBuilder {
    /// Reads a list of alternative security requirements, any of which suffices. OpenAPI 3.1 section 4.8.30.
    ///
    /// - Returns: nil if there is no list.
    /// - Throws: `too_large` if the API has more than ``maximumParts`` parts.
    mutating func security(_ security: DocumentPlace?) throws(NightjarError) -> [SecurityRequirement]? {
        guard let security, security.node.isArray else { return nil }
        if let alternatives = securityLists[security.key] { return alternatives }
        var alternatives: [SecurityRequirement] = []
        for alternative in security.node.elements.prefix(CatalogBuilder.maximumAlternatives) {
            var requirement = SecurityRequirement()
            for (key, scopes) in alternative.members {
                try countPart()
                let place = DocumentPlace(document: security.document, node: alternative)
                var use = SecurityRequirement.Use(texts.name(key, of: place))
                for scope in scopes.elements {
                    try countPart()
                    let text = texts.text(DocumentPlace(document: security.document, node: scope))
                    if let text { use.scopes.append(text) }
                }
                requirement.schemes.append(use)
            }
            alternatives.append(requirement)
        }
        securityLists[security.key] = alternatives
        return alternatives
    }

    /// The maximum number of security requirements that are read for one operation. Real descriptions have at most
    /// three.
    private static let maximumAlternatives = 100

    /// Reads the security schemes. A scheme with several OAuth flows is added once for each flow, in order of
    /// preference. OpenAPI 3.1 section 4.8.27.
    mutating func readSecuritySchemes() {
        guard let described = root["components"]?["securitySchemes"],
            let schemes = try? resolved(described)
        else { return }
        for (key, value) in schemes.node.members {
            let name = texts.name(key, of: schemes)
            let context = "components.securitySchemes.\(name)"
            do throws(NightjarError) {
                let source = try resolved(DocumentPlace(document: schemes.document, node: value))
                for kind in try kinds(source, context) {
                    var scheme = SecurityScheme(name, kind)
                    scheme.documentation = text("description", of: source, context)
                    made.security.append(scheme)
                }
            } catch {
                note(context, "ignored: \(error.message)")
            }
        }
    }

    private mutating func kinds(
        _ source: DocumentPlace, _ context: String
    ) throws(NightjarError) -> [SecurityScheme.Kind] {
        switch texts.text(source["type"]) {
        case "http":
            switch texts.text(source["scheme"])?.lowercased() {
            case "bearer": return [.bearer]
            case "basic": return [.basic]
            case "digest": return [.digest]
            case let scheme: return [.other("http \(scheme ?? "")")]
            }
        case "apiKey":
            guard let name = texts.text(source["name"]),
                let place = texts.text(source["in"]).flatMap(Parameter.Place.init),
                place != .path
            else {
                throw NightjarError(
                    .invalidArgument,
                    "an apiKey scheme requires a name, and \"in\" with the value query, header or cookie")
            }
            return [.apiKey(name: name, place: place)]
        case "oauth2":
            let flows: [SecurityScheme.Flow] = [.authorizationCode, .clientCredentials, .password, .implicit]
            var kinds: [SecurityScheme.Kind] = []
            for flow in flows {
                if let described = source["flows"]?[flow.rawValue] { kinds.append(try oauth(flow, described, context)) }
            }
            return kinds
        case let type?: return [.other(type)]
        case nil: throw NightjarError(.invalidArgument, "the type is missing")
        }
    }

    private mutating func oauth(
        _ flow: SecurityScheme.Flow, _ source: DocumentPlace, _ context: String
    ) throws(NightjarError) -> SecurityScheme.Kind {
        var scopes: [(name: String, documentation: String)] = []
        if let listed = source["scopes"] {
            for (key, value) in listed.node.members {
                try countPart()
                scopes.append(
                    (
                        texts.name(key, of: listed),
                        texts.text(DocumentPlace(document: listed.document, node: value)) ?? ""
                    ))
            }
        }
        return .oauth2(
            flow: flow, authorizationURL: url("authorizationUrl", of: source, context),
            tokenURL: url("tokenUrl", of: source, context), scopes: scopes)
    }

    private mutating func url(_ name: String, of source: DocumentPlace, _ context: String) -> String? {
        guard let written = texts.text(source[name]), !written.isEmpty else { return nil }
        do throws(NightjarError) {
            return try set.documents[source.document].location.server(written)
        } catch {
            note("\(context).\(name)", error.message)
            return nil
        }
    }
}
