import NIOCore
import NightjarAPI
import NightjarHTTP
import Synchronization

extension Client {
    /// Loads an OpenAPI document and the documents it references, from a file or a URL.
    ///
    /// URLs are resolved against the base URL and requested like other calls of this client, with its cache, limits and
    /// retries. Requests to the base URL's origin carry the client's credentials.
    ///
    /// - Parameter location: The path of a file, an absolute URL, or `url:` followed by a target relative to the base
    ///   URL, for example `url:/openapi.json`.
    /// - Throws: `decoding`, usually with the position, if the document is neither JSON nor YAML; `invalid_argument` if
    ///   it is neither an OpenAPI 3 nor a Swagger 2.0 document; `storage` if it is a file that cannot be read;
    ///   `too_large` if the documents are too large together; any error of a call.
    public func loadCatalog(from location: String) async throws(NightjarError) -> Catalog {
        try await outcome { (finished) throws(NightjarError) in
            try startLoadingCatalog(from: location, on: nil, finished: finished)
        }
    }

    /// Like ``loadCatalog(from:)``, but blocks the thread.
    public func loadCatalogBlocking(from location: String) throws(NightjarError) -> Catalog {
        try checkMayWait()
        let queue = CompletionQueue()
        // If an error ends the load, other calls may still have events for the queue.
        defer { queue.close() }
        let outcome = Mutex<Result<Catalog, NightjarError>?>(nil)
        try startLoadingCatalog(from: location, on: queue) { result in outcome.withLock { $0 = result } }
        return try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// Like ``loadCatalog(from:)``, but does not block.
    ///
    /// - Parameters:
    ///   - queue: Where `finished` and the client's other callbacks run (hooks, token providers). If nil, they run on
    ///     the client's loop thread and must not block.
    ///   - finished: Called once, unless this function throws.
    /// - Returns: The operation, which can be cancelled like a call.
    @discardableResult
    public func startLoadingCatalog(
        from location: String, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Catalog, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        try startLoadingCatalog(from: location, on: queue, sender: nil, finished: finished)
    }

    /// - Parameter sender: Sends the requests instead of the client; nil: the client sends them.
    package func startLoadingCatalog(
        from location: String, on queue: CompletionQueue?, sender: (any RequestSender)?,
        finished: @escaping @Sendable (Result<Catalog, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let fetch = CatalogFetch(self, try catalogLocation(location), sender, on: queue, finished: finished)
        try start(fetch)
        return fetch
    }

    /// Returns the location in the loader's form: an absolute path or an absolute URL.
    private func catalogLocation(_ location: String) throws(NightjarError) -> String {
        if location.hasPrefix("url:") {
            return try prepare(Request(.get, String(location.dropFirst(4))), idle: nil).url.text
        }
        return location.isURL ? location : try FilePath.absolute(location)
    }
}

extension Catalog {
    /// The catalog for a client without a base URL: endpoints without a server use the first server of the catalog.
    fileprivate var withServersOfOperations: Catalog {
        guard let server = servers.first else { return self }
        var catalog = self
        for var operation in operations where operation.server == nil {
            operation.server = server
            catalog.set(operation)
        }
        return catalog
    }
}

extension RequestURL {
    /// The complete URL, including secrets. Must not be displayed.
    fileprivate var text: String { origin.description + target }
}

/// Drives a ``CatalogLoader``: reads files and parses documents on worker threads, and requests URLs with the client.
final class CatalogFetch: ClientOperation, @unchecked Sendable {
    private weak var client: Client?
    private let first: String
    /// Sends the requests instead of the client; nil: the client sends them.
    private let sender: (any RequestSender)?
    private var loader: CatalogLoader
    /// Closures that cancel the calls in progress.
    private var cancels: [@Sendable () -> Void] = []
    private var waiting: [String] = []
    private var inFlight = 0
    private var arrived: [Document] = []
    /// The size of all documents received from URLs so far, in bytes.
    private var size = 0
    /// The loaded catalog. Set before the operation ends successfully, and read afterwards.
    private let catalog: Loaded

    private final class Loaded: Sendable {
        let catalog = Mutex(Catalog())
    }

    private struct Document: Sendable {
        let location: String
        let content: Result<Content, NightjarError>
        /// Whether the user named the document. Otherwise another document references it.
        var isNamedByUser = false
    }

    private enum Content: Sendable {
        case bytes(ByteBuffer, from: String)
        /// A file that has not been read yet.
        case file
    }

    init(
        _ client: Client, _ location: String, _ sender: (any RequestSender)?, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Catalog, NightjarError>) -> Void
    ) {
        self.client = client
        self.sender = sender
        first = location
        loader = CatalogLoader(location)
        let loaded = Loaded()
        catalog = loaded
        super.init("loading the API description", on: client.loop, queue: queue, timeout: nil) { result in
            finished(result.map { loaded.catalog.withLock { $0 } })
        }
    }

    override func begin() { next() }

    override func released() {
        for cancel in cancels { cancel() }
        cancels = []
    }

    /// Requests the documents that the loader still needs. If it needs none, creates the catalog.
    private func next() {
        guard !hasEnded else { return }
        let missing = loader.missing
        guard !missing.isEmpty else {
            let loader = loader
            return loop.workers.run(
                "reading the API description",
                { () throws(NightjarError) in try loader.catalog().readingExtensions() }
            ) { [weak self] in
                self?.loaded($0)
            }
        }
        arrived = missing.filter { !$0.isURL }.map {
            Document(location: $0, content: .success(.file), isNamedByUser: $0 == first)
        }
        waiting = missing.filter(\.isURL).reversed()
        cancels = []
        guard !waiting.isEmpty else { return read() }
        for _ in 0..<min(CatalogFetch.concurrency, waiting.count) { fetch() }
    }

    private func fetch() {
        guard !hasEnded, let location = waiting.popLast() else { return }
        inFlight += 1
        do throws(NightjarError) {
            guard let client else { throw NightjarError(.closed, "the client is closed") }
            var request = Request(.get, location)
            try request.headers.set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
            request.maximumBody = max(CatalogLoader.maximumBytes - size, 1)
            let loop = client.loop
            let isElsewhere = queue != nil || sender != nil
            let finished = { @Sendable [weak self] (result: Result<Response, NightjarError>) in
                let result = result.map { Content.bytes($0.body, from: $0.location.text) }
                guard isElsewhere else { return self?.fetched(location, result) ?? () }
                // If the client is closed, the message is rejected, but this operation has already ended.
                loop.submit(.run { [weak self] in self?.fetched(location, result) })
            }
            if let sender {
                var sent = SentRequest(request)
                sent.ownFields = request.headers
                cancels.append(sender.send(sent, finished))
            } else {
                let task = try client.start(request, on: queue, TaskHandlers { finished($1) })
                cancels.append { task.cancel() }
            }
        } catch {
            fetched(location, .failure(error))
        }
    }

    private func fetched(_ location: String, _ result: Result<Content, NightjarError>) {
        inFlight -= 1
        guard !hasEnded else { return }
        if case .failure(let error) = result, CatalogFetch.endsAll(error) {
            return loaded(.failure(error))
        }
        arrived.append(Document(location: location, content: result))
        if case .success(.bytes(let bytes, _)) = result { size += bytes.readableBytes }
        // The loader enforces the same limit, but only after a document has been received completely.
        guard size <= CatalogLoader.maximumBytes else {
            let bound = CatalogLoader.maximumBytes >> 20
            let message = "the API description and the documents it refers to are larger than \(bound) MiB"
            return loaded(.failure(NightjarError(.tooLarge, message)))
        }
        if !waiting.isEmpty {
            fetch()
        } else if inFlight == 0 {
            read()
        }
    }

    /// Returns whether the error ends the whole load. True for `cancelled`, `closed`, `script` and retryable errors.
    /// The loader handles other errors as errors of the document.
    private static func endsAll(_ error: NightjarError) -> Bool {
        switch error.kind {
        case .cancelled, .closed, .script: true
        default: error.isRetryable
        }
    }

    /// Passes the documents to the loader, which may then need further documents.
    private func read() {
        guard !hasEnded else { return }
        let (loader, documents) = (loader, arrived)
        arrived = []
        let (first, folder) = (first, client?.openAPIFolder)
        loop.workers.run(
            "reading the API description",
            { () throws(NightjarError) in try CatalogFetch.read(documents, into: loader, first, folder) }
        ) { [weak self] result in
            switch result {
            case .success(let loader):
                self?.loader = loader
                self?.next()
            case .failure(let error): self?.loaded(.failure(error))
            }
        }
    }

    private static func read(
        _ documents: [Document], into loader: CatalogLoader, _ first: String, _ folder: String?
    ) throws(NightjarError) -> CatalogLoader {
        var loader = loader
        for document in documents {
            do throws(NightjarError) {
                switch try document.content.get() {
                case .bytes(let bytes, let base):
                    try bytes.withUnsafeReadableBytes { bytes in
                        Result { () throws(NightjarError) in
                            try loader.received(bytes, for: document.location, from: base)
                        }
                    }.get()
                case .file:
                    if !document.isNamedByUser {
                        try ReferredFiles.check(document.location, of: first, folder: folder)
                    }
                    let bytes = try FileContent.read(
                        document.location, atMost: CatalogLoader.maximumBytes,
                        isNamedByUser: document.isNamedByUser)
                    try bytes.withUnsafeBytes { bytes in
                        Result { () throws(NightjarError) in try loader.received(bytes, for: document.location) }
                    }.get()
                }
            } catch {
                // Nothing can be loaded without the first document. If another document is missing, the loader adds a
                // note to each place that refers to the document.
                guard loader.missing.contains(where: { $0.isExactly(document.location) }), error.kind != .tooLarge
                else {
                    throw error
                }
                try loader.failed(error, for: document.location)
            }
        }
        return loader
    }

    private func loaded(_ result: Result<Catalog, NightjarError>) {
        guard !hasEnded else { return }
        if case .success(let loaded) = result {
            let placed = client?.template.base == nil ? loaded.withServersOfOperations : loaded
            catalog.catalog.withLock { $0 = placed }
        }
        end(result.map { _ in () })
    }

    /// The maximum number of concurrent requests, the same as in browsers for an HTTP/1.1 origin.
    private static let concurrency = 6
}
