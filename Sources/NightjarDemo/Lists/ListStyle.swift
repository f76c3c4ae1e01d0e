/// How a list goes on from one page to the next: the last segment of its path.
enum ListStyle: String, CaseIterable {
    /// `?page=2`
    case page
    /// `?offset=20`
    case offset
    /// `?cursor=`, which the answer before has given.
    case cursor
    /// `?starting_after=`, the identifier of the last item, and `has_more` in the answer.
    case after
    /// A Link field (RFC 8288), and nothing but the items in the body.
    case link
    /// The URL of the next page in the body.
    case next
    /// A token in the answer's field X-Next-Token, sent back in X-Token or in the query.
    case token

    /// Whether an answer says where the next page is in words of the server's own.
    var isOpaque: Bool {
        switch self {
        case .cursor, .link, .next, .token: true
        case .page, .offset, .after: false
        }
    }

    /// Of the parameters of all styles: what a request's position is in.
    static let positions = ["page", "offset", "cursor", "starting_after", "token"]
}
