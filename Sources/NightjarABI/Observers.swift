import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A step of a call as C sees it. Belongs to the thread that runs the callback.
final class ObservationBox {
    let step: CallObserver.Step
    private(set) var kind = NJ_STEP_NONE
    private(set) var method: CString?
    private(set) var url: CString?
    private(set) var host: CString?
    private(set) var address: CString?
    private(set) var version: Int32?
    private(set) var isReused = false
    private(set) var duration: Duration?
    private(set) var status = 0
    private(set) var source = ResponseSource.network
    private(set) var error: NightjarError.Kind?

    init(_ step: CallObserver.Step) {
        self.step = step
        switch step.kind {
        case .started(let method, let url):
            kind = NJ_STEP_STARTED
            self.method = CString(method.name)
            self.url = CString(url)
        case .resolved(let host, let length):
            kind = NJ_STEP_RESOLVED
            self.host = CString(host)
            duration = length
        case .connected(let peer, let length):
            kind = NJ_STEP_CONNECTED
            address = peer.map { CString($0) }
            duration = length
        case .secured(let length):
            kind = NJ_STEP_SECURED
            duration = length
        case .sent(let peer, let version, let isReused):
            kind = NJ_STEP_SENT
            address = peer.map { CString($0) }
            self.version = version.map { Int32(clamping: $0.rawValue) }
            self.isReused = isReused
        case .firstByte(let status):
            kind = NJ_STEP_FIRST_BYTE
            self.status = status
        case .redirected(let status, let url):
            kind = NJ_STEP_REDIRECTED
            self.status = status
            self.url = CString(url)
        case .retried(let error, let wait):
            kind = NJ_STEP_RETRIED
            self.error = error
            duration = wait
        case .cacheHit(let source, let age):
            kind = NJ_STEP_CACHE_HIT
            self.source = source
            duration = age
        case .ended(let status, let source):
            kind = NJ_STEP_ENDED
            self.status = status
            self.source = source
        case .failed(let error, let status):
            kind = NJ_STEP_ENDED
            self.error = error
            self.status = status ?? 0
        }
    }
}

@_cdecl("nj_config_set_observer") @implementation
public func nj_config_set_observer(
    _ config: OpaquePointer?, _ queue: OpaquePointer?, _ observer: nj_observer_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard let observer else { return configuration.observers = [] }
        let context = CallbackContext(pointer: context)
        configuration.observers = [
            .steps(on: try requiredQueue(queue)) { step in
                let box = ObservationBox(step)
                withExtendedLifetime(box) { observer(context.pointer, Handle.lend(box)) }
            }
        ]
    }
}

private func borrowed(_ observation: OpaquePointer?) -> ObservationBox? { Handle<ObservationBox>.borrow(observation) }

@_cdecl("nj_observation_step") @implementation
public func nj_observation_step(_ observation: OpaquePointer?) -> nj_step {
    borrowed(observation)?.kind ?? NJ_STEP_NONE
}

@_cdecl("nj_observation_call_id") @implementation
public func nj_observation_call_id(_ observation: OpaquePointer?) -> Int64 {
    Int64(borrowed(observation)?.step.callID ?? 0)
}

@_cdecl("nj_observation_time") @implementation
public func nj_observation_time(_ observation: OpaquePointer?) -> Double {
    borrowed(observation)?.step.time.inSeconds ?? -1
}

@_cdecl("nj_observation_attempt") @implementation
public func nj_observation_attempt(_ observation: OpaquePointer?) -> Int {
    borrowed(observation)?.step.attempt ?? 0
}

@_cdecl("nj_observation_method") @implementation
public func nj_observation_method(_ observation: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrowed(observation)?.method?.pointer
}

@_cdecl("nj_observation_url") @implementation
public func nj_observation_url(_ observation: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrowed(observation)?.url?.pointer
}

@_cdecl("nj_observation_host") @implementation
public func nj_observation_host(_ observation: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrowed(observation)?.host?.pointer
}

@_cdecl("nj_observation_address") @implementation
public func nj_observation_address(_ observation: OpaquePointer?) -> UnsafePointer<CChar>? {
    borrowed(observation)?.address?.pointer
}

@_cdecl("nj_observation_http_version") @implementation
public func nj_observation_http_version(_ observation: OpaquePointer?) -> Int32 {
    borrowed(observation)?.version ?? 0
}

@_cdecl("nj_observation_reused_connection") @implementation
public func nj_observation_reused_connection(_ observation: OpaquePointer?) -> Bool {
    borrowed(observation)?.isReused ?? false
}

@_cdecl("nj_observation_duration") @implementation
public func nj_observation_duration(_ observation: OpaquePointer?) -> Double {
    borrowed(observation)?.duration?.inSeconds ?? -1
}

@_cdecl("nj_observation_http_status") @implementation
public func nj_observation_http_status(_ observation: OpaquePointer?) -> Int32 {
    Int32(clamping: borrowed(observation)?.status ?? 0)
}

@_cdecl("nj_observation_source") @implementation
public func nj_observation_source(_ observation: OpaquePointer?) -> nj_source {
    nj_source(UInt32(borrowed(observation)?.source.rawValue ?? 0))
}

@_cdecl("nj_observation_failure") @implementation
public func nj_observation_failure(_ observation: OpaquePointer?) -> nj_status {
    borrowed(observation)?.error.map { nj_status($0) } ?? NJ_OK
}

@_cdecl("nj_observation_dropped") @implementation
public func nj_observation_dropped(_ observation: OpaquePointer?) -> Int { borrowed(observation)?.step.dropped ?? 0 }
