import NightjarHTTP

/// Reads an OpenAPI document and the documents it refers to into a ``Catalog``. The caller fetches the documents.
///
///     needs(first) ──received──▶ needs(others) ... ──received──▶ complete
///
/// Reads OpenAPI 3.0, OpenAPI 3.1 and Swagger 2.0 documents in JSON or YAML. Swagger 2.0 documents are converted. A
/// document at a URL may refer only to documents of the same origin, and a file only to files.
package struct CatalogLoader: Sendable {
    private var set = DocumentSet()
    private var traversal = ReferenceTraversal()
    private var bytes = 0
    private var requestCount = 1
    /// The notes about values of Swagger 2.0 documents that could not be converted.
    private var conversionNotes: [String] = []

    /// - Parameter location: an absolute file path, or an absolute URL.
    package init(_ location: String) { missing = [location] }

    /// The absolute paths and URLs of the documents that are still needed. When empty, ``catalog()`` can be called.
    package private(set) var missing: [String]

    /// The maximum number of documents of one description. The largest known description (DigitalOcean) has 2,900.
    package static let maximumDocuments = 10_000
    /// The maximum total size of all documents in bytes. DigitalOcean's description has 11 MB.
    package static let maximumBytes = 256 << 20

    /// Adds a document. An error in the first document is thrown. A syntax error in another document becomes a note at
    /// each place that refers to the document.
    ///
    /// - Parameters:
    ///   - location: one of ``missing``.
    ///   - base: the final location after redirects, against which references are resolved. The default is `location`.
    /// - Throws: `decoding` if the first document is neither JSON nor YAML, usually with line and column,
    ///   `invalid_argument` if the first document is neither an OpenAPI 3 nor a Swagger 2.0 description or `location`
    ///   is not in ``missing``, `invalid_url`, `too_large`, `no_memory`.
    package mutating func received(
        _ document: UnsafeRawBufferPointer, for location: String, from base: String? = nil
    ) throws(NightjarError) {
        guard let place = missing.firstIndex(where: { $0.isExactly(location) }) else {
            throw NightjarError(.invalidArgument, "the document \(quoted(location)) was not requested")
        }
        let location = try DocumentLocation(location)
        let base = try base.map { text throws(NightjarError) in try DocumentLocation(text) } ?? location
        bytes += document.count
        guard bytes <= CatalogLoader.maximumBytes else {
            let name = set.documents.first?.name ?? location.name
            throw NightjarError(
                .tooLarge,
                "\(name) and the documents it refers to are larger than \(CatalogLoader.maximumBytes >> 20) MiB")
        }
        let tree: DocumentTree
        do throws(NightjarError) {
            tree = try converted(DocumentTree.reading(document, name: base.name), at: base)
        } catch {
            guard !set.documents.isEmpty else { throw error }
            missing.remove(at: place)
            set.fail(error, at: location)
            return
        }
        if set.documents.isEmpty { try CatalogBuilder.checkVersion(tree) }
        missing.remove(at: place)
        set.add(tree, at: location, base: base)
        let further = traversal.received(set.documents.count - 1, at: location, in: set)
        requestCount += further.count
        guard requestCount <= CatalogLoader.maximumDocuments else {
            throw NightjarError(
                .tooLarge,
                "\(set.documents[0].name) refers to more than \(CatalogLoader.maximumDocuments) documents")
        }
        missing += further.map(\.text)
    }

    /// Returns the document as an OpenAPI 3 document if it is a Swagger 2.0 document.
    private mutating func converted(
        _ tree: DocumentTree, at location: DocumentLocation
    ) throws(NightjarError) -> DocumentTree {
        guard SwaggerConverter.applies(to: tree) else { return tree }
        let converted = try SwaggerConverter.convert(tree, at: location)
        let isFirst = set.documents.isEmpty
        let room = CatalogBuilder.maximumNotes - conversionNotes.count
        conversionNotes += converted.notes.prefix(room).map { isFirst ? $0 : "\(tree.name): \($0)" }
        return converted.tree
    }

    /// Reports that a document could not be loaded. The parts that refer to it are skipped, with a note.
    ///
    /// - Throws: `error` if the first document could not be loaded.
    package mutating func failed(_ error: NightjarError, for location: String) throws(NightjarError) {
        guard let place = missing.firstIndex(where: { $0.isExactly(location) }) else { return }
        guard !set.documents.isEmpty else { throw error }
        missing.remove(at: place)
        set.fail(error, at: try DocumentLocation(location))
    }

    /// Builds the catalog. Invalid operations are skipped, and notes give the reasons.
    ///
    /// - Throws: `invalid_argument` if documents are missing, `too_large` if the description has too many parts.
    package func catalog() throws(NightjarError) -> Catalog {
        guard missing.isEmpty else {
            let verb = missing.count == 1 ? "has" : "have"
            throw NightjarError(
                .invalidArgument, "\(counted(missing.count, "document")) \(verb) not been received yet")
        }
        var builder = CatalogBuilder(set)
        builder.made.notes = conversionNotes
        return try builder.catalog()
    }

    /// Loads a complete description.
    ///
    /// - Parameter read: returns the bytes of a path or URL.
    /// - Throws: the error of `read` if it is retryable or `cancelled`, or if the first document cannot be loaded; the
    ///   errors of ``received(_:for:from:)`` and ``catalog()``.
    package static func load(
        _ location: String, read: (String) throws(NightjarError) -> [UInt8]
    ) throws(NightjarError) -> Catalog {
        var loader = CatalogLoader(location)
        while !loader.missing.isEmpty {
            for location in loader.missing {
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
