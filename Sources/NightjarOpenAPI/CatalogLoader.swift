import NightjarHTTP

/// Reads an OpenAPI document and what it refers to into a ``Catalog``, whoever fetches the parts.
///
///     wants(first) ──received──▶ wants(others) ... ──received──▶ complete
public struct CatalogLoader {
    /// - Parameter location: an absolute file path, or an absolute URL.
    public init(_ location: String) { wanted = [location] }

    /// Documents not received yet. Empty: ``catalog()`` can be called.
    public private(set) var wanted: [String]
}
