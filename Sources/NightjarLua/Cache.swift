import CLua
import Nightjar
import NightjarHandles

// Script access to a client's cache.

@_cdecl("njl_client_cache") @implementation
public func njl_client_cache(_ client: OpaquePointer?) -> OpaquePointer? {
    Handle<Client>.borrow(client)?.cache.map(Handle.make)
}

@_cdecl("njl_cache_release") @implementation
public func njl_cache_release(_ cache: OpaquePointer?) {
    Handle<CacheStorage>.release(cache)
}

@_cdecl("njl_client_remove_cached") @implementation
public func njl_client_remove_cached(
    _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ isPrefix: Bool,
    _ count: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let client, let owner = Handle<Client>.borrow(client), let request = request?.pointee else {
            throw NightjarError(.closed, "the client is closed")
        }
        let removedRequest = try Request(request)
        count?.pointee =
            try isPrefix ? owner.removeCached(beginningWith: removedRequest) : owner.removeCached(removedRequest)
        return client
    } != nil
}

@_cdecl("njl_cache_clear") @implementation
public func njl_cache_clear(
    _ cache: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    changing(cache, error) { cache throws(NightjarError) in
        let removed = try cache.removeAll()
        count?.pointee = removed
    }
}

@_cdecl("njl_cache_flush") @implementation
public func njl_cache_flush(_ cache: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?) -> Bool {
    changing(cache, error) { cache throws(NightjarError) in try cache.flush() }
}

private func changing(
    _ cache: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?,
    _ change: (CacheStorage) throws(NightjarError) -> Void
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let cache, let storage = Handle<CacheStorage>.borrow(cache) else {
            throw NightjarError(.closed, "the cache is closed")
        }
        try change(storage)
        return cache
    } != nil
}

@_cdecl("njl_cache_count") @implementation
public func njl_cache_count(_ cache: OpaquePointer?) -> njl_cache_statistics {
    var numbers = njl_cache_statistics()
    guard let now = Handle<CacheStorage>.borrow(cache)?.statistics else { return numbers }
    numbers.hits = Int64(now.hits)
    numbers.stale = Int64(now.stale)
    numbers.misses = Int64(now.misses)
    numbers.validations = Int64(now.validations)
    numbers.bytes_saved = Int64(now.bytesSaved)
    numbers.memory_entries = Int64(now.memoryEntries)
    numbers.memory_bytes = Int64(now.memoryBytes)
    numbers.disk_entries = Int64(now.diskEntries)
    numbers.disk_bytes = Int64(now.diskBytes)
    return numbers
}

@_cdecl("njl_call_refresh") @implementation
public func njl_call_refresh(_ engine: OpaquePointer?, _ call: OpaquePointer?) -> OpaquePointer? {
    guard let engine = Handle<Engine>.borrow(engine), let call = Handle<Future>.borrow(call) else { return nil }
    return engine.refresh(of: call).map(Handle<Future>.make)
}
