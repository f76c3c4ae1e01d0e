import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A resource, with the queue on which its events are delivered.
final class ResourceBox {
    let resource: ResourceController
    let queue: CompletionQueue

    init(_ resource: ResourceController, _ queue: CompletionQueue) { (self.resource, self.queue) = (resource, queue) }

    deinit { resource.close() }
}

/// A snapshot with its response and its error as handles.
final class SnapshotBox: Sendable {
    let snapshot: ResourceController.Snapshot
    let response: ResponseBox?
    let error: ErrorBox?

    init(_ snapshot: ResourceController.Snapshot) {
        self.snapshot = snapshot
        response = (snapshot.data?.response).map { ResponseBox($0) }
        error = snapshot.error.map { ErrorBox($0) }
    }
}

private func report(
    _ result: Result<Response, NightjarError>, to done: nj_resource_done_fn, _ context: CallbackContext
) {
    switch result {
    case .success(let response):
        let box = ResponseBox(response)
        withExtendedLifetime(box) { done(context.pointer, Handle.lend(box), nil) }
    case .failure(let error):
        let box = ErrorBox(error)
        withExtendedLifetime(box) { done(context.pointer, nil, Handle.lend(box)) }
    }
}

private func borrowed(_ resource: OpaquePointer?) throws(NightjarError) -> ResourceBox {
    try required(Handle<ResourceBox>.borrow(resource), "resource")
}

@_cdecl("nj_resource_new") @implementation
public func nj_resource_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ queue: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let queue = try requiredQueue(queue)
        let settings = options == nil ? ResourceSettings() : try ResourceSettings(json: try document(options, length))
        return Handle.make(ResourceBox(try client.makeResource(request, settings, callbacks: queue), queue))
    }
}

@_cdecl("nj_resource_free") @implementation
public func nj_resource_free(_ resource: OpaquePointer?) { _ = Handle<ResourceBox>.take(resource) }

@_cdecl("nj_resource_set_path") @implementation
public func nj_resource_set_path(
    _ resource: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let path = try required(text(path), "path")
        try borrowed(resource).resource.change { (request) throws(NightjarError) in
            (request.target, request.parameters, request.query) = (path, [], [])
        }
    }
}

@_cdecl("nj_resource_snapshot") @implementation
public func nj_resource_snapshot(_ resource: OpaquePointer?) -> OpaquePointer? {
    guard let box = Handle<ResourceBox>.borrow(resource), !box.resource.isOfParent else { return nil }
    return Handle.make(SnapshotBox(box.resource.snapshot))
}

@_cdecl("nj_resource_observe") @implementation
public func nj_resource_observe(
    _ resource: OpaquePointer?, _ changed: nj_resource_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let box = try borrowed(resource)
        try box.resource.checkProcess()
        let changed = try required(changed, "changed")
        let context = CallbackContext(pointer: context)
        return Handle.make(
            box.resource.observe(on: box.queue) { snapshot in
                let box = SnapshotBox(snapshot)
                withExtendedLifetime(box) { changed(context.pointer, Handle.lend(box)) }
            })
    }
}

@_cdecl("nj_resource_observer_free") @implementation
public func nj_resource_observer_free(_ observer: OpaquePointer?) { Handle<ResourceObserver>.take(observer)?.cancel() }

private func load(
    _ resource: OpaquePointer?, isReload: Bool, _ done: nj_resource_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let box = try borrowed(resource)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        return Handle.make(
            try box.resource.load(isReload: isReload, on: box.queue) { report($0.map(\.response), to: done, context) })
    }
}

@_cdecl("nj_resource_get") @implementation
public func nj_resource_get(
    _ resource: OpaquePointer?, _ done: nj_resource_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? { load(resource, isReload: false, done, context, outError) }

@_cdecl("nj_resource_reload") @implementation
public func nj_resource_reload(
    _ resource: OpaquePointer?, _ done: nj_resource_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? { load(resource, isReload: true, done, context, outError) }

@_cdecl("nj_resource_mutate") @implementation
public func nj_resource_mutate(
    _ resource: OpaquePointer?, _ request: OpaquePointer?, _ optimistic: UnsafePointer<CChar>?, _ length: Int,
    _ done: nj_resource_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let box = try borrowed(resource)
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: box.resource.client)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        var value: ByteBuffer?
        if optimistic != nil {
            let bytes = try document(optimistic, length)
            _ = try JSONValue(parsing: bytes)
            value = try ByteBuffer(copying: bytes, for: "the optimistic value")
        }
        return Handle.make(
            try box.resource.mutate(request, optimistic: value, on: box.queue) { report($0, to: done, context) })
    }
}

@_cdecl("nj_client_invalidate") @implementation
public func nj_client_invalidate(_ client: OpaquePointer?, _ tag: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        try client.checkProcess()
        client.invalidate(tag: try required(text(tag), "tag"))
    }
}

@_cdecl("nj_request_set_invalidates") @implementation
public func nj_request_set_invalidates(
    _ request: OpaquePointer?, _ tags: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.invalidates = try texts(tags, "a tag") }
}

// MARK: Snapshots

private func box(_ snapshot: OpaquePointer?) -> SnapshotBox? { Handle<SnapshotBox>.borrow(snapshot) }

@_cdecl("nj_snapshot_free") @implementation
public func nj_snapshot_free(_ snapshot: OpaquePointer?) { _ = Handle<SnapshotBox>.take(snapshot) }

@_cdecl("nj_snapshot_data") @implementation
public func nj_snapshot_data(_ snapshot: OpaquePointer?) -> OpaquePointer? {
    box(snapshot)?.response.map { Handle.lend($0) }
}

@_cdecl("nj_snapshot_error") @implementation
public func nj_snapshot_error(_ snapshot: OpaquePointer?) -> OpaquePointer? {
    box(snapshot)?.error.map { Handle.lend($0) }
}

@_cdecl("nj_snapshot_get_phase") @implementation
public func nj_snapshot_get_phase(_ snapshot: OpaquePointer?) -> nj_resource_phase {
    switch box(snapshot)?.snapshot.phase {
    case .idle, nil: NJ_RESOURCE_IDLE
    case .loading: NJ_RESOURCE_LOADING
    case .loaded: NJ_RESOURCE_LOADED
    case .failed: NJ_RESOURCE_FAILED
    }
}

@_cdecl("nj_snapshot_get_mutation") @implementation
public func nj_snapshot_get_mutation(_ snapshot: OpaquePointer?) -> nj_resource_mutation {
    switch box(snapshot)?.snapshot.mutation {
    case nil: NJ_RESOURCE_UNCHANGED
    case .saving: NJ_RESOURCE_SAVING
    case .deleting: NJ_RESOURCE_DELETING
    }
}

@_cdecl("nj_snapshot_is_stale") @implementation
public func nj_snapshot_is_stale(_ snapshot: OpaquePointer?) -> Bool { box(snapshot)?.snapshot.isStale ?? false }

@_cdecl("nj_snapshot_generation") @implementation
public func nj_snapshot_generation(_ snapshot: OpaquePointer?) -> Int64 {
    Int64(box(snapshot)?.snapshot.generation ?? 0)
}

@_cdecl("nj_snapshot_updated_at") @implementation
public func nj_snapshot_updated_at(_ snapshot: OpaquePointer?) -> Double {
    box(snapshot)?.snapshot.updatedAt?.secondsSince1970 ?? -1
}
