import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// Resources, for C.

private func borrow(_ resource: OpaquePointer?) -> ScriptResource? { Handle<ScriptResource>.borrow(resource) }

private func staticText(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

extension njl_snapshot {
    init(_ snapshot: ResourceController.Snapshot) {
        self.init()
        switch snapshot.phase {
        case .idle: phase = staticText("idle")
        case .loading: phase = staticText("loading")
        case .loaded: phase = staticText("loaded")
        case .failed: phase = staticText("failed")
        }
        switch snapshot.mutation {
        case .saving: mutation = staticText("saving")
        case .deleting: mutation = staticText("deleting")
        case nil: break
        }
        is_stale = snapshot.isStale
        generation = Int64(snapshot.generation)
        updated_at = snapshot.updatedAt?.secondsSince1970 ?? -1
        data = (snapshot.data?.response).map { Handle<Future>.make(Future(.success($0))) }
        error = snapshot.error.map { Handle<Future>.make(Future(.failure($0))) }
    }
}

private func reporting(
    _ error: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(NightjarError) -> Void
) -> Bool {
    do throws(NightjarError) {
        try body()
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

private let closed = NightjarError(.closed, "the resource is closed")

@_cdecl("njl_api_resource_new") @implementation
public func njl_api_resource_new(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ options: njl_bytes,
    _ caller: Int64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine) else { throw Engine.closedClient }
        let (client, requested) = try engine.request(request, of: client)
        let settings = try ResourceSettings(json: options.buffer)
        return Handle<ScriptResource>.make(
            try ScriptResource(engine, client, requested, settings, caller: caller))
    }
}

@_cdecl("njl_api_resource_release") @implementation
public func njl_api_resource_release(_ resource: OpaquePointer?) { Handle<ScriptResource>.release(resource) }

@_cdecl("njl_api_resource_close") @implementation
public func njl_api_resource_close(_ resource: OpaquePointer?) { borrow(resource)?.resource.close() }

@_cdecl("njl_api_resource_set_path") @implementation
public func njl_api_resource_set_path(
    _ resource: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    reporting(error) { () throws(NightjarError) in
        guard let resource = borrow(resource), let source = request?.pointee else { throw closed }
        let requested = try Request(source, for: resource.client)
        try resource.resource.change { request in
            request.target = requested.target
            request.parameters = requested.parameters
            request.query = requested.query
        }
    }
}

@_cdecl("njl_api_resource_read") @implementation
public func njl_api_resource_read(_ resource: OpaquePointer?, _ snapshot: UnsafeMutablePointer<njl_snapshot>?) {
    guard let resource = borrow(resource) else { return }
    snapshot?.pointee = njl_snapshot(resource.resource.snapshot)
}

@_cdecl("njl_api_resource_load") @implementation
public func njl_api_resource_load(
    _ resource: OpaquePointer?, _ isReload: Bool, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let resource = borrow(resource), let wait else { throw closed }
        return Handle<Future>.make(try resource.load(isReload: isReload, for: wait))
    }
}

@_cdecl("njl_api_resource_is_json") @implementation
public func njl_api_resource_is_json(_ response: OpaquePointer?) -> Bool {
    let type = Handle<Future>.borrow(response)?.response?.headers["content-type"]
    return type.flatMap(MediaType.init)?.isJSON ?? false
}

// MARK: Mutations

@_cdecl("njl_api_resource_begin_mutation") @implementation
public func njl_api_resource_begin_mutation(
    _ resource: OpaquePointer?, _ isDeleting: Bool, _ optimistic: njl_bytes,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Int64 {
    var number = 0
    _ = reporting(error) { () throws(NightjarError) in
        guard let resource = borrow(resource)?.resource else { throw closed }
        try resource.checkProcess()
        let value =
            optimistic.data == nil
            ? nil : try ByteBuffer(copying: optimistic.buffer, for: "the optimistic value")
        let content = try resource.content(optimistic: value)
        number = resource.beginMutation(isDeleting ? .deleting : .saving, optimistic: content)
    }
    return Int64(number)
}

@_cdecl("njl_api_resource_end_mutation") @implementation
public func njl_api_resource_end_mutation(_ resource: OpaquePointer?, _ number: Int64, _ result: OpaquePointer?) {
    guard let resource = borrow(resource)?.resource, !resource.isOfParent else { return }
    let result = Handle<Future>.borrow(result)?.result
    let end = result.map(resource.mutationEnd) ?? .failed(mayHaveBeenProcessed: true)
    resource.endMutation(Int(number), end)
}

@_cdecl("njl_api_resource_settle") @implementation
public func njl_api_resource_settle(_ resource: OpaquePointer?, _ wait: OpaquePointer?) -> OpaquePointer? {
    guard let resource = borrow(resource), let wait else { return nil }
    return Handle<Future>.make(resource.settle(for: wait))
}

// MARK: Observers

private func observer(_ observer: OpaquePointer?) -> ScriptObserver? { Handle<ScriptObserver>.borrow(observer) }

@_cdecl("njl_observer_new") @implementation
public func njl_observer_new(_ resource: OpaquePointer?) -> OpaquePointer? {
    borrow(resource).map { Handle<ScriptObserver>.make(ScriptObserver($0)) }
}

@_cdecl("njl_observer_free") @implementation
public func njl_observer_free(_ observer: OpaquePointer?) { Handle<ScriptObserver>.take(observer)?.close() }

@_cdecl("njl_observer_take") @implementation
public func njl_observer_take(
    _ handle: OpaquePointer?, _ snapshot: UnsafeMutablePointer<njl_snapshot>?
) -> njl_observed {
    guard let observer = observer(handle) else { return NJL_OBSERVED_END }
    guard let taken = observer.take() else { return observer.hasEnded ? NJL_OBSERVED_END : NJL_OBSERVED_LATER }
    snapshot?.pointee = njl_snapshot(taken)
    return NJL_OBSERVED_READY
}

@_cdecl("njl_observer_await") @implementation
public func njl_observer_await(
    _ handle: OpaquePointer?, _ wait: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let observer = observer(handle), let wait else { throw closed }
        return Handle<Future>.make(try observer.next(for: wait))
    }
}

@_cdecl("njl_client_invalidate_tag") @implementation
public func njl_client_invalidate_tag(
    _ client: OpaquePointer?, _ tag: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    reporting(error) { () throws(NightjarError) in
        guard let client = Handle<Client>.borrow(client) else { throw Engine.closedClient }
        client.invalidate(tag: try tag.text("the tag"))
    }
}
