import NIOCore

/// The request for a page: the first request with another URL and, for some styles, another header field.
package struct PageTarget: Sendable, Equatable {
    package var url: RequestURL
    /// A header field that replaces the field of the same name.
    package var headerName: String?
    package var headerValue = ""
    /// False for another origin, which must not receive credentials of the first request or of the client.
    package var carriesCredentials = true

    init(_ url: RequestURL) { self.url = url }
}

/// The next page as the caller specifies it in ``Pagination/Style/custom``.
public enum NextPage: Sendable {
    /// The first request with these query items, which replace items of the same names.
    case query([(name: String, value: String)])
    /// An absolute URL, or one relative to the URL of the response.
    case url(String)
    case end
}
