import NIOCore
import NightjarHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Conversions between Foundation's types and those of Nightjar.

extension Data {
    /// Copies the readable bytes of a buffer.
    public init(_ buffer: ByteBuffer) {
        self = buffer.withUnsafeReadableBytes { Data($0) }
    }
}

extension Data: Response.RawBody {
    /// Copies the bytes of a body: `let image: Data = try await client.send(.get("/logo.png"))`.
    public init(body: ByteBuffer) { self.init(body) }
}

extension Response {
    /// A copy of the body.
    public var data: Data { Data(body) }
}

extension Request {
    /// Creates a request for an absolute URL, or for a URL that is resolved against the client's base URL.
    public init(_ method: NightjarHTTP.Method, _ url: URL) {  // Foundation on macOS has another type Method
        self.init(method, url.relativeString)
    }
}

extension UUID: ParameterValue {
    /// The identifier in upper case, as ``UUID/uuidString``.
    public var parameterValue: JSONValue { .string(uuidString) }
}

extension URL: ParameterValue {
    public var parameterValue: JSONValue { .string(absoluteString) }
}
