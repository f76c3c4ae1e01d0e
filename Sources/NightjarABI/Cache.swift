import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import Synchronization

/// Records whether the response of a blocking call is being revalidated, for the response handle.
final class RefreshMark: Sendable {
    private let mark = Atomic<Bool>(false)

    var isRefreshing: Bool { mark.load(ordering: .relaxed) }

    func note(_ task: ClientTask) { mark.store(task.isRefreshing, ordering: .relaxed) }
}

extension CachePolicy {
    /// Nil for `NJ_CACHE_OFF` and for invalid values.
    fileprivate init?(_ policy: nj_cache_policy) {
        switch policy {
        case NJ_CACHE_PROTOCOL: self = .protocol
        case NJ_CACHE_RELOAD: self = .reload
        case NJ_CACHE_REVALIDATE: self = .revalidate
        case NJ_CACHE_ELSE_LOAD: self = .cacheElseLoad
        case NJ_CACHE_ONLY: self = .cacheOnly
        case NJ_CACHE_OFFLINE_FIRST: self = .offlineFirst
        default: return nil
        }
    }
}

/// Returns cache settings with a memory limit. A size_t above Int.max means no limit.
private func settings(_ memoryBytes: Int) -> CacheStorage.Settings {
    CacheStorage.Settings(memory: clampedSize(memoryBytes))
}

@_cdecl("nj_cache_new") @implementation
public func nj_cache_new(_ memoryBytes: Int) -> OpaquePointer! {
    // Creating a cache in memory cannot fail.
    (try? CacheStorage(settings(memoryBytes))).map(Handle.make)
}

@_cdecl("nj_cache_open") @implementation
public func nj_cache_open(
    _ memoryBytes: Int, _ folder: UnsafePointer<CChar>?, _ diskBytes: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        var settings = settings(memoryBytes)
        guard diskBytes != 0 else {
            throw NightjarError(
                .invalidArgument, "disk_bytes must be greater than 0; use nj_cache_new for a cache in memory")
        }
        settings.disk = clampedSize(diskBytes)
        settings.folder = try optional(folder, "folder")
        return Handle.make(try CacheStorage(settings))
    }
}

@_cdecl("nj_cache_free") @implementation
public func nj_cache_free(_ cache: OpaquePointer?) {
    _ = Handle<CacheStorage>.take(cache)
}

// MARK: Clients and calls

@_cdecl("nj_config_set_cache") @implementation
public func nj_config_set_cache(_ config: OpaquePointer?, _ cache: OpaquePointer?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        (configuration.cache, configuration.cacheSettings) = (Handle<CacheStorage>.borrow(cache), nil)
    }
}

@_cdecl("nj_config_set_cache_policy") @implementation
public func nj_config_set_cache_policy(_ config: OpaquePointer?, _ policy: nj_cache_policy) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard let policy = CachePolicy(policy) else {
            throw NightjarError(.invalidArgument, "policy must be a value of nj_cache_policy other than NJ_CACHE_OFF")
        }
        configuration.cachePolicy = policy
    }
}

@_cdecl("nj_config_set_login_cookies") @implementation
public func nj_config_set_login_cookies(
    _ config: OpaquePointer?, _ names: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard names != nil else { return configuration.loginCookies = .automatic }
        configuration.loginCookies = LoginCookies(names: try texts(names, "a cookie's name"))
    }
}

@_cdecl("nj_request_set_cache_partition") @implementation
public func nj_request_set_cache_partition(_ request: OpaquePointer?, _ partition: UnsafePointer<CChar>?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        box.request.cachePartition = try optional(partition, "partition")
    }
}

@_cdecl("nj_request_set_cache_policy") @implementation
public func nj_request_set_cache_policy(_ request: OpaquePointer?, _ policy: nj_cache_policy) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        guard policy != NJ_CACHE_OFF else {
            return (box.request.usesCache, box.request.cachePolicy) = (false, nil)
        }
        guard let policy = CachePolicy(policy) else {
            throw NightjarError(.invalidArgument, "policy is not a value of nj_cache_policy")
        }
        (box.request.usesCache, box.request.cachePolicy) = (true, policy)
    }
}

@_cdecl("nj_request_on_refresh") @implementation
public func nj_request_on_refresh(
    _ request: OpaquePointer?, _ queue: OpaquePointer?, _ refreshed: nj_refreshed_fn?,
    _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        let queue = refreshed == nil ? nil : try requiredQueue(queue)
        box.onRefresh(refreshed, queue, CallbackContext(pointer: context))
    }
}

@_cdecl("nj_response_is_being_refreshed") @implementation
public func nj_response_is_being_refreshed(_ response: OpaquePointer?) -> Bool {
    Handle<ResponseBox>.borrow(response)?.isBeingRefreshed ?? false
}

// MARK: Direct access

@_cdecl("nj_client_cache") @implementation
public func nj_client_cache(_ client: OpaquePointer?) -> OpaquePointer? {
    guard let client = Handle<Client>.borrow(client), !client.isOfParent else { return nil }
    return client.cache.map(Handle.make)
}

@_cdecl("nj_client_cache_get") @implementation
public func nj_client_cache_get(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    let found: OpaquePointer?? = reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request")
        return try client.cached(request.request(for: client)).map { Handle.make(ResponseBox($0)) }
    }
    return found ?? nil
}

@_cdecl("nj_client_cache_put") @implementation
public func nj_client_cache_put(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ status: Int32,
    _ headers: UnsafePointer<UnsafePointer<CChar>?>?, _ body: UnsafeRawPointer?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request")
        try client.insert(
            Int(status), headers: try fields(headers), body: try bytes(body, length), for: request.request(for: client))
    }
}

/// Reads headers from an array of name, value, name, value and so on, terminated by NULL.
private func fields(_ texts: UnsafePointer<UnsafePointer<CChar>?>?) throws(NightjarError) -> Headers {
    var headers = Headers()
    guard var next = texts else { return headers }
    while let name = next.pointee {
        guard let value = next.successor().pointee else {
            throw NightjarError(.invalidArgument, "the last header has a name but no value")
        }
        try headers.add(required(text(name), "a header's name"), required(text(value), "a header's value"))
        next += 2
    }
    return headers
}

@_cdecl("nj_cache_remove") @implementation
public func nj_cache_remove(
    _ cache: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ outCount: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    removing(from: cache, outCount, outError) { cache throws(NightjarError) in
        try cache.remove(url: RequestURL(required(text(url), "url")))
    }
}

@_cdecl("nj_cache_remove_prefix") @implementation
public func nj_cache_remove_prefix(
    _ cache: OpaquePointer?, _ prefix: UnsafePointer<CChar>?, _ outCount: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    removing(from: cache, outCount, outError) { cache throws(NightjarError) in
        let prefix = try required(text(prefix), "prefix")
        guard !prefix.isEmpty else {
            throw NightjarError(.invalidArgument, "prefix is empty; use nj_cache_clear to remove all cache entries")
        }
        return try cache.remove(prefix: prefix)
    }
}

@_cdecl("nj_cache_clear") @implementation
public func nj_cache_clear(
    _ cache: OpaquePointer?, _ outCount: UnsafeMutablePointer<Int>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    removing(from: cache, outCount, outError) { cache throws(NightjarError) in try cache.removeAll() }
}

private func removing(
    from cache: OpaquePointer?, _ outCount: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?, _ remove: (CacheStorage) throws(NightjarError) -> Int
) -> nj_status {
    outCount?.pointee = 0
    return setting(outError) { () throws(NightjarError) in
        let count = try remove(open(cache))
        outCount?.pointee = count
    }
}

private func open(_ cache: OpaquePointer?) throws(NightjarError) -> CacheStorage {
    let cache = try required(Handle<CacheStorage>.borrow(cache), "cache")
    guard !cache.isOfParent else {
        throw NightjarError(.forked, "this cache belongs to the parent process; create a cache after fork")
    }
    return cache
}

@_cdecl("nj_cache_flush") @implementation
public func nj_cache_flush(_ cache: OpaquePointer?) -> nj_status {
    setting { () throws(NightjarError) in try open(cache).flush() }
}

@_cdecl("nj_cache_statistics") @implementation
public func nj_cache_statistics(_ cache: OpaquePointer?, _ statistic: nj_cache_statistic) -> Int64 {
    guard let cache = Handle<CacheStorage>.borrow(cache), !cache.isOfParent else { return -1 }
    let number: Int? =
        switch statistic {
        case NJ_CACHE_STATISTIC_HITS: cache.memoryStatistics.hits
        case NJ_CACHE_STATISTIC_STALE: cache.memoryStatistics.stale
        case NJ_CACHE_STATISTIC_MISSES: cache.memoryStatistics.misses
        case NJ_CACHE_STATISTIC_VALIDATIONS: cache.memoryStatistics.validations
        case NJ_CACHE_STATISTIC_BYTES_SAVED: cache.memoryStatistics.bytesSaved
        case NJ_CACHE_STATISTIC_MEMORY_ENTRIES: cache.memoryStatistics.memoryEntries
        case NJ_CACHE_STATISTIC_MEMORY_BYTES: cache.memoryStatistics.memoryBytes
        case NJ_CACHE_STATISTIC_DISK_ENTRIES: cache.statistics.diskEntries
        case NJ_CACHE_STATISTIC_DISK_BYTES: cache.statistics.diskBytes
        default: nil
        }
    return number.map { Int64($0) } ?? -1
}
