import CPCRE2

/// A regular expression of JSON Schema: ECMA-262 with the flag u, matched anywhere in a text.
///
/// PCRE2 is used without its just-in-time compiler. This saves memory and works in hosts that forbid executable pages.
/// `\d`, `\w`, `\s` and `\b` match ASCII only. `\p{...}` matches Unicode properties. Thread-safe.
final class JSONPattern: @unchecked Sendable {
    enum Outcome { case found, missing, exhausted }

    let source: String
    /// Immutable after creation, so any number of threads may use the code concurrently (pcre2api, "Multithreading").
    private let code: OpaquePointer

    /// Compiles a pattern.
    ///
    /// - Throws: `invalid_argument` with the error of PCRE2, or if the pattern is too long; `no_memory`.
    init(_ source: String) throws(NightjarError) {
        guard source.utf8.count <= JSONPattern.maximumLength else {
            throw NightjarError(
                .invalidArgument,
                "the pattern must be at most \(JSONPattern.maximumLength) bytes, got \(source.utf8.count)")
        }
        guard let context = pcre2_compile_context_create_8(nil) else {
            throw NightjarError(.noMemory, "not enough memory to compile the pattern \(quoted(source))")
        }
        defer { pcre2_compile_context_free_8(context) }
        _ = pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_ANYCRLF))
        _ = pcre2_set_parens_nest_limit_8(context, JSONPattern.maximumGroups)
        _ = pcre2_set_compile_extra_options_8(context, UInt32(PCRE2_EXTRA_ALT_BSUX))
        var code: CInt = 0
        var offset = 0
        var text = source
        let compiled = text.withUTF8 { bytes in
            pcre2_compile_8(
                bytes.baseAddress ?? JSONPattern.nothing, bytes.count, JSONPattern.options, &code, &offset, context)
        }
        guard let compiled else {
            throw NightjarError(
                code == PCRE2_ERROR_HEAP_FAILED ? .noMemory : .invalidArgument,
                "the pattern \(quoted(source)) is invalid at offset \(offset): \(JSONPattern.message(of: code))")
        }
        self.source = source
        self.code = compiled
    }

    deinit { pcre2_code_free_8(code) }

    /// The memory for matching. Not thread-safe.
    final class Scratch {
        fileprivate let data: OpaquePointer?
        fileprivate let context: OpaquePointer?

        init() {
            // One pair of offsets, because captured groups are not used.
            data = pcre2_match_data_create_8(1, nil)
            context = pcre2_match_context_create_8(nil)
            if let context { _ = pcre2_set_heap_limit_8(context, JSONPattern.maximumHeap) }
        }

        deinit {
            pcre2_match_data_free_8(data)
            pcre2_match_context_free_8(context)
        }
    }

    /// Searches a text for the pattern.
    ///
    /// - Parameter budget: the remaining steps. Each PCRE2 call costs its whole step limit, because PCRE2 does not
    ///   report how many steps a call took.
    func find(in text: String, _ scratch: Scratch, budget: inout Int) -> Outcome {
        guard let data = scratch.data, let context = scratch.context else { return .exhausted }
        var text = text
        return text.withUTF8 { bytes in
            // One step of PCRE2 may scan the rest of the text. Steps in a long text therefore cost more.
            let price = 1 + bytes.count / 1024
            var limit = JSONPattern.firstLimit
            while true {
                let (cost, overflow) = (Int(limit) / JSONPattern.stepsAtOnce).multipliedReportingOverflow(by: price)
                guard !overflow, cost <= budget else { return .exhausted }
                budget -= cost
                _ = pcre2_set_match_limit_8(context, limit)
                _ = pcre2_set_depth_limit_8(context, limit)
                let status = pcre2_match_8(
                    code, bytes.baseAddress ?? JSONPattern.nothing, bytes.count, 0, UInt32(PCRE2_NO_UTF_CHECK), data,
                    context)
                switch status {
                case PCRE2_ERROR_NOMATCH: return .missing
                case PCRE2_ERROR_MATCHLIMIT, PCRE2_ERROR_DEPTHLIMIT:
                    guard limit < JSONPattern.lastLimit else { return .exhausted }
                    limit *= 10
                default: return status >= 0 ? .found : .exhausted
                }
            }
        }
    }

    private static func message(of code: CInt) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { bytes in
            let count = pcre2_get_error_message_8(code, bytes.baseAddress, bytes.count)
            return count > 0 ? String(decoding: bytes.prefix(Int(count)), as: UTF8.self) : "error \(code)"
        }
    }

    /// The options that make PCRE2 most similar to ECMA-262 (pcre2api, "Compiling a pattern"). UCP is off because it
    /// would make `\d` and `\w` match more than ASCII.
    private static let options = UInt32(
        PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF
            | PCRE2_NEVER_BACKSLASH_C)
    /// The maximum length of a pattern in bytes. The longest pattern in the documents examined has 300 bytes.
    private static let maximumLength = 16 * 1024
    /// The maximum nesting of groups. Limits the recursion of PCRE2's compiler. The default of PCRE2 is 250.
    private static let maximumGroups: UInt32 = 100
    /// The maximum heap of one match in KiB. A simple match needs only the initial 20 KiB.
    private static let maximumHeap: UInt32 = 8 * 1024
    /// The PCRE2 step limit of the first try. Most patterns need fewer than 100 steps. A match that reaches the limit
    /// is tried again with a limit ten times as high.
    private static let firstLimit: UInt32 = 200
    /// The PCRE2 step limit of the last try.
    private static let lastLimit: UInt32 = 20_000_000
    /// The number of PCRE2 steps that count as one step of the checker.
    private static let stepsAtOnce = 20
    // Some versions of PCRE2 reject NULL, even for an empty text.
    nonisolated(unsafe) private static let nothing: UnsafePointer<UInt8> = {
        let byte = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
        byte.initialize(to: 0)
        return UnsafePointer(byte)
    }()
}
