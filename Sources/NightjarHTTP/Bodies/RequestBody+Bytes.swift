import NIOCore

extension RequestBody {
    /// Returns a body with a copy of these bytes: an `[UInt8]`, a `String.UTF8View` or Foundation's `Data`, for example.
    ///
    /// - Throws: `no_memory`.
    public static func bytes(_ bytes: some Collection<UInt8>) throws(NightjarError) -> RequestBody {
        var buffer = ByteBuffer()
        try buffer.reserve(bytes.count, for: "the request's body")
        buffer.writeBytes(bytes)
        return .bytes(buffer)
    }

    /// Returns a body with the UTF-8 bytes of a text. The request then needs a Content-Type, because the client adds none.
    ///
    /// - Throws: `no_memory`.
    public static func text(_ text: String) throws(NightjarError) -> RequestBody { try bytes(text.utf8) }
}
