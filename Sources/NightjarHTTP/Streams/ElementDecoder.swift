import NIOCore

/// Divides a body that arrives in parts into elements, such as lines or events.
///
/// After each ``append(_:)``, the caller takes elements with ``next()`` until it returns nil. After the last part, the
/// caller takes the rest with ``finish()``.
package protocol ElementDecoder: Sendable {
    associatedtype Element: Sendable

    /// The name of an element in messages.
    var noun: String { get }

    mutating func append(_ part: ByteBuffer)
    mutating func next() throws(NightjarError) -> Element?
    mutating func finish() throws(NightjarError) -> Element?
}

extension RecordDecoder: ElementDecoder {
    package var noun: String { format.noun }
}

extension EventDecoder: ElementDecoder {
    package var noun: String { "event" }

    /// Returns nil: an event that the end of the body interrupts is discarded.
    package mutating func finish() -> ServerEvent? { nil }
}
