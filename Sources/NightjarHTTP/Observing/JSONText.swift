import NIOCore

/// Writes JSON text, in the order of the calls. RFC 8259.
///
/// Whoever calls it closes what it opens; commas come by themselves.
struct JSONText {
    private(set) var buffer: ByteBuffer
    private var needsComma = false

    init(into buffer: ByteBuffer = ByteBuffer()) { self.buffer = buffer }

    mutating func object(_ name: String? = nil, _ members: (inout JSONText) -> Void) {
        open(name, "{")
        members(&self)
        close("}")
    }

    mutating func array<Elements: Sequence>(
        _ name: String? = nil, _ elements: Elements, _ element: (inout JSONText, Elements.Element) -> Void
    ) {
        open(name, "[")
        for item in elements { element(&self, item) }
        close("]")
    }

    mutating func member(_ name: String, _ text: String) {
        begin(name)
        buffer.writeJSONString(text)
    }

    mutating func member(_ name: String, _ number: Int) {
        begin(name)
        buffer.writeString(String(number))
    }

    /// To three digits behind the point; -1 for what is no number.
    mutating func member(_ name: String, _ number: Double) {
        begin(name)
        let thousandths = (number * 1000).rounded()
        guard thousandths.isFinite, abs(thousandths) < 1e15 else {
            buffer.writeString("-1")
            return
        }
        let whole = thousandths / 1000
        buffer.writeString(whole == whole.rounded() ? String(Int64(whole)) : String(whole))
    }

    private mutating func open(_ name: String?, _ bracket: StaticString) {
        if let name { begin(name) } else { separate() }
        buffer.writeStaticString(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: StaticString) {
        buffer.writeStaticString(bracket)
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        separate()
        buffer.writeJSONString(name)
        buffer.writeStaticString(":")
    }

    private mutating func separate() {
        if needsComma { buffer.writeStaticString(",") }
        needsComma = true
    }
}
