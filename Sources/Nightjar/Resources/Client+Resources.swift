import NightjarHTTP

extension Client {
    /// Creates a resource. Nothing is loaded before it is observed, loaded or reloaded.
    ///
    /// - Parameters:
    ///   - callbacks: The queue of hooks and decisions; nil: the loop.
    ///   - sender: Sends the requests instead of the client; nil: the client.
    ///   - decode: Decodes each response. Nil: nothing is decoded.
    /// - Throws: `invalid_request` for a method that is not safe or a body; `invalid_url`; `invalid_argument` for invalid
    ///   settings; `closed`; `forked`.
    package func makeResource(
        _ request: Request, _ settings: ResourceSettings, callbacks: CompletionQueue?,
        sender: (any RequestSender)? = nil, decode: ResourceContent.Decoder? = nil
    ) throws(NightjarError) -> ResourceController {
        try ResourceController(self, request, settings, callbacks: callbacks, sender: sender, decode: decode)
    }

    /// Invalidates all resources of this client with a tag: their data is stale, and is loaded again if they are
    /// observed. Call it after a change that the client does not see, such as an event of the server. For a write of this
    /// client, ``Request/invalidates`` has the same effect.
    public func invalidate(tag: String) {
        loop.submit(.run { [loop] in loop.notify(of: Write(tags: [tag])) })
    }
}
