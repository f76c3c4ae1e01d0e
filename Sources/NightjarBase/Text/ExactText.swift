/// A text that is compared and hashed by its bytes, as protocols and file formats compare names.
///
/// Swift's `String` compares by canonical equivalence: "é" is equal to "e" with U+0301 behind it, and the Kelvin sign
/// (U+212A) is equal to "K". A name from outside must not be taken for another one, so tables of such names have this type as
/// their key.
@frozen
@usableFromInline
package struct ExactText: Hashable, Sendable {
    @usableFromInline package let text: String

    @inlinable
    package init(_ text: String) { self.text = text }

    @inlinable
    package static func == (a: ExactText, b: ExactText) -> Bool { a.text.isExactly(b.text) }

    @inlinable
    package func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}

extension String? {
    /// Whether both are nil, or both texts have the same bytes.
    @inlinable
    package func isExactly(_ other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isExactly(other)
    }
}

extension String {
    /// Whether both texts have the same bytes.
    @inlinable
    package func isExactly(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let same = utf8.withContiguousStorageIfAvailable { ASCII.isSame(UnsafeRawBufferPointer($0), other) }
        return same ?? utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes of this text come before those of the other.
    @inlinable
    package func isExactly(before other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// Not as `hash(into:)` does: canonically equivalent texts, of which anybody can write any number, would collide.
    @inlinable
    package func hashExactly(into hasher: inout Hasher) {
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
        // Ends the text: "ab" and "c" are not "a" and "bc".
        hasher.combine(0xFF as UInt8)
    }
}

/// A dictionary whose keys are texts that are compared by their bytes: names that look alike are different names.
public struct ExactDictionary<Value> {
    @usableFromInline var values: [ExactText: Value] = [:]

    @inlinable
    public init() {}

    @inlinable
    public var isEmpty: Bool { values.isEmpty }
    @inlinable
    public var count: Int { values.count }

    @inlinable
    public subscript(_ name: String) -> Value? {
        get { values[ExactText(name)] }
        set { values[ExactText(name)] = newValue }
    }

    @inlinable
    package subscript(_ name: String, default value: @autoclosure () -> Value) -> Value {
        get { values[ExactText(name), default: value()] }
        _modify { yield &values[ExactText(name), default: value()] }
    }

    /// In no particular order.
    @inlinable
    public var all: some Sequence<(name: String, value: Value)> {
        values.lazy.map { (name: $0.key.text, value: $0.value) }
    }

    /// All names, by their bytes.
    @inlinable
    public var names: [String] { values.keys.map(\.text).sorted { $0.isExactly(before: $1) } }

    @discardableResult
    @inlinable
    package mutating func removeValue(_ name: String) -> Value? { values.removeValue(forKey: ExactText(name)) }
}

extension ExactDictionary: ExpressibleByDictionaryLiteral {
    /// Of several values of one name the last counts.
    @inlinable
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension ExactDictionary: Sendable where Value: Sendable {}

/// A set of texts that are compared by their bytes.
@frozen
@usableFromInline
package struct ExactSet: Sendable {
    @usableFromInline var texts: Set<ExactText> = []

    @inlinable
    package init() {}

    @inlinable
    package init(_ texts: some Sequence<String>) { self.texts = Set(texts.lazy.map(ExactText.init)) }

    @inlinable
    package func contains(_ text: String) -> Bool { texts.contains(ExactText(text)) }

    /// - Returns: whether it was not there before.
    @discardableResult
    @inlinable
    package mutating func insert(_ text: String) -> Bool { texts.insert(ExactText(text)).inserted }
}
