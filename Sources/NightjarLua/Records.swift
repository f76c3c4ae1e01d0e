import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// Reads the records of one response, such as its lines. Belongs to the thread that runs the Lua state.
final class Records: @unchecked Sendable {
    enum Step {
        case record(ByteBuffer)
        case later
        case end
        case failed(NightjarError)
    }

    private enum Source {
        case stream(IncomingBody)
        case body(ByteBuffer)
        case ended
    }

    let future: Future
    private var decoder: RecordDecoder
    private var source: Source
    /// The record that ``next()`` returns until it is taken.
    private var current: ByteBuffer?
    private var failure: NightjarError?
    private var delivered = 0
    /// The length of the part that the decoder reads. Its bytes count as consumed when the decoder needs the next part.
    private var partLength = 0
    /// The memory of an incomplete record.
    private var held = HeldBytes()

    init(_ future: Future, _ format: RecordFormat, maximumLength: Int) {
        self.future = future
        decoder = RecordDecoder(format, maximumLength: maximumLength)
        if let incoming = future.incoming {
            source = .stream(incoming)
        } else {
            source = .body(future.response?.body ?? ByteBuffer())
        }
    }

    deinit { _ = held.set(0, in: future.reservation) }

    func next() -> Step {
        if let failure { return .failed(failure) }
        if let current { return .record(current) }
        do throws(NightjarError) {
            return try read()
        } catch {
            return .failed(fail(error))
        }
    }

    func take() {
        current = nil
        delivered += 1
    }

    /// Fails because the record that was taken last is invalid.
    func reject(_ problem: String) -> NightjarError {
        let number = delivered
        delivered -= 1
        let message = "value \(number) of the response is not JSON: \(problem)"
        return fail(NightjarError(.decoding, message, phase: .receive))
    }

    private func fail(_ error: NightjarError) -> NightjarError {
        var failed = error.afterDelivery(of: delivered, decoder.format.noun)
        if let response = future.response, failed.url == nil { failed = failed.about(response) }
        failure = failed
        future.task?.cancel()
        future.incoming?.close()
        return failed
    }

    private func read() throws(NightjarError) -> Step {
        while true {
            if let record = try decoder.next() {
                current = record
                return .record(record)
            }
            guard held.set(decoder.heldBytes, in: future.reservation) else { throw exceedsMemory }
            release()
            switch source {
            case .ended: return .end
            case .body(let body):
                source = .stream(IncomingBody(complete: body))
            case .stream(let incoming):
                switch incoming.next {
                case .bytes(let part):
                    partLength = incoming.take()
                    decoder.append(part)
                case .later: return .later
                case .failed(let error): throw error
                case .end:
                    source = .ended
                    guard let last = try decoder.finish() else { return .end }
                    current = last
                    return .record(last)
                }
            }
        }
    }

    private func release() {
        future.task?.consumed(partLength)
        partLength = 0
    }

    private var exceedsMemory: NightjarError {
        NightjarError(
            .noMemory,
            "\(decoder.format.noun) \(decoder.count + 1) of the response exceeds the script's memory limit")
    }
}

// MARK: For C

@_cdecl("njl_records_new") @implementation
public func njl_records_new(
    _ response: OpaquePointer?, _ format: njl_record_format, _ maximum: Int
) -> OpaquePointer? {
    guard let future = Handle<Future>.borrow(response) else { return nil }
    let type = future.response?.headers["content-type"]
    let format: RecordFormat = format == NJL_LINES ? .lines : .json(contentType: type)
    return Handle<Records>.make(
        Records(future, format, maximumLength: maximum > 0 ? maximum : RecordFormat.defaultMaximumLength))
}

@_cdecl("njl_records_release") @implementation
public func njl_records_release(_ records: OpaquePointer?) { Handle<Records>.release(records) }

@_cdecl("njl_records_next") @implementation
public func njl_records_next(
    _ records: OpaquePointer?, _ wait: OpaquePointer?, _ record: UnsafeMutablePointer<njl_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> njl_part {
    guard let records = Handle<Records>.borrow(records) else { return NJL_PART_END }
    switch records.next() {
    case .record(let bytes):
        // The reader keeps the bytes in place until the record is taken.
        record?.pointee = bytes.withUnsafeReadableBytes(njl_bytes.init)
        return NJL_PART_READY
    case .later:
        guard records.future.wait == nil || records.future.wait == wait else { return NJL_PART_BUSY }
        records.future.wait = wait
        return NJL_PART_LATER
    case .end:
        return NJL_PART_END
    case .failed(let failure):
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return NJL_PART_FAILED
    }
}

@_cdecl("njl_records_take") @implementation
public func njl_records_take(_ records: OpaquePointer?) { Handle<Records>.borrow(records)?.take() }

@_cdecl("njl_records_reject") @implementation
public func njl_records_reject(_ records: OpaquePointer?, _ problem: njl_bytes) -> OpaquePointer? {
    let problem = String(decoding: problem.buffer, as: UTF8.self)
    guard let error = Handle<Records>.borrow(records)?.reject(problem) else { return nil }
    return Handle<Future>.make(Future(.failure(error)))
}

@_cdecl("njl_accepted_json") @implementation
public func njl_accepted_json() -> njl_bytes {
    njl_bytes(
        data: UnsafeRawPointer(RecordFormat.acceptsJSON.utf8Start).assumingMemoryBound(to: CChar.self),
        length: RecordFormat.acceptsJSON.utf8CodeUnitCount)
}
