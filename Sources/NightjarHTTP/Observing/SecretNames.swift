/// Whether what goes by this name, a field of a log, an item of a form or a query, a header field, is most likely a
/// credential: its value is kept out of logs. Case and separators do not matter.
public func isNameOfSecret(_ name: UnsafeRawBufferPointer) -> Bool {
    // By the rules for header fields "max_tokens" would be one, so they are for names that look like those.
    let isField = name.contains(UInt8(ascii: "-")) || ASCII.isCaseless(name, "cookie")
    return isField && Masking.isSecret(field: name)
        || Redaction.isSecret(name: String(decoding: name, as: UTF8.self)[...].utf8)
}
