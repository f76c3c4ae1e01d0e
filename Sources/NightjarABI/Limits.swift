import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

private func check(_ count: Int, _ name: String, in range: ClosedRange<Int>) throws(NightjarError) {
    guard range ~= count else {
        throw NightjarError(
            .invalidArgument, "\(name) must be between \(range.lowerBound) and \(range.upperBound), got \(count)")
    }
}

/// Converts a duration in seconds, which must be greater than 0.
private func span(_ seconds: Double, _ name: String) throws(NightjarError) -> Duration {
    let span = try lifetime(seconds)
    guard span > .zero else { throw NightjarError(.invalidArgument, "\(name) must be greater than 0, got \(seconds)") }
    return span
}

@_cdecl("nj_config_set_rate_limit") @implementation
public func nj_config_set_rate_limit(
    _ config: OpaquePointer?, _ requests: Int, _ perSeconds: Double, _ burst: Int
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        var rate: RateLimiter.Rate?
        if requests != 0 {
            try check(requests, "requests", in: 1...1_000_000_000)
            try check(burst, "burst", in: 0...1_000_000_000)
            let period = try span(perSeconds, "per_seconds")
            rate = RateLimiter.Rate(count: requests, per: period, burst: burst == 0 ? nil : burst)
        }
        (configuration.limits.rate, configuration.limits.adaptsToServer) = (rate, true)
    }
}

@_cdecl("nj_config_set_concurrency") @implementation
public func nj_config_set_concurrency(_ config: OpaquePointer?, _ count: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        try check(count, "count", in: 0...1_000_000)
        configuration.limits.concurrency = count == 0 ? nil : count
    }
}

@_cdecl("nj_config_set_circuit_breaker") @implementation
public func nj_config_set_circuit_breaker(
    _ config: OpaquePointer?, _ failureRate: Double, _ minimumCalls: Int, _ window: Double, _ openDuration: Double
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard failureRate != 0 else { return configuration.limits.breaker = nil }
        guard failureRate > 0, failureRate <= 1 else {
            throw NightjarError(.invalidArgument, "failure_rate must be between 0 and 1, got \(failureRate)")
        }
        try check(minimumCalls, "minimum_calls", in: 1...1_000_000)
        var settings = CircuitBreaker.Settings()
        (settings.failureRate, settings.minimumCalls) = (failureRate, minimumCalls)
        (settings.window, settings.openDuration) = (try span(window, "window"), try lifetime(openDuration))
        configuration.limits.breaker = settings
    }
}

@_cdecl("nj_config_set_max_queued") @implementation
public func nj_config_set_max_queued(_ config: OpaquePointer?, _ count: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        try check(count, "count", in: 0...10_000_000)
        configuration.limits.maximumQueued = count
    }
}

@_cdecl("nj_config_set_coalesce") @implementation
public func nj_config_set_coalesce(_ config: OpaquePointer?, _ coalesce: Bool) -> nj_status {
    changeConfig(config) { $0.coalesces = coalesce }
}

@_cdecl("nj_request_set_coalesce") @implementation
public func nj_request_set_coalesce(_ request: OpaquePointer?, _ coalesce: Bool) -> nj_status {
    changeRequest(request) { $0.request.coalesces = coalesce }
}

@_cdecl("nj_request_set_limit_group") @implementation
public func nj_request_set_limit_group(_ request: OpaquePointer?, _ group: UnsafePointer<CChar>?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        box.request.limitGroup = try optional(group, "group")
    }
}

@_cdecl("nj_client_limits_json") @implementation
public func nj_client_limits_json(
    _ client: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafeMutablePointer<CChar>? {
    outLength?.pointee = 0
    guard let client = Handle<Client>.borrow(client) else { return nil }
    // Encoding cannot fail: the states contain no NaN or infinite numbers.
    guard let text = try? JSONValue.array(client.limitStates().map(\.json)).encoded() else { return nil }
    outLength?.pointee = text.readableBytes
    return strdup(String(buffer: text))
}

@_cdecl("nj_text_free") @implementation
public func nj_text_free(_ text: UnsafeMutablePointer<CChar>?) { free(text) }
