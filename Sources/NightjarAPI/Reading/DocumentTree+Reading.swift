import NightjarHTTP

extension DocumentTree {
    /// Reads a document in JSON or YAML. The format is detected from the contents. If the contents begin like JSON but
    /// are not valid JSON, the suffix of the name counts too.
    ///
    /// - Throws: `decoding`, usually with line and column, `too_large`, or `no_memory`.
    static func reading(_ source: UnsafeRawBufferPointer, name: String) throws(NightjarError) -> DocumentTree {
        guard source.count <= maximumLength else {
            throw NightjarError(.tooLarge, "\(name) is larger than \(maximumLength >> 30) GiB")
        }
        let start = source.drop { $0 == 0xEF || $0 == 0xBB || $0 == 0xBF || $0 <= 0x20 }.first
        guard start == UInt8(ascii: "{") || start == UInt8(ascii: "[") else { return try yaml(source, name: name) }
        do throws(NightjarError) {
            return try json(Array(source), name: name)
        } catch {
            // A YAML document in flow style begins like JSON.
            if name.hasSuffix(".yaml") || name.hasSuffix(".yml") { return try yaml(source, name: name) }
            guard !name.hasSuffix(".json"), let tree = try? yaml(source, name: name) else { throw error }
            return tree
        }
    }

    /// True if the document may contain a `$ref` to another document.
    var refersElsewhere: Bool {
        bytes.withUnsafeBytes { bytes in
            nodes.indices.dropLast().contains { at in
                let key = nodes[at]
                guard key.kind == .string, key.count == 4,
                    bytes[Int(key.first)..<(Int(key.first) + 4)].elementsEqual("$ref".utf8)
                else { return false }
                var value = nodes[at + 1]
                if value.kind == .alias { value = nodes[Int(value.first)] }
                return value.kind == .string && value.count > 0 && bytes[Int(value.first)] != UInt8(ascii: "#")
            }
        }
    }
}
