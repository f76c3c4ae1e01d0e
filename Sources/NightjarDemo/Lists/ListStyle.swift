/// A pagination style: the last segment of the path.
enum ListStyle: String, CaseIterable {
    /// `?page=2`.
    case page
    /// `?offset=20`.
    case offset
    /// `?cursor=`, with the cursor from the preceding response.
    case cursor
    /// `?starting_after=`, the identifier of the last item, with `has_more` in the response.
    case after
    /// A Link field (RFC 8288). The body contains only the items.
    case link
    /// The URL of the next page in the body.
    case next
    /// A token in the response field X-Next-Token, sent back in X-Token or in the query.
    case token

    /// True if the response identifies the next page by an opaque text.
    var isOpaque: Bool {
        switch self {
        case .cursor, .link, .next, .token: true
        case .page, .offset, .after: false
        }
    }

    /// The query parameters that contain the position, of all styles.
    static let positions = ["page", "offset", "cursor", "starting_after", "token"]
}
