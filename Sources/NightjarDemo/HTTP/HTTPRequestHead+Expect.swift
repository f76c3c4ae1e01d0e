import NIOHTTP1

extension HTTPRequestHead {
    /// The declared length of the body; nil where there is none. The decoder has refused what is not a number.
    var contentLength: Int? {
        headers.first(name: "content-length").flatMap { Int($0) }
    }

    /// Whether the client waits with its body.
    var expectsContinue: Bool {
        speaksHTTP11 && headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }
}
