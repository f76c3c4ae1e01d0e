import NightjarHTTP

extension Client {
    /// Returns the pages of a list in order. A page may have no items. Each iteration starts at the first page, or at
    /// `state`. Ending an iteration early cancels the request in flight.
    public func pages(
        _ request: Request, _ pagination: Pagination = Pagination(), resuming state: String? = nil,
        timeout: Duration? = nil
    ) -> PageSequence {
        PageSequence(client: self, request: request, pagination: pagination, state: state, timeout: timeout)
    }

    /// Returns the items of all pages of a list.
    public func items(
        _ request: Request, _ pagination: Pagination = Pagination(), resuming state: String? = nil,
        timeout: Duration? = nil
    ) -> ItemSequence<JSONValue> {
        ItemSequence(pages: pages(request, pagination, resuming: state, timeout: timeout)) {
            page, index throws(NightjarError) in try page.json(index)
        }
    }

    /// Returns the items of a list, decoded as `type`. An item that cannot be decoded ends the iteration with
    /// `decoding`.
    public func items<Item: Decodable & SendableMetatype>(
        _ request: Request, _ pagination: Pagination = Pagination(), as type: Item.Type,
        _ options: JSONDecodingOptions? = nil, resuming state: String? = nil, timeout: Duration? = nil
    ) -> ItemSequence<Item> {
        let options = options ?? decoding
        return ItemSequence(pages: pages(request, pagination, resuming: state, timeout: timeout)) {
            page, index throws(NightjarError) in try page.decode(type, index, options)
        }
    }
}

/// The pages of a list, for `for try await`, or for ``makeBlockingIterator()`` on a thread that may block.
public struct PageSequence: AsyncSequence, Sendable {
    let client: Client
    let request: Request
    let pagination: Pagination
    let state: String?
    let timeout: Duration?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Returns an iterator that blocks the thread.
    public func makeBlockingIterator() -> BlockingIterator { BlockingIterator(Iterator(self)) }

    public struct Iterator: AsyncIteratorProtocol {
        private let sequence: PageSequence
        /// The paginator that loads the pages; nil before the first call of ``next()``.
        public private(set) var paginator: Paginator?

        init(_ sequence: PageSequence) { self.sequence = sequence }

        public mutating func next() async throws(NightjarError) -> Page? { try await open().nextPage() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> Page? {
            try await open().nextPage()
        }

        mutating func open() throws(NightjarError) -> Paginator {
            if let paginator { return paginator }
            let opened = try Paginator(
                sequence.client, sequence.request, sequence.pagination, resuming: sequence.state,
                timeout: sequence.timeout)
            paginator = opened
            return opened
        }
    }

    public struct BlockingIterator {
        private var pages: Iterator

        init(_ pages: Iterator) { self.pages = pages }

        /// The paginator that loads the pages; nil before the first call of ``next()``.
        public var paginator: Paginator? { pages.paginator }

        public mutating func next() throws(NightjarError) -> Page? { try pages.open().nextPageBlocking() }
    }
}

/// The items of a list, for `for try await`, or for ``makeBlockingIterator()`` on a thread that may block.
public struct ItemSequence<Item>: AsyncSequence, Sendable {
    public typealias Element = Item
    typealias Read = @Sendable (Page, Int) throws(NightjarError) -> Item

    let pages: PageSequence
    let read: Read

    public func makeAsyncIterator() -> Iterator { Iterator(pages.makeAsyncIterator(), read) }

    /// Returns an iterator that blocks the thread.
    public func makeBlockingIterator() -> BlockingIterator {
        BlockingIterator(pages.makeBlockingIterator(), read)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private var pages: PageSequence.Iterator
        private var cursor = ItemCursor()
        private let read: Read

        init(_ pages: PageSequence.Iterator, _ read: @escaping Read) {
            self.pages = pages
            self.read = read
        }

        /// The position after the last item that was read, even if it could not be decoded. Nil before the first page.
        public var state: String? { cursor.state }
        /// The paginator that loads the pages; nil before the first call of ``next()``.
        public var paginator: Paginator? { pages.paginator }

        public mutating func next() async throws(NightjarError) -> Item? {
            while true {
                if let item = try cursor.next(read) { return item }
                guard let page = try await pages.next() else { return nil }
                cursor.begin(page)
            }
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> Item? {
            while true {
                if let item = try cursor.next(read) { return item }
                guard let page = try await pages.next(isolation: actor) else { return nil }
                cursor.begin(page)
            }
        }
    }

    public struct BlockingIterator {
        private var pages: PageSequence.BlockingIterator
        private var cursor = ItemCursor()
        private let read: Read

        init(_ pages: PageSequence.BlockingIterator, _ read: @escaping Read) {
            self.pages = pages
            self.read = read
        }

        /// The position after the last item that was read, even if it could not be decoded. Nil before the first page.
        public var state: String? { cursor.state }
        /// The paginator that loads the pages; nil before the first call of ``next()``.
        public var paginator: Paginator? { pages.paginator }

        public mutating func next() throws(NightjarError) -> Item? {
            while true {
                if let item = try cursor.next(read) { return item }
                guard let page = try pages.next() else { return nil }
                cursor.begin(page)
            }
        }
    }
}

/// The current page, and the index of the next item.
struct ItemCursor {
    private var page: Page?
    private var index = 0

    mutating func begin(_ page: Page) {
        self.page = page
        index = 0
    }

    var state: String? { page?.state(consumed: index) }

    /// Returns the next item, or nil after the last item of the page. An item that cannot be read is not read again.
    mutating func next<Item>(_ read: (Page, Int) throws(NightjarError) -> Item) throws(NightjarError) -> Item? {
        guard let page, index < page.count else { return nil }
        defer { index += 1 }
        return try read(page, index)
    }
}
