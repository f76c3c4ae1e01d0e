import NightjarHTTP

extension Configuration {
    /// What the option `auth` takes, in the place of what was set before.
    ///
    /// - Throws: `decoding` when it is not JSON; `invalid_argument`; `storage` when a key of a store cannot be read. Then
    ///   nothing has changed.
    public mutating func setAuth(json: UnsafeRawBufferPointer) throws(NightjarError) {
        var changed = self
        try changed.readAuth(try JSONValue(parsing: json), "auth")
        self = try changed.knowingItsAuth()
    }

    /// An `auth` without a type waits until the catalog is there, which says what it is.
    mutating func readAuth(_ value: JSONValue, _ path: String) throws(NightjarError) {
        schemeAuth = nil
        if case .object = value, value["type"] == nil {
            schemeAuth = value
            auth = nil
        } else {
            auth = try Authentication.read(value, path)
        }
    }

    /// - Throws: `invalid_argument` for an `auth` without a type where no catalog can tell it.
    func knowingItsAuth() throws(NightjarError) -> Configuration {
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

    /// With the catalog that its OpenAPI document makes, and what that says where nothing is set: base URL and login.
    func knowingItsEndpoints() throws(NightjarError) -> Configuration {
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
        return try configuration.knowingItsAuth()
    }
}
