import NIOCore
import NightjarHTTP

extension TaskHandlers {
    /// A record of a streamed response, such as a line.
    package struct Record {
        /// The response, without its body.
        package let response: Response
        package let bytes: ByteBuffer
        /// The number of the record, from 1.
        package let number: Int
    }

    /// Receives a record. An error ends the call with this error.
    package typealias RecordHandler = @Sendable (ClientTask, Record) throws(NightjarError) -> Void

    /// Calls `handler` with each record of the response body instead of calling ``body`` with its parts.
    ///
    /// Replaces ``body`` and ``convertResult``, and wraps ``head``, which must be set before. After a cancel, no further
    /// record is delivered. If the stream fails, ``finished`` receives the error with the number of records; see
    /// ``NightjarError/delivered``.
    ///
    /// - Parameters:
    ///   - format: Returns the format of the response with a head.
    ///   - maximumLength: The maximum length of a record in bytes.
    package mutating func deliverRecords(
        _ format: @escaping @Sendable (ResponseHead) -> RecordFormat,
        maximumLength: Int = RecordFormat.defaultMaximumLength, to handler: @escaping RecordHandler
    ) {
        deliver({ RecordDecoder(format($0), maximumLength: maximumLength) }) {
            task, response, bytes, number throws(NightjarError) in
            try handler(task, Record(response: response, bytes: bytes, number: number))
        }
    }

    /// Calls `handler` with each event of a response that is an event stream. A response of another media type is
    /// collected, as without this function. Otherwise as ``deliverRecords(_:maximumLength:to:)``.
    ///
    /// - Parameter maximumSize: The maximum size of the data of an event in bytes.
    package mutating func deliverEvents(
        maximumSize: Int, to handler: @escaping @Sendable (ClientTask, ServerEvent) -> Void
    ) {
        streams = { $0.isEventStream }
        deliver({ _ in EventDecoder(maximumSize: maximumSize, sizeOption: "max_line") }) { task, _, event, _ in
            handler(task, event)
        }
    }

    private mutating func deliver<Decoder: ElementDecoder>(
        _ decoder: @escaping @Sendable (ResponseHead) -> Decoder,
        to handler: @escaping ElementReading<Decoder>.Handler
    ) {
        let reading = ElementReading<Decoder>(handler)
        let head = head
        self.head = { task, response in
            reading.begin(response, decoder(response.head))
            head?(task, response)
        }
        body = { task, part in reading.received(part, task) }
        convertResult = { task, result in reading.end(result, task) }
    }
}

/// Divides the body of one call into elements. Used only where the call's callbacks run, one at a time.
private final class ElementReading<Decoder: ElementDecoder>: @unchecked Sendable {
    /// Receives an element and its number, from 1.
    typealias Handler = @Sendable (ClientTask, Response, Decoder.Element, Int) throws(NightjarError) -> Void

    private let handler: Handler
    /// Nil before the head of the response.
    private var response: Response?
    private var decoder: Decoder?
    private var delivered = 0
    /// The error of an element or of the handler. The call was then cancelled.
    private var failure: NightjarError?

    init(_ handler: @escaping Handler) { self.handler = handler }

    func begin(_ response: Response, _ decoder: Decoder) {
        self.response = response
        self.decoder = decoder
    }

    func received(_ part: ByteBuffer, _ task: ClientTask) {
        guard failure == nil, let response else { return }
        decoder?.append(part)
        do throws(NightjarError) {
            while let element = try decoder?.next() { try deliver(element, response, task) }
        } catch {
            failure = error
            task.cancel()
        }
    }

    private func deliver(_ element: Decoder.Element, _ response: Response, _ task: ClientTask) throws(NightjarError) {
        guard !task.isCancelled else {
            throw NightjarError(.cancelled, "the call was cancelled", requestMayHaveBeenProcessed: true)
        }
        try handler(task, response, element, delivered + 1)
        delivered += 1
    }

    /// Returns the result of the call and of reading its elements.
    func end(_ result: Result<Response, NightjarError>, _ task: ClientTask) -> Result<Response, NightjarError> {
        guard let response, let noun = decoder?.noun else { return result }
        if failure == nil, case .success = result {
            do throws(NightjarError) {
                if let last = try decoder?.finish() { try deliver(last, response, task) }
            } catch {
                failure = error
            }
        }
        let (error, attempts): (NightjarError?, Int) =
            switch result {
            case .success(let response): (failure, response.attempts)
            case .failure(let error): (failure ?? error, error.attempts)
            }
        guard let error else { return result }
        return .failure(error.of(task.request, attempts: attempts).afterDelivery(of: delivered, noun))
    }
}
