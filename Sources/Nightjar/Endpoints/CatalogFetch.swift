import NIOCore
import NightjarAPI
import NightjarHTTP
import Synchronization

extension Client {
    /// Reads an OpenAPI document and what it refers to, from a file or a URL.
    ///
    /// What lies behind URLs is asked for as any call of this client is: joined with its base URL, with its credentials
    /// where they belong, its cache, limits and retries.
    ///
    /// - Parameter location: the path of a file, an absolute URL, or with `url:` in front what is joined with the base URL:
    ///   `url:/openapi.json`.
    /// - Throws: `decoding` with the place for what is no OpenAPI document; `storage` for a file that cannot be read; what a
    ///   call throws.
    public func loadCatalog(from location: String) async throws(NightjarError) -> Catalog {
        let pending = Pending<ClientOperation>()
        let result: Result<Catalog, NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(NightjarError) {
                    pending.set(
                        try startLoadingCatalog(from: location, on: nil) { continuation.resume(returning: $0) })
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            pending.cancel()
        }
        return try result.get()
    }

    /// The same, waiting on this thread.
    public func loadCatalogBlocking(from location: String) throws(NightjarError) -> Catalog {
        try checkMayWait()
        let queue = CompletionQueue()
        // Runs here what is left of calls that an error has ended.
        defer { queue.close() }
        let outcome = Mutex<Result<Catalog, NightjarError>?>(nil)
        try startLoadingCatalog(from: location, on: queue) { result in outcome.withLock { $0 = result } }
        return try wait(on: queue) { outcome.withLock { $0 } }.get()
    }

    /// The same without waiting.
    ///
    /// - Parameters:
    ///   - queue: where `finished` runs, and what else of the program is not for the loop (hooks, token providers of the
    ///     client); nil: on the client's loop thread, where it must not block.
    ///   - finished: called once.
    /// - Returns: the task that stands for it, which can be cancelled as that of a call.
    @discardableResult
    public func startLoadingCatalog(
        from location: String, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Catalog, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        try startLoadingCatalog(from: location, on: queue, sender: nil, finished: finished)
    }

    /// - Parameter sender: asks for what lies behind URLs; nil: the client does.
    package func startLoadingCatalog(
        from location: String, on queue: CompletionQueue?, sender: (any RequestSender)?,
        finished: @escaping @Sendable (Result<Catalog, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientOperation {
        let fetch = CatalogFetch(self, try catalogLocation(location), sender, on: queue, finished: finished)
        try start(fetch)
        return fetch
    }

    /// As the loader wants it: an absolute path, or an absolute URL.
    private func catalogLocation(_ location: String) throws(NightjarError) -> String {
        if location.hasPrefix("url:") {
            return try prepare(Request(.get, String(location.dropFirst(4))), idle: nil).url.text
        }
        return location.isURL ? location : try FilePath.absolute(location)
    }
}

extension Catalog {
    /// For a client without a base URL: each endpoint names the server.
    fileprivate var atItsServer: Catalog {
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
    /// Nothing masked: to be asked for, and not to be shown.
    fileprivate var text: String { origin.description + target }
}

/// Drives a ``CatalogLoader``: files are read and documents parsed on threads of their own, URLs are asked for by the client.
final class CatalogFetch: ClientOperation, @unchecked Sendable {
    private weak var client: Client?
    private let first: String
    /// Asks for what lies behind URLs; nil: the client does.
    private let sender: (any RequestSender)?
    private var loader: CatalogLoader
    /// Give up the calls of this round.
    private var cancels: [@Sendable () -> Void] = []
    private var waiting: [String] = []
    private var inFlight = 0
    private var arrived: [Document] = []
    /// Bytes of all documents so far.
    private var size = 0
    /// Set before the operation ends successfully, and read after that.
    private let catalog: Loaded

    private final class Loaded: Sendable {
        let catalog = Mutex(Catalog())
    }

    private struct Document: Sendable {
        let location: String
        let content: Result<Content, NightjarError>
        /// Rather than by another document.
        var isNamedByUser = false
    }

    private enum Content: Sendable {
        case bytes(ByteBuffer, from: String)
        /// To be read.
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

    /// Asks for what is wanted, or is done.
    private func next() {
        guard !hasEnded else { return }
        let wanted = loader.wanted
        guard !wanted.isEmpty else {
            let loader = loader
            return loop.workers.run(
                "reading the API description",
                { () throws(NightjarError) in try loader.catalog().readingExtensions() }
            ) { [weak self] in
                self?.loaded($0)
            }
        }
        arrived = wanted.filter { !$0.isURL }.map {
            Document(location: $0, content: .success(.file), isNamedByUser: $0 == first)
        }
        waiting = wanted.filter(\.isURL).reversed()
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
                // Refused by a closed client, which has ended the call.
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
        // The loader refuses so much, too, but not before all of it is there.
        guard size <= CatalogLoader.maximumBytes else {
            let bound = CatalogLoader.maximumBytes >> 20
            return loaded(.failure(NightjarError(.tooLarge, "the API's documents have more than \(bound) MiB")))
        }
        if !waiting.isEmpty {
            fetch()
        } else if inFlight == 0 {
            read()
        }
    }

    /// Whether it says nothing about the document: the same load may succeed another time.
    private static func endsAll(_ error: NightjarError) -> Bool {
        switch error.kind {
        case .cancelled, .closed, .script: true
        default: error.isRetryable
        }
    }

    /// Gives the documents to the loader, behind which others may be wanted.
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
                // Of the first nothing can be made; of others that cannot be had, the loader says so where they are used.
                guard loader.wanted.contains(where: { $0.isExactly(document.location) }), error.kind != .tooLarge else {
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
            let placed = client?.template.base == nil ? loaded.atItsServer : loaded
            catalog.catalog.withLock { $0 = placed }
        }
        end(result.map { _ in () })
    }

    /// Documents asked for at the same time, as browsers ask an origin of HTTP/1.
    private static let concurrency = 6
}
