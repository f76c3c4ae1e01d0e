import CLua
import Nightjar
import NightjarCrypto
import NightjarHandles

// Digests, message authentication codes and random bytes for scripts.

private final class ScriptHash {
    let running: RunningHash

    init(_ running: RunningHash) { self.running = running }
}

@_cdecl("njl_hash_new") @implementation
public func njl_hash_new(_ function: njl_hash_function, _ key: UnsafePointer<njl_bytes>?) -> OpaquePointer? {
    guard let kind = HashFunction(rawValue: Int32(bitPattern: function.rawValue)) else { return nil }
    return RunningHash(kind, key: key?.pointee.buffer).map { Handle.make(ScriptHash($0)) }
}

@_cdecl("njl_hash_update") @implementation
public func njl_hash_update(_ hash: OpaquePointer?, _ bytes: njl_bytes) {
    Handle<ScriptHash>.borrow(hash)?.running.update(bytes.buffer)
}

@_cdecl("njl_hash_finish") @implementation
public func njl_hash_finish(_ hash: OpaquePointer?, _ digest: UnsafeMutablePointer<UInt8>?) -> Int {
    guard let bytes = Handle<ScriptHash>.borrow(hash)?.running.finish(), let digest else { return 0 }
    UnsafeMutableRawPointer(digest).copyMemory(from: bytes, byteCount: bytes.count)
    return bytes.count
}

@_cdecl("njl_hash_release") @implementation
public func njl_hash_release(_ hash: OpaquePointer?) {
    Handle<ScriptHash>.release(hash)
}

@_cdecl("njl_random") @implementation
public func njl_random(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
    bytes?.copyMemory(from: SecureRandom.bytes(count), byteCount: max(count, 0))
}
