import CNightjar
import Nightjar
import NightjarHandles
import Synchronization

/// Converts the array of requests of a batch.
private func calls(
    _ requests: UnsafePointer<OpaquePointer?>?, _ count: Int, for client: Client,
    _ makeHandlers: (Int, RequestBox) -> TaskHandlers
) throws(NightjarError) -> [BatchCall] {
    guard count > 0 else { return [] }
    let requests = try required(requests, "requests")
    var calls: [BatchCall] = []
    // The array grows step by step, so that a wrong count does not cause a huge allocation.
    for index in 0..<count {
        guard let box = Handle<RequestBox>.borrow(requests[index]) else {
            throw NightjarError(.invalidArgument, "requests[\(index)] is NULL")
        }
        // Invalid endpoint arguments fail this request, not the batch.
        let request = Result { () throws(NightjarError) in try box.request(for: client) }
        calls.append(BatchCall(request, handlers: makeHandlers(index, box)))
    }
    return calls
}

/// The requests of a batch whose cached responses are being revalidated in the background.
private final class RefreshMarks: Sendable {
    private let marked = Mutex<Set<Int>>([])

    func note(_ task: ClientTask, _ index: Int) {
        if task.isRefreshing { _ = marked.withLock { $0.insert(index) } }
    }

    func has(_ index: Int) -> Bool { marked.withLock { $0.contains(index) } }
}

@_cdecl("nj_client_send_batch") @implementation
public func nj_client_send_batch(
    _ client: OpaquePointer?, _ requests: UnsafePointer<OpaquePointer?>?, _ count: Int, _ concurrency: Int,
    _ collectErrors: Bool, _ outResponses: UnsafeMutablePointer<OpaquePointer?>?,
    _ outErrors: UnsafeMutablePointer<OpaquePointer?>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    let places = max(count, 0)
    outResponses?.update(repeating: nil, count: places)
    outErrors?.update(repeating: nil, count: places)
    return setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        guard count >= 0 else {
            throw NightjarError(.invalidArgument, "count must be at most SSIZE_MAX; was a negative number passed?")
        }
        let marks = RefreshMarks()
        let calls = try calls(requests, count, for: client) { index, box in
            box.handlers { task, _ in marks.note(task, index) }
        }
        let outResponses = places == 0 ? nil : try required(outResponses, "out_responses")
        let concurrency = clampedSize(concurrency)
        guard collectErrors else {
            for (index, response) in try client.batchBlocking(calls, concurrency: concurrency).enumerated() {
                outResponses?[index] = Handle.make(ResponseBox(response, isBeingRefreshed: marks.has(index)))
            }
            return
        }
        let outErrors = places == 0 ? nil : try required(outErrors, "out_errors")
        for (index, result) in try client.collectBlocking(calls, concurrency: concurrency).enumerated() {
            switch result {
            case .success(let response):
                outResponses?[index] = Handle.make(ResponseBox(response, isBeingRefreshed: marks.has(index)))
            case .failure(let error): outErrors?[index] = Handle.make(ErrorBox(error))
            }
        }
    }
}

@_cdecl("nj_client_start_batch") @implementation
public func nj_client_start_batch(
    _ client: OpaquePointer?, _ requests: UnsafePointer<OpaquePointer?>?, _ count: Int, _ concurrency: Int,
    _ collectErrors: Bool, _ queue: OpaquePointer?, _ done: nj_batch_done_fn?, _ finished: nj_batch_finished_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let queue = try requiredQueue(queue)
        let finished = try required(finished, "finished")
        guard count >= 0 else {
            throw NightjarError(.invalidArgument, "count must be at most SSIZE_MAX; was a negative number passed?")
        }
        let calls = try calls(requests, count, for: client) { _, box in box.handlers { _, _ in } }
        let context = CallbackContext(pointer: context)
        let handlers = BatchHandlers(
            ended: { batch, index, task, result in
                guard let done else { return }
                result.lend(isBeingRefreshed: task?.isRefreshing ?? false) {
                    done(context.pointer, Handle.lend(batch), index, $0, $1)
                }
            },
            finished: { batch, result in
                guard case .failure(let error) = result else {
                    return finished(context.pointer, Handle.lend(batch), nil)
                }
                let box = ErrorBox(error)
                withExtendedLifetime(box) { finished(context.pointer, Handle.lend(batch), Handle.lend(box)) }
            })
        return Handle.make(
            try client.start(
                batch: calls, concurrency: clampedSize(concurrency), collectsErrors: collectErrors, on: queue, handlers)
        )
    }
}

@_cdecl("nj_batch_cancel") @implementation
public func nj_batch_cancel(_ batch: OpaquePointer?) { Handle<Batch>.borrow(batch)?.cancel() }

@_cdecl("nj_batch_is_finished") @implementation
public func nj_batch_is_finished(_ batch: OpaquePointer?) -> Bool { Handle<Batch>.borrow(batch)?.isFinished ?? true }

@_cdecl("nj_batch_retain") @implementation
public func nj_batch_retain(_ batch: OpaquePointer?) -> OpaquePointer? {
    Handle<Batch>.borrow(batch).map { Handle.make($0) }
}

@_cdecl("nj_batch_release") @implementation
public func nj_batch_release(_ batch: OpaquePointer?) {
    _ = Handle<Batch>.take(batch)
}

@_cdecl("nj_error_batch_index") @implementation
public func nj_error_batch_index(_ error: OpaquePointer?) -> Int64 {
    Handle<ErrorBox>.borrow(error)?.error.batchIndex.map(Int64.init) ?? -1
}
