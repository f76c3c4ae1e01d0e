import CSimdjson
import NightjarHTTP

extension DocumentTree {
    /// Reads JSON. RFC 8259.
    ///
    /// - Throws: `decoding` with line and column, or `no_memory`.
    static func json(_ source: [UInt8], name: String) throws(NightjarError) -> DocumentTree {
        try TreeBuilder.checkMemory(source.count, name)
        guard let parser = njs_parser_new() else { throw .noMemory(source.count, for: "a JSON parser") }
        defer { njs_parser_free(parser) }
        var document = njs_document()
        var failure = njs_failure()
        let status = source.withUnsafeBytes { bytes in
            njs_parse(
                parser, bytes.assumingMemoryBound(to: CChar.self).baseAddress, bytes.count, &document, &failure)
        }
        guard status == NJS_OK, let tape = document.tape, let strings = document.strings else {
            guard status != NJS_NO_MEMORY, let problem = failure.problem else {
                throw .noMemory(source.count * 10, for: "the JSON parser")
            }
            throw NightjarError(
                .decoding,
                "\(name) line \(failure.line) column \(failure.column): not JSON: \(String(cString: problem))")
        }
        var reader = TapeReader(tape, UnsafeRawPointer(strings))
        var builder = TreeBuilder(name: name, capacity: source.count, source: source)
        try reader.read(into: &builder)
        return builder.finish()
    }
}

/// Reads simdjson's tape, which the parser has validated. CSimdjson.h describes the format.
private struct TapeReader {
    private let tape: UnsafePointer<UInt64>
    private let strings: UnsafeRawPointer
    private var at = 1

    init(_ tape: UnsafePointer<UInt64>, _ strings: UnsafeRawPointer) {
        self.tape = tape
        self.strings = strings
    }

    mutating func read(into builder: inout TreeBuilder) throws(NightjarError) {
        repeat {
            let word = tape[at]
            at += 1
            switch UInt8(truncatingIfNeeded: word >> 56) {
            case UInt8(ascii: "["): _ = try builder.begin(.array)
            case UInt8(ascii: "{"): _ = try builder.begin(.object)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): try builder.end()
            case UInt8(ascii: "\""):
                let offset = Int(word & 0x00ff_ffff_ffff_ffff)
                let length = Int(strings.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                builder.append(.string, UnsafeRawBufferPointer(start: strings + offset + 4, count: length))
            case UInt8(ascii: "l"): append(.integer, String(Int64(bitPattern: number())), to: &builder)
            case UInt8(ascii: "u"): append(.integer, String(number()), to: &builder)
            case UInt8(ascii: "d"): append(double: Double(bitPattern: number()), to: &builder)
            case UInt8(ascii: "t"): append(.bool, "true", flag: true, to: &builder)
            case UInt8(ascii: "f"): append(.bool, "false", to: &builder)
            default: append(.null, "null", to: &builder)
            }
        } while builder.depth > 0
    }

    private mutating func number() -> UInt64 {
        defer { at += 1 }
        return tape[at]
    }

    private func append(
        _ kind: DocumentTree.Kind, _ text: String, flag: Bool = false, to builder: inout TreeBuilder
    ) {
        var text = text
        text.withUTF8 { _ = builder.append(kind, UnsafeRawBufferPointer($0), flag: flag) }
    }

    private func append(double: Double, to builder: inout TreeBuilder) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NJS_DOUBLE_LENGTH)) { text in
            let length = text.baseAddress.map { njs_format_double(double, $0) } ?? 0
            _ = builder.append(.number, UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: text[..<length])))
        }
    }
}
