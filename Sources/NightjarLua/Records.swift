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

    private let body: BodyReader
    private var decoder: RecordDecoder
    /// The record that ``next()`` returns until it is taken.
    private var current: ByteBuffer?
    private var failure: NightjarError?
    private var delivered = 0

    init(_ future: Future, _ format: RecordFormat, maximumLength: Int) {
        body = BodyReader(future)
        decoder = RecordDecoder(format, maximumLength: maximumLength)
    }

    var future: Future { body.future }

    func next() -> Step {
        if let failure { return .failed(failure) }
        if let current { return .record(current) }
        do throws(NightjarError) {
            return try read()
        } catch {
            return .failed(fail(error))
        }
    }

    /// Takes the record that ``next()`` has returned.
    ///
    /// - Returns: False if it was taken before.
    func take() -> Bool {
        guard current.take() != nil else { return false }
        delivered += 1
        return true
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
        body.cancel()
        return failed
    }

    private func read() throws(NightjarError) -> Step {
        while true {
            if let record = try decoder.next() { return found(record) }
            let noun = decoder.format.noun
            switch body.next(
                holding: decoder.heldBytes, for: "\(noun) \(delivered + 1) of the response")
            {
            case .bytes(let part): decoder.append(part)
            case .later: return .later
            case .failed(let error): throw error
            case .end: return try decoder.finish().map(found) ?? .end
            }
        }
    }

    private func found(_ record: ByteBuffer) -> Step {
        current = record
        return .record(record)
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
public func njl_records_take(_ records: OpaquePointer?) -> Bool { Handle<Records>.borrow(records)?.take() ?? false }

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
