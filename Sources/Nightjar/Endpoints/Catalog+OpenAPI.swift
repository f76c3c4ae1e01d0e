import NightjarHTTP
import NightjarOpenAPI

extension Catalog {
    /// Reads an OpenAPI document and the files that it refers to. Blocks.
    ///
    /// - Throws: `decoding` with the place for what is no OpenAPI document; `storage` for a file that cannot be read;
    ///   `invalid_argument` for a URL, which only a client can load.
    public init(openAPI path: String) throws(NightjarError) {
        guard !path.isURL else {
            throw NightjarError(
                .invalidArgument,
                "\(quoted(path)) is a URL, and a file is wanted; let a client load it (loadCatalog, load_openapi)")
        }
        let first = try FilePath.absolute(path)
        self = try CatalogLoader.load(first) { location throws(NightjarError) in
            guard !location.isURL else {
                throw NightjarError(
                    .invalidArgument, "\(quoted(location)) is a URL, which only a client can load")
            }
            return try FileContent.read(
                location, atMost: CatalogLoader.maximumBytes, isNamedByUser: location == first)
        }.readingExtensions()
    }

    /// With what Nightjar's own extensions say. One that cannot be read is a note, for the endpoint is of use without it.
    func readingExtensions() -> Catalog {
        var catalog = self
        for var operation in operations {
            guard let options = operation.paginationOptions else { continue }
            do throws(NightjarError) {
                operation.pagination = try Pagination(options: options)
                catalog.set(operation)
            } catch {
                catalog.notes.append("endpoint \(quoted(operation.name)): x-nightjar-pagination: \(error.message)")
            }
        }
        return catalog
    }
}
