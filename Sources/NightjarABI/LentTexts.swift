import NightjarHTTP

/// The texts of an object that C has borrowed, until the object is changed. Equal texts are kept once.
struct LentTexts {
    private var texts: [String: CString] = [:]

    mutating func lend(_ text: String) -> UnsafePointer<CChar> {
        if let lent = texts[text] { return lent.pointer }
        let new = CString(text)
        texts[text] = new
        return new.pointer
    }
}

extension Headers {
    /// Returns the value of the first field of a name, in the buffer of the headers, where a NUL follows it.
    func lendValue(of name: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
        guard let name = text(name), let index = firstIndex(of: name) else { return nil }
        return lendValue(at: index)
    }

    func lendName(at index: Int) -> UnsafePointer<CChar>? {
        guard 0..<count ~= index else { return nil }
        return withBytes(at: index) { name, _ in name.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }

    func lendValue(at index: Int) -> UnsafePointer<CChar>? {
        guard 0..<count ~= index else { return nil }
        return withBytes(at: index) { _, value in value.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }
}
