import CNightjar
import Nightjar
import NightjarCrypto

/// The bytes of an argument. Nil if there should be bytes, but the pointer is NULL.
private func argument(_ bytes: UnsafeRawPointer?, _ length: Int) -> UnsafeRawBufferPointer? {
    guard length > 0 else { return length == 0 ? UnsafeRawBufferPointer(start: nil, count: 0) : nil }
    return bytes.map { UnsafeRawBufferPointer(start: $0, count: length) }
}

private func hash(
    _ bytes: UnsafeRawBufferPointer?, key: UnsafeRawBufferPointer?, _ output: UnsafeMutablePointer<UInt8>?
) -> nj_status {
    guard let bytes, let output, let hash = RunningHash(.sha256, key: key) else { return NJ_INVALID_ARGUMENT }
    hash.update(bytes)
    UnsafeMutableRawPointer(output).copyMemory(from: hash.finish(), byteCount: 32)
    return NJ_OK
}

@_cdecl("nj_sha256") @implementation
public func nj_sha256(
    _ bytes: UnsafeRawPointer?, _ length: Int, _ outDigest: UnsafeMutablePointer<UInt8>?
) -> nj_status {
    hash(argument(bytes, length), key: nil, outDigest)
}

@_cdecl("nj_hmac_sha256") @implementation
public func nj_hmac_sha256(
    _ key: UnsafeRawPointer?, _ keyLength: Int, _ bytes: UnsafeRawPointer?, _ length: Int,
    _ outCode: UnsafeMutablePointer<UInt8>?
) -> nj_status {
    guard let key = argument(key, keyLength) else { return NJ_INVALID_ARGUMENT }
    return hash(argument(bytes, length), key: key, outCode)
}
