import NIOCore
import NightjarHTTP

/// The data of a resource.
package struct ResourceContent: Sendable {
    /// The response; for an optimistic value, a response that contains it.
    package let response: Response
    /// The value that a Swift program decodes from the response. Nil: nothing is decoded.
    package let value: (any Sendable)?

    /// Decodes the value of a response.
    package typealias Decoder = @Sendable (Response) throws(NightjarError) -> any Sendable

    init(_ response: Response, _ value: (any Sendable)?) { (self.response, self.value) = (response, value) }

    /// Creates the content of an optimistic value.
    ///
    /// - Parameters:
    ///   - json: The value as JSON.
    ///   - url: The URL of the resource.
    init(optimistic json: ByteBuffer, _ value: (any Sendable)?, at url: RequestURL) throws(NightjarError) {
        var headers = Headers()
        try headers.add("Content-Type", "application/json")
        self.init(Response(head: ResponseHead(status: 200, headers: headers), body: json, url: url), value)
    }
}

extension RequestURL {
    /// Whether a write to `url` changes the resource with this URL. The query is ignored: it selects a part of the
    /// resource.
    func isChanged(by url: RequestURL, includingChildren: Bool) -> Bool {
        guard origin == url.origin else { return false }
        let (own, written) = (path, url.path)
        guard own != written else { return true }
        return includingChildren && written.hasPrefix(own.hasSuffix("/") ? own : own + "/")
    }
}
