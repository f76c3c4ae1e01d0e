import NightjarSystem

/// Header or trailer fields in their original order. Names are compared ignoring case. RFC 9110 section 5.1.
///
/// One buffer stores all names and values. A NUL follows each name and value, so a C caller can borrow the text without
/// a copy. A `String` is created only when a Swift caller reads a name or value.
public struct Headers: Sendable {
    struct Field: Sendable, Equatable {
        var name: Int32
        var nameLength: Int32
        var value: Int32
        var valueLength: Int32
    }

    private(set) var bytes: ContiguousArray<UInt8>
    private(set) var fields: ContiguousArray<Field>
    /// The error of the first invalid field that was set with the subscript or with a literal. Nil if there is none.
    package private(set) var failure: NightjarError?

    public init() {
        bytes = []
        fields = []
    }

    package init(reservingFields count: Int, bytes capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
        fields = []
        fields.reserveCapacity(count)
    }

    public var count: Int { fields.count }
    public var isEmpty: Bool { fields.isEmpty }

    /// The total length of all names and values in bytes, without separators.
    public var byteCount: Int { fields.reduce(0) { $0 + Int($1.nameLength) + Int($1.valueLength) } }

    /// Appends a field. The caller must have checked the field's syntax (``FieldSyntax``) and size.
    package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let nameStart = bytes.count
        bytes.append(contentsOf: name)
        bytes.append(0)
        let valueStart = bytes.count
        bytes.append(contentsOf: value)
        bytes.append(0)
        appendRange(name: nameStart, nameLength: name.count, value: valueStart, valueLength: value.count)
    }

    /// Appends fields. `start` is the offset of `text` in the text that the ranges refer to.
    mutating func append(_ text: UnsafeRawBufferPointer, _ ranges: UnsafeBufferPointer<Field>, from start: Int32) {
        let offset = Int32(truncatingIfNeeded: bytes.count) - start
        bytes.append(contentsOf: text)
        for field in ranges {
            var moved = field
            moved.name += offset
            moved.value += offset
            fields.append(moved)
        }
    }

    // MARK: Unchanged field lines

    /// The offset at which the next ``adopt(lines:from:)`` stores its first byte.
    var end: Int { bytes.count }

    mutating func reserve(fields count: Int) { fields.reserveCapacity(count) }

    /// Records the ranges of a field whose bytes ``adopt(lines:from:)`` copies later. `name` and `value` are offsets
    /// from the start of ``bytes``.
    @inline(__always)
    mutating func appendRange(name: Int, nameLength: Int, value: Int, valueLength: Int) {
        fields.append(
            Field(
                name: Int32(truncatingIfNeeded: name), nameLength: Int32(truncatingIfNeeded: nameLength),
                value: Int32(truncatingIfNeeded: value), valueLength: Int32(truncatingIfNeeded: valueLength)))
    }

    /// Copies the field lines whose ranges were recorded by ``appendRange(name:nameLength:value:valueLength:)``, from
    /// the field at index `first`. Writes a NUL after each name and value.
    mutating func adopt(lines: UnsafeRawBufferPointer, from first: Int) {
        bytes.append(contentsOf: lines)
        bytes.withUnsafeMutableBytes { all in
            for field in fields[first...] {
                all[Int(field.name) + Int(field.nameLength)] = 0
                all[Int(field.value) + Int(field.valueLength)] = 0
            }
        }
    }

    /// Appends `more` to the value of the last field, after a space if the value is not empty. The value must be at the
    /// end of ``bytes``.
    ///
    /// - Parameter more: bytes with the syntax of a field value, without leading or trailing blanks. If empty, nothing
    ///   changes.
    mutating func extendLastValue(by more: UnsafeRawBufferPointer) {
        guard let last = fields.last, !more.isEmpty else { return }
        bytes.removeLast(bytes.count - Int(last.value) - Int(last.valueLength))
        if last.valueLength > 0 { bytes.append(UInt8(ascii: " ")) }
        bytes.append(contentsOf: more)
        fields[fields.count - 1].valueLength = Int32(truncatingIfNeeded: bytes.count - Int(last.value))
        bytes.append(0)
    }

    /// Parses field lines that this library has written. Does not validate them.
    init(written lines: UnsafeRawBufferPointer) {
        self.init(reservingFields: 12, bytes: lines.count)
        func isBlank(_ index: Int) -> Bool { lines[index] == UInt8(ascii: " ") || lines[index] == UInt8(ascii: "\t") }
        func first(_ byte: UInt8, from start: Int) -> Int? {
            guard start < lines.count, let base = lines.baseAddress,
                let found = memchr(base + start, Int32(byte), lines.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
        var start = 0
        while let colon = first(UInt8(ascii: ":"), from: start), let feed = first(UInt8(ascii: "\n"), from: colon) {
            let next = feed + 1
            var (value, end) = (colon + 1, feed - 1)
            while value < end, isBlank(value) { value += 1 }
            while end > value, isBlank(end - 1) { end -= 1 }
            appendRange(name: start, nameLength: colon - start, value: value, valueLength: end - value)
            start = next
        }
        assert(start == lines.count)
        adopt(lines: UnsafeRawBufferPointer(rebasing: lines[..<start]), from: 0)
    }

    // MARK: Changing

    /// Appends a field.
    ///
    /// - Throws: ``ErrorKind/invalidRequest`` if the name or value is invalid (contains CR, LF or NUL, for example), or
    ///   if the headers would become larger than 16 MiB.
    public mutating func add(_ name: String, _ value: String) throws(NightjarError) {
        try check(name: name, value: value)
        var name = name
        var value = value
        name.withUTF8 { name in
            value.withUTF8 { value in append(name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer(value)) }
        }
    }

    /// Appends a field from stored bytes.
    ///
    /// - Returns: false if the name or value is invalid, or if the headers would become too large.
    package mutating func restore(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard FieldSyntax.isToken(name), FieldSyntax.isValue(value),
            name.count + value.count < Headers.maximumBytes - bytes.count
        else { return false }
        append(name: name, value: value)
        return true
    }

    /// Replaces all fields of this name with one field.
    public mutating func set(_ name: String, _ value: String) throws(NightjarError) {
        try check(name: name, value: value)
        remove(name)
        try add(name, value)
    }

    public mutating func remove(_ name: String) {
        guard firstIndex(of: name) != nil else { return }
        var kept = Headers(reservingFields: fields.count, bytes: bytes.count)
        kept.failure = failure
        bytes.withUnsafeBytes { all in
            for index in fields.indices where !isField(index, named: name) {
                kept.append(name: nameBytes(index, in: all), value: valueBytes(index, in: all))
            }
        }
        self = kept
    }

    /// The maximum size of all fields in bytes that ``add(_:_:)`` allows. Keeps offsets within 32 bits.
    static let maximumBytes = 16 << 20

    private func check(name: String, value: String) throws(NightjarError) {
        guard FieldSyntax.isToken(name.utf8) else {
            throw NightjarError(
                .invalidRequest, "header name \(quoted(name)) is invalid; use only letters, digits and !#$%&'*+-.^_`|~")
        }
        guard FieldSyntax.isValue(value.utf8) else {
            throw NightjarError(
                .invalidRequest,
                "the value of header \"\(name)\" contains a control character such as CR, LF or NUL; remove it")
        }
        guard name.utf8.count + value.utf8.count < Headers.maximumBytes - bytes.count else {
            throw NightjarError(
                .invalidRequest, "header \(quoted(name)) makes the headers larger than \(Headers.maximumBytes) bytes")
        }
    }

    // MARK: Looking up

    private func nameBytes(_ index: Int, in all: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let field = fields[index]
        return UnsafeRawBufferPointer(rebasing: all[Int(field.name)..<Int(field.name) + Int(field.nameLength)])
    }

    private func valueBytes(_ index: Int, in all: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let field = fields[index]
        return UnsafeRawBufferPointer(rebasing: all[Int(field.value)..<Int(field.value) + Int(field.valueLength)])
    }

    private func isField(_ index: Int, named name: String) -> Bool {
        var name = name
        return name.withUTF8 { isField(index, named: UnsafeRawBufferPointer($0)) }
    }

    private func isField(_ index: Int, named name: UnsafeRawBufferPointer) -> Bool {
        guard Int(fields[index].nameLength) == name.count else { return false }
        return bytes.withUnsafeBytes { ASCII.equalIgnoringCase(nameBytes(index, in: $0), name) }
    }

    public func firstIndex(of name: String) -> Int? {
        var name = name
        return name.withUTF8 { firstIndex(of: UnsafeRawBufferPointer($0)) }
    }

    func firstIndex(of name: UnsafeRawBufferPointer) -> Int? {
        bytes.withUnsafeBytes { all in
            fields.indices.first {
                Int(fields[$0].nameLength) == name.count && ASCII.equalIgnoringCase(nameBytes($0, in: all), name)
            }
        }
    }

    /// Returns the name of the field at `index` in its original case.
    public func name(at index: Int) -> String {
        bytes.withUnsafeBytes { String(decoding: nameBytes(index, in: $0), as: UTF8.self) }
    }

    public func value(at index: Int) -> String {
        bytes.withUnsafeBytes { String(decoding: valueBytes(index, in: $0), as: UTF8.self) }
    }

    /// The value of the first field of this name. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// Setting it replaces all fields of the name with one field at the end, and nil removes them. ``add(_:_:)`` repeats a
    /// field. If the name or the value is invalid, the fields remain unchanged, and a call with these headers fails
    /// with the error that ``set(_:_:)`` throws.
    public subscript(_ name: String) -> String? {
        get { firstIndex(of: name).map(value(at:)) }
        set {
            guard let newValue else { return remove(name) }
            attempt { (headers) throws(NightjarError) in try headers.set(name, newValue) }
        }
    }

    /// Makes a change, or keeps its error for ``checkLiterals()``.
    private mutating func attempt(_ change: (inout Headers) throws(NightjarError) -> Void) {
        do throws(NightjarError) {
            try change(&self)
        } catch {
            failure = failure ?? error
        }
    }

    /// Throws the error of the first invalid field that was set with the subscript or with a literal.
    package func checkLiterals() throws(NightjarError) {
        if let failure { throw failure }
    }

    /// Returns the values of all fields of this name, in order.
    public func values(_ name: String) -> [String] {
        fields.indices.filter { isField($0, named: name) }.map(value(at:))
    }

    /// Calls `body` with the name and value of the field at `index`, each followed by a NUL.
    ///
    /// The pointers are valid as long as these headers, or an unchanged copy of them, exist.
    public func withBytes<Result>(
        at index: Int, _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { body(nameBytes(index, in: $0), valueBytes(index, in: $0)) }
    }

    /// Calls `body` for each field whose name length is in `lengths`. Bit n of `lengths` stands for n bytes. Names of
    /// 32 bytes or more are skipped.
    @inline(__always)
    func forEachField(
        ofLengths lengths: UInt32,
        _ body: (_ index: Int, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress else { return }
            fields.withUnsafeBufferPointer { fields in
                for index in fields.indices {
                    let field = fields[index]
                    guard field.nameLength < 32, lengths & (1 << UInt32(field.nameLength)) != 0 else { continue }
                    body(
                        index, UnsafeRawBufferPointer(start: base + Int(field.name), count: Int(field.nameLength)),
                        UnsafeRawBufferPointer(start: base + Int(field.value), count: Int(field.valueLength)))
                }
            }
        }
    }
}

extension Headers: Sequence {
    public func makeIterator() -> some IteratorProtocol<(name: String, value: String)> {
        (0..<count).lazy.map { (name: name(at: $0), value: value(at: $0)) }.makeIterator()
    }
}

extension Headers: ExpressibleByDictionaryLiteral {
    /// Creates headers. A name may repeat. A call with an invalid field fails with the error that ``add(_:_:)`` throws.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init()
        for (name, value) in elements { attempt { (headers) throws(NightjarError) in try headers.add(name, value) } }
    }
}

extension Headers: Equatable {
    /// Returns true if both have the same fields in the same order. Names are compared ignoring case, and values by
    /// their bytes.
    public static func == (a: Headers, b: Headers) -> Bool {
        guard a.count == b.count, (a.failure == nil) == (b.failure == nil) else { return false }
        return a.bytes.withUnsafeBytes { inA in
            b.bytes.withUnsafeBytes { inB in
                a.fields.indices.allSatisfy {
                    ASCII.equalIgnoringCase(a.nameBytes($0, in: inA), b.nameBytes($0, in: inB))
                        && a.valueBytes($0, in: inA).elementsEqual(b.valueBytes($0, in: inB))
                }
            }
        }
    }
}
