import NIOCore

// Parts for array literals: `try MultipartForm([.field("title", title), .file("photo", path: "photo.jpg")])`.

extension MultipartForm.Part {
    /// Returns a field. A string is sent as it is, and any other value as its JSON text.
    public static func field(_ name: String, _ value: some ParameterValue) -> MultipartForm.Part {
        let value = value.parameterValue
        return MultipartForm.Part(name, (try? value.parameterText()) ?? value.description)
    }

    /// Returns the part of a file, which is read while the form is sent.
    ///
    /// - Parameters:
    ///   - filename: The name that is sent to the server. Nil: the last component of the path.
    ///   - type: The Content-Type. Nil: derived from the extension of the file name.
    public static func file(
        _ name: String, path: String, filename: String? = nil, type: String? = nil
    ) -> MultipartForm.Part {
        var part = MultipartForm.Part(name, .file(path: path, length: nil))
        part.filename = filename ?? part.filename
        part.contentType = type
        return part
    }

    /// Returns the part of a file whose content is in memory.
    ///
    /// - Throws: `no_memory`.
    public static func file(
        _ name: String, bytes: some Collection<UInt8>, filename: String, type: String? = nil
    ) throws(NightjarError) -> MultipartForm.Part {
        var buffer = ByteBuffer()
        try buffer.reserve(bytes.count, for: "a part of a form")
        buffer.writeBytes(bytes)
        var part = MultipartForm.Part(name, .bytes(buffer))
        part.filename = filename
        part.contentType = type
        return part
    }
}
