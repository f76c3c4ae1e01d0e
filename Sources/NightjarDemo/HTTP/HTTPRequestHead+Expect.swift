import NIOHTTP1

extension HTTPRequestHead {
    /// The Content-Length, or nil if there is none. The decoder has already rejected values that are not numbers.
    var contentLength: Int? {
        headers.first(name: "content-length").flatMap { Int($0) }
    }

    /// True if the client waits for a 100 response before it sends the body.
    var expectsContinue: Bool {
        supportsHTTP11 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
