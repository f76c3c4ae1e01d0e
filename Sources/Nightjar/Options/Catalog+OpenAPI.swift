import NightjarAPI
import NightjarHTTP
import NightjarSystem

extension Catalog {
    /// Reads an OpenAPI document and the files that it references. Blocks.
    ///
    /// - Parameter folder: The folder whose files the document may reference; nil: the folder of the document.
    /// - Throws: `decoding`, usually with the position, if the document is neither JSON nor YAML; `storage` if it
    ///   cannot be read; `invalid_argument` if it is neither an OpenAPI 3 nor a Swagger 2.0 document, or if `path` is a URL
    ///   (only a client can load it); `too_large`. A referenced file that cannot be read, or is outside of the folder, usually causes only a note.
    public init(openAPI path: String, folder: String? = nil) throws(NightjarError) {
        guard !path.isURL else {
            throw NightjarError(
                .invalidArgument,
                "a file is required, but \(quoted(path)) is a URL; load it with a client (loadCatalog, load_openapi)")
        }
        let first = try FilePath.absolute(path)
        self = try CatalogLoader.load(first) { location throws(NightjarError) in
            guard !location.isURL else {
                throw NightjarError(
                    .invalidArgument, "\(quoted(location)) is a URL, which only a client can load")
            }
            guard location != first else {
                return try FileContent.read(location, atMost: CatalogLoader.maximumBytes)
            }
            try ReferredFiles.check(location, of: first, folder: folder)
            return try FileContent.read(location, atMost: CatalogLoader.maximumBytes, isNamedByUser: false)
        }.readingExtensions()
    }

    /// Returns the catalog with Nightjar's own extensions applied. An invalid extension is recorded as a note, because
    /// the endpoint is usable without it.
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

/// Checks that a document references only files below one folder: the folder that the caller names, or else the folder
/// of the document. A document often comes from an untrusted source. A schema or an error message could reveal other
/// files of the user.
enum ReferredFiles {
    /// - Parameters:
    ///   - file: An absolute path.
    ///   - document: The absolute path of the document that the user named.
    ///   - folder: The folder that the caller named; nil: the document's folder.
    /// - Throws: `invalid_argument` if the file is outside of the folder, or if the folder does not exist; `storage` if
    ///   the file does not exist.
    static func check(_ file: String, of document: String, folder: String?) throws(NightjarError) {
        guard let root = resolved(folder ?? parent(of: document)) else {
            throw NightjarError(.invalidArgument, "the document folder \(quoted(folder ?? document)) does not exist")
        }
        let inside = root == "/" ? root : root + "/"
        // The unresolved path is compared first, so that the error does not reveal whether a file outside of the folder
        // exists.
        let written = folder ?? parent(of: document)
        let isWritten = file.utf8.starts(with: (written.hasSuffix("/") ? written : written + "/").utf8)
        guard isWritten || file.utf8.starts(with: inside.utf8) else { throw outside(file, root) }
        guard let place = resolved(file) else {
            throw NightjarError(
                .storage, "opening the file \(quoted(file)) failed: \(String(cString: strerror(errno)))", code: errno)
        }
        guard place.utf8.starts(with: inside.utf8) else { throw outside(file, root) }
    }

    private static func outside(_ file: String, _ root: String) -> NightjarError {
        NightjarError(
            .invalidArgument,
            "the file \(quoted(file)) is outside of \(quoted(root)), the folder whose files the document may reference"
                + "; to allow it, set openapi_folder to a folder that contains the document and the file")
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    /// Returns the path with all symbolic links resolved, or nil if the file does not exist.
    private static func resolved(_ path: String) -> String? {
        guard let place = realpath(path, nil) else { return nil }
        defer { free(place) }
        return String(cString: place)
    }
}

extension String {
    /// Whether this is an http or https URL rather than a path.
    var isURL: Bool {
        let start = prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }
}
