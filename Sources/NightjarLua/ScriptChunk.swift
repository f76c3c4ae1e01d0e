import CLua
import Nightjar
import NightjarHTTP

/// The code of a run: a chunk, or a function with its arguments.
package struct ScriptChunk: Sendable {
    private let kind: njl_source
    private var text: [UInt8]
    private var name: [UInt8]?

    /// - Parameter name: the name of the chunk in messages.
    package init(_ source: [UInt8], name: String) { self.init(NJL_FROM_TEXT, source, name: Array("=\(name)".utf8)) }

    /// - Parameter path: nil: standard input.
    package init(file path: String?) { self.init(NJL_FROM_FILE, [], name: path.map { Array($0.utf8) }) }

    /// - Throws: `invalid_request` if a number is infinite or NaN.
    init(function name: String, _ arguments: [JSONValue]) throws(NightjarError) {
        let text = try JSONValue.array(arguments).encoded()
        self.init(NJL_FROM_GLOBAL, text.withUnsafeReadableBytes { Array($0) }, name: Array(name.utf8))
    }

    /// - Parameter arguments: a JSON array; empty: no arguments.
    /// - Throws: `decoding` if the arguments are not JSON; `invalid_argument` if they are not an array.
    package init(function name: String, arguments: UnsafeRawBufferPointer) throws(NightjarError) {
        if !arguments.isEmpty {
            try JSONValue.check(arguments)
            guard arguments.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "[") else {
                throw NightjarError(.invalidArgument, "the arguments must be a JSON array")
            }
        }
        self.init(NJL_FROM_GLOBAL, Array(arguments), name: Array(name.utf8))
    }

    init(_ kind: njl_source, _ text: [UInt8], name: [UInt8]?) {
        self.kind = kind
        self.text = text
        self.name = name
    }

    /// Releases the code and the name.
    mutating func discard() { (text, name) = ([], nil) }

    /// Calls `body` with the C form of the chunk, which is valid until `body` returns.
    func withC<Result>(wantsResults: Bool, _ body: (UnsafePointer<njl_call>) -> Result) -> Result {
        text.withUnsafeBytes { text in
            func call(_ name: UnsafePointer<CChar>?) -> Result {
                var chunk = njl_call()
                chunk.source = kind
                chunk.text = njl_bytes(text)
                chunk.name = name
                chunk.wants_results = wantsResults
                return body(&chunk)
            }
            guard let name else { return call(nil) }
            return (name.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer { call($0.baseAddress) }
        }
    }
}
