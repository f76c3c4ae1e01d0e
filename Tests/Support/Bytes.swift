import Foundation

/// Bytes that a test writes as text or as numbers.
public struct Bytes: Sendable, Equatable, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral {
    public var array: [UInt8]

    public init(_ bytes: some Sequence<UInt8>) { array = Array(bytes) }
    /// Reads a file.
    public init(contentsOf path: String) throws { array = Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
    public init(stringLiteral text: String) { array = Array(text.utf8) }
    public init(arrayLiteral elements: UInt8...) { array = elements }

    public var text: String { String(decoding: array, as: UTF8.self) }

    public static func + (first: Bytes, second: Bytes) -> Bytes { Bytes(first.array + second.array) }
}

extension Bytes: CustomStringConvertible {
    /// A quoted text, or an array of numbers for bytes that are not UTF-8.
    public var description: String { String(validating: array, as: UTF8.self)?.debugDescription ?? "\(array)" }
}
