/// Texts of documents. Each long text is created once. Through aliases or references, a thousand operations may share
/// one long description, which must not be copied a thousand times.
final class SharedTexts {
    private var texts: [UInt64: String] = [:]

    func text(_ place: DocumentPlace?) -> String? {
        guard let place, place.node.kind != .object, place.node.kind != .array else { return nil }
        guard place.node.textLength > SharedTexts.inlineLength else { return place.node.text }
        let key = place.key
        if let text = texts[key] { return text }
        let text = place.node.text
        texts[key] = text
        return text
    }

    /// Returns the name of a member of an object.
    func name(_ key: UInt32, of place: DocumentPlace) -> String {
        let number = UInt64(place.document) << 32 | UInt64(key)
        if let text = texts[number] { return text }
        let text = place.node.name(key)
        if text.utf8.count > SharedTexts.inlineLength { texts[number] = text }
        return text
    }

    /// The maximum length in bytes of a text that Swift stores without a heap allocation.
    private static let inlineLength = 15
}
