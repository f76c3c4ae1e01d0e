/// A string that is compared and hashed by its UTF-8 bytes, as protocols and file formats compare names.
///
/// Swift's `String` compares by canonical equivalence: "é" equals "e" followed by U+0301, and the Kelvin sign (U+212A)
/// equals "K". Tables use this type as their key if the names come from a peer or a caller.
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
    /// Returns true if both are nil, or if both strings have the same bytes.
    @inlinable
    package func isExactly(_ other: String?) -> Bool {
        guard let self, let other else { return self == nil && other == nil }
        return self.isExactly(other)
    }
}

extension String {
    /// Returns true if both strings have the same bytes.
    @inlinable
    package func isExactly(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let same = utf8.withContiguousStorageIfAvailable { ASCII.isSame(UnsafeRawBufferPointer($0), other) }
        return same ?? utf8.elementsEqual(other.utf8)
    }

    /// Returns true if the bytes of this string sort before the bytes of `other`.
    @inlinable
    package func precedesExactly(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }

    /// Hashes the bytes. `hash(into:)` gives all canonically equivalent strings the same hash, and an attacker can
    /// produce any number of equivalent strings.
    @inlinable
    package func hashExactly(into hasher: inout Hasher) {
        let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
        // The terminator makes ("ab", "c") and ("a", "bc") hash differently.
        hasher.combine(0xFF as UInt8)
    }
}

/// A dictionary whose keys are compared by their UTF-8 bytes, so canonically equivalent names remain distinct.
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

    /// All entries, in no particular order.
    @inlinable
    public var all: some Sequence<(name: String, value: Value)> {
        values.lazy.map { (name: $0.key.text, value: $0.value) }
    }

    /// All names, sorted by their bytes.
    @inlinable
    public var names: [String] { values.keys.map(\.text).sorted { $0.precedesExactly($1) } }

    @discardableResult
    @inlinable
    package mutating func removeValue(_ name: String) -> Value? { values.removeValue(forKey: ExactText(name)) }
}

extension ExactDictionary: ExpressibleByDictionaryLiteral {
    /// Creates a dictionary. If a name occurs more than once, the last value is used.
    @inlinable
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension ExactDictionary: Sendable where Value: Sendable {}

/// A set of strings that are compared by their UTF-8 bytes.
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

    /// Adds a text. Returns true if the set did not contain the text.
    @discardableResult
    @inlinable
    package mutating func insert(_ text: String) -> Bool { texts.insert(ExactText(text)).inserted }
}
