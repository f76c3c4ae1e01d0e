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
