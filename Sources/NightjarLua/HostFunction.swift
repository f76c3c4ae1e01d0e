import CLua
import Nightjar
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
    private(set) var results: [ResultValue] = []
    private(set) var failure: ResultValue?

    init(_ arguments: UnsafeBufferPointer<njl_value>) { self.arguments = arguments }

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

    public func returnNil() { results.append(ResultValue(.none)) }
    public func returnBoolean(_ value: Bool) { results.append(ResultValue(.boolean(value))) }
    public func returnInteger(_ value: Int64) { results.append(ResultValue(.integer(value))) }
    public func returnNumber(_ value: Double) { results.append(ResultValue(.number(value))) }
    public func returnString(_ bytes: UnsafeRawBufferPointer) { results.append(ResultValue(.string(Array(bytes)))) }

    /// Makes the call raise an error in the script when the function returns. The results are discarded.
    public func fail(_ message: String) { failure = ResultValue(.string(message)) }

    /// Invalidates the arguments.
    func end() { arguments = UnsafeBufferPointer(start: nil, count: 0) }

    /// A result of the call, in memory that stays in place until the call is released.
    final class ResultValue {
        let value: njl_value
        private let bytes: UnsafeMutableRawBufferPointer

        init(_ source: ScriptValue) {
            (value, bytes) = source.withC { value in
                let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: value.bytes.length, alignment: 1)
                bytes.copyMemory(from: value.bytes.buffer)
                var copy = value
                copy.bytes = njl_bytes(UnsafeRawBufferPointer(bytes))
                return (copy, bytes)
            }
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
    _ function: OpaquePointer?, _ arguments: UnsafePointer<njl_value>?, _ count: Int,
    _ returned: UnsafeMutablePointer<Int>?, _ failure: UnsafeMutablePointer<njl_value>?
) -> OpaquePointer? {
    let call = ScriptCall(UnsafeBufferPointer(start: arguments, count: count))
    Handle<HostFunction>.borrow(function)?.body(call)
    call.end()
    returned?.pointee = call.failure == nil ? call.results.count : 0
    failure?.pointee = call.failure?.value ?? njl_value()
    return Handle<ScriptCall>.make(call)
}

@_cdecl("njl_results_value") @implementation
public func njl_results_value(_ results: OpaquePointer?, _ index: Int) -> njl_value {
    guard let results = Handle<ScriptCall>.borrow(results)?.results, results.indices.contains(index) else {
        return njl_value()
    }
    return results[index].value
}

@_cdecl("njl_results_release") @implementation
public func njl_results_release(_ results: OpaquePointer?) {
    Handle<ScriptCall>.release(results)
}
