import CLua
import Nightjar
import NightjarHTTP
import NightjarSystem

/// A JSON text from C, in memory of `malloc`.
package final class ScriptText: @unchecked Sendable {
    package let pointer: UnsafeMutablePointer<CChar>
    /// The length in bytes.
    package var count: Int { strlen(pointer) }
    private var isOwned = true

    /// Takes ownership of both texts. The message is freed.
    ///
    /// - Throws: `script` with the message if `text` is nil.
    init(_ text: UnsafeMutablePointer<CChar>?, or message: UnsafeMutablePointer<CChar>?) throws(NightjarError) {
        defer { njl_script_free_text(message) }
        guard let text else {
            throw NightjarError(.script, message.map { String(cString: $0) } ?? "not enough memory")
        }
        pointer = text
    }

    init(copying text: String) throws(NightjarError) {
        guard let copy = strdup(text) else { throw NightjarError(.script, "not enough memory") }
        pointer = copy
    }

    deinit { if isOwned { njl_script_free_text(pointer) } }

    /// Transfers ownership of the text to the caller, who frees it with `free`. This object must not be used
    /// afterwards.
    package func take() -> UnsafeMutablePointer<CChar> {
        isOwned = false
        return pointer
    }

    func value() throws(NightjarError) -> JSONValue {
        try JSONValue(parsing: UnsafeRawBufferPointer(start: pointer, count: count))
    }
}
