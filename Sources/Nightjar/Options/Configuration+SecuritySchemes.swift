import NightjarHTTP

extension Configuration {
    /// Replaces the option `auth`.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument`; `storage` if a store's key cannot be read. The
    ///   configuration is then unchanged.
    public mutating func setAuth(json: UnsafeRawBufferPointer) throws(NightjarError) {
        var changed = self
        try changed.readAuth(try JSONValue(parsing: json), "auth")
        self = try changed.resolvingSchemeAuth()
    }

    /// Reads the option `auth`. A table without a type is stored in ``schemeAuth`` until the catalog determines the
    /// type.
    mutating func readAuth(_ value: JSONValue, _ path: String) throws(NightjarError) {
        schemeAuth = nil
        if case .object = value, value["type"] == nil {
            schemeAuth = value
            auth = nil
        } else {
            auth = try Authentication.read(value, path)
        }
    }

    /// Returns the configuration with ``auth`` created from ``schemeAuth``, unless an OpenAPI document must be read
    /// first.
    ///
    /// - Throws: `invalid_argument` for an `auth` without a type if no catalog determines the type.
    func resolvingSchemeAuth() throws(NightjarError) -> Configuration {
        guard let schemeAuth, openAPI == nil else { return self }
        var configuration = self
        if let catalog, !catalog.security.isEmpty {
            configuration.auth = try Authentication.read(try catalog.authOptions(base: baseURL, schemeAuth), "auth")
        } else {
            configuration.auth = try Authentication.read(schemeAuth, "auth")
        }
        configuration.schemeAuth = nil
        return configuration
    }

    /// Returns the configuration with the catalog of its OpenAPI document. A base URL or a type of authentication that
    /// is not set is taken from the catalog.
    func loadingOpenAPI() throws(NightjarError) -> Configuration {
        var configuration = self
        if let openAPI {
            var catalog = try Catalog(openAPI: openAPI, folder: openAPIFolder)
            for operation in self.catalog?.operations ?? [] { catalog.set(operation) }
            configuration.catalog = catalog
            configuration.openAPI = nil
        }
        if configuration.baseURL == nil, let server = configuration.catalog?.servers.first {
            configuration.baseURL = server
        }
        return try configuration.resolvingSchemeAuth()
    }
}
