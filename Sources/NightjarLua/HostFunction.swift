import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A value passed between a script and its host. Tables and functions cannot be passed.
public enum ScriptValue: Sendable, Equatable {
    case none
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string([UInt8])

    public static func string(_ text: String) -> ScriptValue { .string(Array(text.utf8)) }

    /// Calls `body` with the C form of the value, which is valid until `body` returns.
    func withC<Result>(_ body: (njl_value) -> Result) -> Result {
        var value = njl_value()
        switch self {
        case .none: value.kind = NJL_NIL
        case .boolean(let boolean):
            value.kind = NJL_BOOLEAN
            value.boolean = boolean
        case .integer(let integer):
            value.kind = NJL_INTEGER
            value.integer = integer
        case .number(let number):
            value.kind = NJL_NUMBER
            value.number = number
        case .string(let bytes):
            return bytes.withUnsafeBytes { bytes in
                value.kind = NJL_STRING
                value.bytes = njl_bytes(bytes)
                return body(value)
            }
        }
        return body(value)
    }
}

/// One call of a registered function: its arguments, with indices from 0, and its results. Valid until the function
/// returns.
public final class ScriptCall {
    public enum Kind: UInt32, Sendable {
        case none = 0
        case boolean
        case integer
        case number
        case string
        /// A table, a function, a response and so on.
        case other
    }

    private var arguments: UnsafeBufferPointer<njl_value>
    /// The arguments on the Lua stack; nil after the function has returned.
    private var stack: OpaquePointer?
    /// The texts that C borrows until the function returns.
    private var texts: [ScriptText] = []
    private var results: [ResultValue] = []
    private var failure: ResultValue?
    /// The result that the host provides later; nil: the function returns its results.
    private(set) var pending: PendingResult?

    init(_ arguments: UnsafeBufferPointer<njl_value>, _ stack: OpaquePointer?) {
        self.arguments = arguments
        self.stack = stack
    }

    deinit { pending?.close() }

    public var count: Int { arguments.count }

    private func argument(_ index: Int) -> njl_value? {
        arguments.indices.contains(index) ? arguments[index] : nil
    }

    /// Returns the kind of an argument; `none` beyond the last argument.
    public func kind(_ index: Int) -> Kind {
        argument(index).flatMap { Kind(rawValue: $0.kind.rawValue) } ?? .none
    }

    /// Returns a boolean argument; false if the argument has another kind.
    public func boolean(_ index: Int) -> Bool { argument(index)?.boolean ?? false }

    /// Returns an argument as an integer; zero if it is neither an integer nor a number with an integer value.
    public func integer(_ index: Int) -> Int64 { argument(index)?.integer ?? 0 }

    /// Returns a number or integer argument as a number; zero if the argument has another kind.
    public func number(_ index: Int) -> Double { argument(index)?.number ?? 0 }

    /// Returns the bytes of a string argument, followed by a NUL and valid until the function returns; nil if the
    /// argument has another kind.
    public func string(_ index: Int) -> UnsafeRawBufferPointer? {
        guard let value = argument(index), value.kind == NJL_STRING else { return nil }
        return value.bytes.buffer
    }

    /// Returns an argument, for example a table, as a value of JSON. `nil` becomes null.
    ///
    /// - Throws: `script` if JSON cannot represent the argument or the memory limit is reached; `decoding` and the other
    ///   errors of ``JSONValue``.
    public func json(_ index: Int) throws(NightjarError) -> JSONValue { try jsonText(index).value() }

    /// Returns the JSON text of an argument.
    package func jsonText(_ index: Int) throws(NightjarError) -> ScriptText {
        guard arguments.indices.contains(index) else { return try ScriptText(copying: "null") }
        var message: UnsafeMutablePointer<CChar>?
        let text = njl_arguments_json(stack, index, &message)
        return try ScriptText(text, or: message)
    }

    /// Returns the JSON text of an argument, which is valid until the function returns. Nil if JSON cannot represent the
    /// argument; the call then fails with the reason.
    package func lendJSON(_ index: Int) -> UnsafePointer<CChar>? {
        do throws(NightjarError) {
            let text = try jsonText(index)
            texts.append(text)
            return UnsafePointer(text.pointer)
        } catch {
            fail(error.message)
            return nil
        }
    }

    public func returnNil() { results.append(ResultValue(.none)) }
    public func returnBoolean(_ value: Bool) { results.append(ResultValue(.boolean(value))) }
    public func returnInteger(_ value: Int64) { results.append(ResultValue(.integer(value))) }
    public func returnNumber(_ value: Double) { results.append(ResultValue(.number(value))) }
    public func returnString(_ bytes: UnsafeRawBufferPointer) { results.append(ResultValue(.string(Array(bytes)))) }

    /// Adds a table or another value of JSON to the results. Null becomes `nil`, but nightjar.null inside tables.
    ///
    /// - Throws: `invalid_request` if a number is infinite or NaN.
    public func returnJSON(_ value: JSONValue) throws(NightjarError) {
        try value.encoded().withUnsafeReadableBytes { results.append(ResultValue(json: $0)) }
    }

    /// Adds a value of JSON, given as text.
    ///
    /// - Throws: `decoding` if the text is not JSON.
    package func returnJSON(text: UnsafeRawBufferPointer) throws(NightjarError) {
        try JSONValue.check(text)
        results.append(ResultValue(json: text))
    }

    /// Makes the call wait until the host provides its result with the reply, from any thread. Meanwhile the other tasks
    /// of the script continue. The results that the function adds are discarded.
    ///
    /// - Returns: Nil if the call was deferred before, or after the function has returned.
    public func deferResult() -> ScriptReply? {
        guard pending == nil, stack != nil else { return nil }
        let pending = PendingResult()
        self.pending = pending
        return ScriptReply(pending)
    }

    /// Makes the call raise an error in the script when the function returns. The results are discarded.
    public func fail(_ message: String) { failure = ResultValue(.string(message)) }

    /// Invalidates the arguments.
    func end() {
        arguments = UnsafeBufferPointer(start: nil, count: 0)
        stack = nil
        texts = []
        if failure != nil { pending.take()?.close() }
    }

    /// Takes the result that the host has provided.
    private func settle() {
        guard let outcome = pending.take()?.outcome else { return }
        switch outcome {
        case .value(let value): results = [value]
        case .failure(let message): failure = ResultValue(.string(message))
        }
    }

    /// Returns the number of results, or the failure.
    func ending() -> (count: Int, failure: njl_value) {
        settle()
        return (failure == nil ? results.count : 0, failure?.value ?? njl_value())
    }

    func result(_ index: Int) -> njl_value { results.indices.contains(index) ? results[index].value : njl_value() }

    /// A result of the call, in memory that stays in place until the call is released.
    final class ResultValue: @unchecked Sendable {
        let value: njl_value
        private let bytes: UnsafeMutableRawBufferPointer

        init(_ source: ScriptValue) { (value, bytes) = source.withC { ResultValue.copy($0, $0.bytes.buffer) } }

        /// - Parameter text: valid JSON.
        init(json text: UnsafeRawBufferPointer) {
            var value = njl_value()
            value.kind = NJL_JSON
            (self.value, bytes) = ResultValue.copy(value, text)
        }

        private static func copy(
            _ value: njl_value, _ source: UnsafeRawBufferPointer
        ) -> (njl_value, UnsafeMutableRawBufferPointer) {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 1)
            bytes.copyMemory(from: source)
            var copy = value
            copy.bytes = njl_bytes(UnsafeRawBufferPointer(bytes))
            return (copy, bytes)
        }

        deinit { bytes.deallocate() }
    }
}

final class HostFunction {
    let body: (ScriptCall) -> Void

    init(_ body: @escaping (ScriptCall) -> Void) { self.body = body }
}

@_cdecl("njl_function_call") @implementation
public func njl_function_call(
    _ function: OpaquePointer?, _ stack: OpaquePointer?, _ arguments: UnsafePointer<njl_value>?, _ count: Int
) -> OpaquePointer? {
    let call = ScriptCall(UnsafeBufferPointer(start: arguments, count: count), stack)
    Handle<HostFunction>.borrow(function)?.body(call)
    call.end()
    return Handle<ScriptCall>.make(call)
}

@_cdecl("njl_results_are_deferred") @implementation
public func njl_results_are_deferred(_ results: OpaquePointer?) -> Bool {
    Handle<ScriptCall>.borrow(results)?.pending != nil
}

@_cdecl("njl_results_await") @implementation
public func njl_results_await(
    _ engine: OpaquePointer?, _ results: OpaquePointer?, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let wait,
            let pending = Handle<ScriptCall>.borrow(results)?.pending
        else { throw NightjarError(.closed, "the script has ended") }
        return Handle<Future>.make(try pending.await(by: wait, engine))
    }
}

@_cdecl("njl_results_count") @implementation
public func njl_results_count(_ results: OpaquePointer?, _ failure: UnsafeMutablePointer<njl_value>?) -> Int {
    let ending = Handle<ScriptCall>.borrow(results)?.ending()
    failure?.pointee = ending?.failure ?? njl_value()
    return ending?.count ?? 0
}

@_cdecl("njl_results_value") @implementation
public func njl_results_value(_ results: OpaquePointer?, _ index: Int) -> njl_value {
    Handle<ScriptCall>.borrow(results)?.result(index) ?? njl_value()
}

@_cdecl("njl_results_release") @implementation
public func njl_results_release(_ results: OpaquePointer?) {
    Handle<ScriptCall>.release(results)
}
