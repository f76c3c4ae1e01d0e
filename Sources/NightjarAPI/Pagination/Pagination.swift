/// Options for reading a list page by page.
///
/// Error messages use the option names of Lua, JSON and endpoint descriptions: `param`, `body_param`, `size_param`,
/// `next_header`, `request_header`, `max_pages`, `max_items` and `allow_origins`.
public struct Pagination: Sendable {
    /// The way in which a server divides a list into pages.
    public enum Style: String, Sendable, CaseIterable {
        /// Determined from the first response. The paginator explains the result.
        case guess
        /// A page number: `?page=2`. Has the same limitation as ``offset``.
        case page
        /// An offset: `?offset=20`. If the list changes while it is read, the result is incomplete. Items deleted
        /// before the current position cause other items to be missed. Items inserted before the current position cause
        /// other items to be repeated, unless ``Pagination/key`` removes the repetitions.
        case offset
        /// `?cursor=...`, an opaque string from the previous response.
        case cursor
        /// A Link field with rel=next. RFC 8288.
        case link
        /// The URL of the next page in the body.
        case next
        /// A token in a response header field, sent back in a query item or header field. Without ``parameter`` and
        /// ``requestHeader``, the field contains the URL of the next page.
        case header
        /// The caller sets the next page after each page.
        case custom
    }

    public var style = Style.guess
    /// The location of the items in a response. Nil: determined from the first response.
    public var items: JSONPointer?
    /// The location of an item within an element of the list, such as `/node` in the edges of a GraphQL connection. Nil:
    /// the elements are the items.
    public var item: JSONPointer?
    /// The location of the cursor or of the URL of the next page. Nil: determined from the first response.
    /// `PageTraversal` describes when an absent value is the end.
    public var next: JSONPointer?
    /// The location of an item's unique key within the item. Items with the same key are delivered once. The paginator
    /// keeps 18 to 37 bytes in memory for each key. For each page, it keeps twice as much, also without a key.
    public var key: JSONPointer?
    /// The query item that selects a page. Nil: `page` or `offset` in the styles of these names, none in style header,
    /// and otherwise determined from the first response and the endpoint.
    public var parameter: String?
    /// The location in the JSON body of the requests that selects a page, in place of a query item, in the styles page,
    /// offset, cursor and header. The first request is sent as given. Nil: none.
    public var bodyParameter: JSONPointer?
    /// The query item that sets the page size. Nil: none.
    public var sizeParameter: String?
    /// The page size to request or, without ``sizeParameter``, the server's default. Nil: unknown.
    public var size: Int?
    /// The number of the first page, usually 1, sometimes 0. At most ``largestFirst``.
    public var first = 1
    /// For ``Style/header``: the response field that contains the token.
    public var header: String?
    /// The response field that contains the URL of the next page, absolute or relative to the URL of the page. Implies
    /// ``Style/header``, in place of ``header``. Unlike in ``header``, any value is a URL.
    public var nextHeader: String?
    /// For ``Style/header``: the request field that sends the token back. Nil: ``parameter`` sends it back, or the
    /// response field contains the URL of the next page.
    public var requestHeader: String?
    /// The location of a boolean that indicates whether more items follow. Nil: determined from the first response in
    /// style guess, otherwise none. False ends the list. If the value is true but the next page is missing, loading
    /// fails.
    public var more: JSONPointer?
    /// The location of the total number of items. Nil: determined from the first response in style guess, otherwise
    /// none.
    public var total: JSONPointer?
    /// The number of pages to load in advance, 0 to ``largestPrefetch``. Their responses are kept in memory.
    public var prefetch = 1
    /// The maximum number of pages. A longer list is an error.
    public var maximumPages = 100_000
    public var maximumItems = 10_000_000
    /// Other origins that the next page may have. They receive no credentials.
    public var allowedOrigins: [String] = []

    /// The query parameters declared by the endpoint.
    var declared: [DeclaredParameter] = []

    /// The maximum of ``prefetch``.
    public static let largestPrefetch = 64
    /// The maximum of ``first``: the largest 32-bit integer.
    public static let largestFirst = Int(Int32.max)

    public init(_ style: Style = .guess) { self.style = style }
}
