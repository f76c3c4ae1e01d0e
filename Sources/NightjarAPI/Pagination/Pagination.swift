/// How a list goes on from one answer to the next.
///
/// Messages of errors use the names of these options in Lua, in JSON and in endpoint descriptions: `param`, `size_param`,
/// `request_header`, `max_pages`, `max_items` and `allow_origins`.
public struct Pagination: Sendable {
    public enum Style: String, Sendable, CaseIterable {
        /// Found out from the first answer, and said.
        case guess
        /// `?page=2`. Counts places, as ``offset`` does, and misses the same.
        case page
        /// `?offset=20`. A list that changes meanwhile is not met whole: what is deleted in front of the place where the walk
        /// is moves others up past it, and they are missed; what is inserted there moves some down, and they come twice, but
        /// for what ``Pagination/key`` keeps out.
        case offset
        /// `?cursor=...`, an opaque text that the answer before gives.
        case cursor
        /// A Link field with rel=next. RFC 8288.
        case link
        /// The URL of the next page in the body.
        case next
        /// A token in a header field of the response, sent back in a query item or a header field. Without
        /// ``parameter`` and ``requestHeader`` the field has the URL of the next page.
        case header
        /// The caller says, after each page, how it goes on.
        case custom
    }

    public var style = Style.guess
    /// Where in an answer the items are; nil: found out.
    public var items: JSONPointer?
    /// Where the cursor or the URL of the next page is; nil: found out. ``PageWalk`` tells when its absence is an end.
    public var next: JSONPointer?
    /// Where in an item that is which tells it from others: none is given twice. Each item costs 16 to 37 bytes for as long as
    /// the walk lasts; without a key only pages cost that.
    public var key: JSONPointer?
    /// The query item by which a page is asked for: `page`, `offset`, `cursor`; nil: the style's own name.
    public var parameter: String?
    /// The query item by which the size of a page is asked for; nil: none is.
    public var sizeParameter: String?
    /// How many items a page is asked to have, or, without ``sizeParameter``, has when nobody asks; nil: unknown.
    public var size: Int?
    /// The number of the first page, mostly 1, sometimes 0; up to ``largestFirst``.
    public var first = 1
    /// Of ``Style/header``: the field of the answer that has the token.
    public var header: String?
    /// Of ``Style/header``: the field of the request that sends the token back; nil: ``parameter`` does, or the field of the
    /// response has the URL of the next page.
    public var requestHeader: String?
    /// Where the answer says whether more follows (true or false); nil: it does not. False ends the list, and true where
    /// the answer does not tell how it goes on is an error.
    public var more: JSONPointer?
    /// Where the answer says how many items there are; nil: it does not.
    public var total: JSONPointer?
    /// Pages loaded before they are asked for, 0 to ``largestPrefetch``. Their answers wait in memory.
    public var prefetch = 1
    /// More is an error, never a silent end.
    public var maximumPages = 100_000
    public var maximumItems = 10_000_000
    /// Other origins that a next page may be of; they get no credentials.
    public var allowedOrigins: [String] = []

    /// Of the endpoint whose list it is.
    var declared: [DeclaredParameter] = []

    /// Pages that wait in memory for who asks, at most.
    public static let largestPrefetch = 64
    /// What a server may hold in 32 bits.
    public static let largestFirst = Int(Int32.max)

    public init(_ style: Style = .guess) { self.style = style }
}
