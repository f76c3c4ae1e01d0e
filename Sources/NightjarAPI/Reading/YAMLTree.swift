import CYaml
import NightjarHTTP

extension DocumentTree {
    /// Reads YAML 1.2 with libyaml. Accepts one document, string keys, scalars of the core schema, and the merge keys
    /// of YAML 1.1.
    ///
    /// - Throws: `decoding`, usually with line and column, or `no_memory`.
    static func yaml(_ source: UnsafeRawBufferPointer, name: String) throws(NightjarError) -> DocumentTree {
        // libyaml does not accept a null pointer.
        guard !source.isEmpty else { return TreeBuilder(name: name, capacity: 0).finish() }
        guard directives(source) <= maximumDirectives else {
            throw NightjarError(.decoding, "\(name) has more than \(maximumDirectives) %TAG directives")
        }
        try TreeBuilder.checkMemory(source.count, name)
        let reader = try YAMLReader(source, name: name)
        defer { reader.close() }
        return try reader.read()
    }
}

extension DocumentTree {
    /// The maximum number of `%TAG` directives. libyaml compares each directive with all earlier ones before it returns
    /// the first event. API descriptions have none.
    private static let maximumDirectives = 100

    /// Counts possible `%TAG` directives, up to one more than the limit. Zero bytes are skipped, for UTF-16.
    private static func directives(_ source: UnsafeRawBufferPointer) -> Int {
        var count = 0
        var rest = source[...]
        while count <= maximumDirectives, let sign = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[(sign + 1)...]
            if rest.prefix(6).lazy.filter({ $0 != 0 }).starts(with: "TAG".utf8) { count += 1 }
        }
        return count
    }
}

/// Consumes libyaml's events. The parser is iterative, so the nesting depth does not matter.
private struct YAMLReader {
    private let name: String
    private let source: UnsafeRawBufferPointer
    /// Allocated on the heap because libyaml keeps its address.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var builder: TreeBuilder
    /// The node indices by anchor. A later anchor replaces an earlier one of the same name.
    private var anchors = ExactDictionary<UInt32>()
    private var documents = 0

    init(_ source: UnsafeRawBufferPointer, name: String) throws(NightjarError) {
        self.name = name
        self.source = source
        builder = TreeBuilder(name: name, capacity: source.count)
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            throw NightjarError(.noMemory, "not enough memory to read \(name) as YAML")
        }
        yaml_parser_set_input_string(
            parser, source.assumingMemoryBound(to: UInt8.self).baseAddress, source.count)
    }

    func close() {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    consuming func read() throws(NightjarError) -> DocumentTree {
        var event = yaml_event_t()
        while true {
            guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxError }
            defer { yaml_event_delete(&event) }
            if event.type == YAML_STREAM_END_EVENT { break }
            try received(event)
        }
        return builder.finish()
    }

    private mutating func received(_ event: yaml_event_t) throws(NightjarError) {
        let line = event.start_mark.line + 1
        let column = event.start_mark.column + 1
        switch event.type {
        case YAML_DOCUMENT_START_EVENT:
            documents += 1
            guard documents == 1 else {
                throw failure(line, column, "a second document begins (---); a description must be a single document")
            }
        case YAML_MAPPING_START_EVENT:
            try begin(.object, event.data.mapping_start.anchor, line, column)
        case YAML_SEQUENCE_START_EVENT:
            try begin(.array, event.data.sequence_start.anchor, line, column)
        case YAML_MAPPING_END_EVENT, YAML_SEQUENCE_END_EVENT: try builder.end()
        case YAML_SCALAR_EVENT: try received(event.data.scalar, line, column)
        case YAML_ALIAS_EVENT:
            let anchor = text(event.data.alias.anchor)
            guard let target = anchors[anchor] else {
                throw failure(
                    line, column, "the alias *\(anchor) is undefined: there is no anchor &\(anchor) before it")
            }
            try builder.appendAlias(of: target, line: line, column: column)
        default: break
        }
    }

    private mutating func begin(
        _ kind: DocumentTree.Kind, _ anchor: UnsafeMutablePointer<yaml_char_t>?, _ line: Int, _ column: Int
    ) throws(NightjarError) {
        guard !builder.expectsKey else {
            throw failure(line, column, "a key is \(kind == .array ? "a list" : "an object"); write the key in quotes")
        }
        let index = try builder.begin(kind, line: line, column: column)
        if let anchor { anchors[text(anchor)] = index }
    }

    // MARK: Scalars

    typealias Scalar = yaml_event_t.__Unnamed_union_data.__Unnamed_struct_scalar

    private mutating func received(_ scalar: Scalar, _ line: Int, _ column: Int) throws(NightjarError) {
        let value = UnsafeRawBufferPointer(start: scalar.value, count: scalar.length)
        let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
        let index: UInt32
        if builder.expectsKey {
            if isPlain, value.elementsEqual("<<".utf8) {
                builder.appendMergeKey(value, line: line, column: column)
                return
            }
            index = builder.append(.string, value, line: line, column: column)
        } else {
            let (kind, flag) = try meaning(of: value, scalar, isPlain: isPlain, line, column)
            index = builder.append(kind, value, flag: flag, line: line, column: column)
        }
        if let anchor = scalar.anchor { anchors[text(anchor)] = index }
    }

    /// Returns the kind of a scalar. A tag of the core schema, `!`, `!!binary` or `!!timestamp` determines the kind.
    /// Other tags are ignored.
    private func meaning(
        of value: UnsafeRawBufferPointer, _ scalar: Scalar, isPlain: Bool, _ line: Int, _ column: Int
    ) throws(NightjarError) -> (DocumentTree.Kind, flag: Bool) {
        let plain = YAMLScalar.kind(value)
        guard let tag = scalar.tag.map(text) else { return isPlain ? plain : (.string, false) }
        guard tag != "!" else { return (.string, false) }
        let prefix = "tag:yaml.org,2002:"
        guard tag.utf8.starts(with: prefix.utf8) else { return isPlain ? plain : (.string, false) }
        let wanted: (DocumentTree.Kind, flag: Bool)
        switch Substring(tag.utf8.dropFirst(prefix.utf8.count)) {
        case "null": wanted = (.null, false)
        case "bool": wanted = (.bool, plain.flag)
        case "int": wanted = (.integer, false)
        case "float": wanted = (.number, false)
        case "str", "binary", "timestamp": return (.string, false)
        default: return isPlain ? plain : (.string, false)
        }
        // An integer is also a valid `!!float`.
        guard plain.0 == wanted.0 || plain.0 == .integer && wanted.0 == .number else {
            let found = quoted(String(decoding: value, as: UTF8.self))
            throw failure(line, column, "\(found) does not match its tag !!\(tag.dropFirst(prefix.count))")
        }
        return wanted
    }

    private func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String {
        bytes.map { String(cString: $0) } ?? ""
    }

    // MARK: Errors

    private func failure(_ line: Int, _ column: Int, _ what: String) -> NightjarError {
        NightjarError(.decoding, "\(name) line \(line) column \(column): \(what)")
    }

    /// The error that libyaml reports.
    private var syntaxError: NightjarError {
        let state = parser.pointee
        guard state.error != YAML_MEMORY_ERROR else {
            return NightjarError(.noMemory, "not enough memory to read \(name) as YAML")
        }
        var what = "not YAML: " + (state.problem.map { String(cString: $0) } ?? "unknown")
        if state.error == YAML_READER_ERROR {
            let before = source.prefix(state.problem_offset)
            let line = before.count { $0 == 0x0A } + 1
            let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
            if state.problem_value != -1 { what += " (0x" + String(state.problem_value, radix: 16) + ")" }
            return failure(line, column, what)
        }
        if let context = state.context {
            what += ", \(String(cString: context)) on line \(state.context_mark.line + 1)"
        }
        return failure(Int(state.problem_mark.line) + 1, Int(state.problem_mark.column) + 1, what)
    }
}
