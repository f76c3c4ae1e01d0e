import NightjarHTTP

/// Reads an OpenAPI document and what it refers to into a ``Catalog``, whoever fetches the parts.
///
///     wants(first) ──received──▶ wants(others) ... ──received──▶ complete
///
/// OpenAPI 3.0 and 3.1, in JSON or YAML. A document may refer to others of its own origin, and a file to files.
public struct CatalogLoader: Sendable {
    private var set = DocumentSet()
    private var walk = ReferenceWalk()
    private var bytes = 0
    private var asked = 1

    /// - Parameter location: an absolute file path, or an absolute URL.
    public init(_ location: String) { wanted = [location] }

    /// Documents not received yet: absolute paths and URLs. Empty: ``catalog()`` can be called.
    public private(set) var wanted: [String]

    /// Documents of one description. DigitalOcean's, the largest we know, has 2,900.
    public static let maximumDocuments = 10_000
    /// Bytes of all of them. DigitalOcean's has 11 MB.
    public static let maximumBytes = 256 << 20

    /// Takes a document in. What is wrong with any but the first one is told where it is used.
    ///
    /// - Parameters:
    ///   - location: one of ``wanted``.
    ///   - base: where it came from in the end, after redirects; references are relative to that.
    /// - Throws: `decoding` where the first is neither JSON nor YAML, with line and column; `too_large`.
    public mutating func received(
        _ document: UnsafeRawBufferPointer, for location: String, from base: String? = nil
    ) throws(NightjarError) {
        guard let place = wanted.firstIndex(where: { $0.isExactly(location) }) else {
            throw NightjarError(.invalidArgument, "the document \(quoted(location)) is not wanted")
        }
        let location = try DocumentLocation(location)
        let base = try base.map { text throws(NightjarError) in try DocumentLocation(text) } ?? location
        bytes += document.count
        guard bytes <= CatalogLoader.maximumBytes else {
            let name = set.documents.first?.name ?? location.name
            throw NightjarError(
                .tooLarge, "\(name) and what it refers to have more than \(CatalogLoader.maximumBytes >> 20) MiB")
        }
        let tree: DocumentTree
        do throws(NightjarError) {
            tree = try DocumentTree.reading(document, name: base.name)
        } catch {
            guard !set.documents.isEmpty else { throw error }
            wanted.remove(at: place)
            set.fail(error, at: location)
            return
        }
        if set.documents.isEmpty { try CatalogBuilder.checkVersion(tree) }
        wanted.remove(at: place)
        set.add(tree, at: location, base: base)
        let further = walk.received(set.documents.count - 1, at: location, in: set)
        asked += further.count
        guard asked <= CatalogLoader.maximumDocuments else {
            throw NightjarError(
                .tooLarge,
                "\(set.documents[0].name) refers to more than \(CatalogLoader.maximumDocuments) documents")
        }
        wanted += further.map(\.text)
    }

    /// A document that cannot be had. What refers to it is left out, with a note.
    ///
    /// - Throws: `error` where it is the first one.
    public mutating func failed(_ error: NightjarError, for location: String) throws(NightjarError) {
        guard let place = wanted.firstIndex(where: { $0.isExactly(location) }) else { return }
        guard !set.documents.isEmpty else { throw error }
        wanted.remove(at: place)
        set.fail(error, at: try DocumentLocation(location))
    }

    /// What the documents describe. Operations that are broken are left out, with a note that says which and why.
    ///
    /// - Throws: `invalid_argument` where documents are missing, or the description has too many parts.
    public func catalog() throws(NightjarError) -> Catalog {
        guard wanted.isEmpty else {
            throw NightjarError(.invalidArgument, "\(wanted.count) documents are not received yet")
        }
        var builder = CatalogBuilder(set)
        return try builder.catalog()
    }

    /// Loads a whole description.
    ///
    /// - Parameter read: gives the bytes of a path or URL.
    /// - Throws: what `read` throws, unless only a part cannot be had and will not be had later either.
    public static func load(
        _ location: String, read: (String) throws(NightjarError) -> [UInt8]
    ) throws(NightjarError) -> Catalog {
        var loader = CatalogLoader(location)
        while !loader.wanted.isEmpty {
            for location in loader.wanted {
                let bytes: [UInt8]
                do throws(NightjarError) {
                    bytes = try read(location)
                } catch {
                    guard !error.isRetryable, error.kind != .cancelled else { throw error }
                    try loader.failed(error, for: location)
                    continue
                }
                try bytes.withUnsafeBytes { bytes in
                    Result { () throws(NightjarError) in try loader.received(bytes, for: location) }
                }.get()
            }
        }
        return try loader.catalog()
    }
}
