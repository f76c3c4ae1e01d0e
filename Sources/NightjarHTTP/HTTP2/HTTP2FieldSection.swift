/// A field section that a session of HTTP/2 has decoded. Used only while the session keeps its memory.
package struct HTTP2FieldSection {
    /// The names and values in their order, each followed by a NUL.
    let text: UnsafeRawBufferPointer
    let fields: UnsafeBufferPointer<Headers.Field>

    /// - Parameter ranges: for each field, the offset and length of its name and of its value in `text`, as 32-bit
    ///   integers.
    package init(text: UnsafeRawBufferPointer, ranges: UnsafeRawBufferPointer) {
        self.text = text
        fields = ranges.assumingMemoryBound(to: Headers.Field.self)
    }

    /// The size of the section as lines of HTTP/1.1.
    var size: Int { text.count + fields.count * 2 }

    func name(_ field: Headers.Field) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[Int(field.name)..<Int(field.name) + Int(field.nameLength)])
    }

    func value(_ field: Headers.Field) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[Int(field.value)..<Int(field.value) + Int(field.valueLength)])
    }
}

extension Headers {
    /// Copies the fields of a section from the index `first`. Does not validate them.
    init(_ section: HTTP2FieldSection, from first: Int) {
        let copied = UnsafeBufferPointer(rebasing: section.fields[first...])
        let start = copied.first?.name ?? 0
        let text = UnsafeRawBufferPointer(rebasing: section.text[Int(start)...])
        self.init(reservingFields: copied.count, bytes: text.count)
        append(text, copied, from: start)
    }
}
