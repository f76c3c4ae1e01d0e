import NIOCore

/// What is asked for next: the first request with another URL, and a field where the style has one.
public struct PageTarget: Sendable, Equatable {
    public var url: RequestURL
    /// Takes the place of a field of this name.
    public var headerName: String?
    public var headerValue = ""
    /// False: of another origin, which gets no credentials of the first request's and none of the client's.
    public var carriesCredentials = true

    init(_ url: RequestURL) { self.url = url }
}

/// How the caller has a list go on, in ``Pagination/Style/custom``.
public enum NextPage: Sendable {
    /// The first request with these query items in the place of those of the same names.
    case query([(name: String, value: String)])
    /// Absolute, or relative to the URL that answered.
    case url(String)
    case end
}
