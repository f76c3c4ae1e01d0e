import CNightjar
import Nightjar
import NightjarCrypto

private func argument(
    _ bytes: UnsafeRawPointer?, _ length: Int, _ what: String
) throws(NightjarError) -> UnsafeRawBufferPointer {
    guard length >= 0, bytes != nil || length == 0 else {
        throw NightjarError(.invalidArgument, "\(what) is NULL but its length is not 0, or the length is negative")
    }
    return UnsafeRawBufferPointer(start: length == 0 ? nil : bytes, count: length)
}

private func hash(
    _ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer?, _ output: UnsafeMutablePointer<UInt8>?
) throws(NightjarError) {
    let output = try required(output, "the output")
    guard let hash = RunningHash(.sha256, key: key) else { throw NightjarError(.noMemory, "not enough memory") }
    hash.update(bytes)
    UnsafeMutableRawPointer(output).copyMemory(from: hash.finish(), byteCount: 32)
}

@_cdecl("nj_sha256") @implementation
public func nj_sha256(
    _ bytes: UnsafeRawPointer?, _ length: Int, _ outDigest: UnsafeMutablePointer<UInt8>?
) -> nj_status {
    setting { () throws(NightjarError) in try hash(argument(bytes, length, "bytes"), key: nil, outDigest) }
}

@_cdecl("nj_hmac_sha256") @implementation
public func nj_hmac_sha256(
    _ key: UnsafeRawPointer?, _ keyLength: Int, _ bytes: UnsafeRawPointer?, _ length: Int,
    _ outCode: UnsafeMutablePointer<UInt8>?
) -> nj_status {
    setting { () throws(NightjarError) in
        try hash(argument(bytes, length, "bytes"), key: argument(key, keyLength, "key"), outCode)
    }
}
