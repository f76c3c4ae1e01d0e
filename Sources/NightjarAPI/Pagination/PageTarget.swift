import NIOCore

/// The differences between the request for a page and the first request: the URL, and in some lists a header field or a
/// value in the body.
package struct PageTarget: Sendable, Equatable {
    package var url: RequestURL
    /// The name of a header field to set. Replaces the field of the same name.
    package var headerName: String?
    package var headerValue = ""
    /// The value to set in the JSON body, at ``Pagination/bodyParameter``. Nil: the body of the first request.
    package var bodyValue: JSONValue?
    /// False for another origin, which must not receive credentials of the first request or of the client.
    package var carriesCredentials = true

    init(_ url: RequestURL) { self.url = url }
}

extension Pagination {
    /// The next page, as the caller sets it in style ``Pagination/Style/custom``.
    public enum NextPage: Sendable {
        /// The first request with these query items, which replace items of the same names.
        case query([(name: String, value: String)])
        /// An absolute URL, or a reference relative to the URL of the response.
        case url(String)
        case end
    }
}
