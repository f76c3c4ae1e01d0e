import NIOHTTP1

extension HTTPRequestHead {
    /// The declared length of the body; nil if there is none. The decoder has rejected invalid values.
    var contentLength: Int? {
        headers.first(name: "content-length").flatMap { Int($0) }
    }

    /// Whether the client waits for a 100 response before it sends its body.
    var expectsContinue: Bool {
        speaksHTTP11 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
