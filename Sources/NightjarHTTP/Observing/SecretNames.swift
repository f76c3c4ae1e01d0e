/// Whether what goes by this name, a header field or an item of a query, a form or a log, is most likely a credential: its
/// value is kept out of logs. Case and separators do not matter.
public func isNameOfSecret(_ name: UnsafeRawBufferPointer) -> Bool {
    Masking.isSecret(field: name) || Redaction.isSecret(name: String(decoding: name, as: UTF8.self)[...].utf8)
}
