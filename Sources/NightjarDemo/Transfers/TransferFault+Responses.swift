import NIOCore
import NIOHTTP1

extension TransferFault {
    /// Changes a response. Returns false if the fault does not apply to the response, for example a fault of a range to a
    /// response without ranges.
    func apply(to response: inout Response, _ query: FileQuery, _ request: Request) -> Bool {
        switch kind {
        case .none, .whole:
            return kind == .whole && request.head.headers.contains(name: "range")
        case .close:
            response = .dropped
            return true
        case .cutHead:
            response.headLimit = position(within: TransferFault.headLength)
            response.closesConnection = true
            return true
        case .unavailable, .status, .notSatisfiable, .notSatisfiableBare:
            response = replacement(query)
            return true
        default:
            guard var source = response.fileSource, request.head.method != .HEAD else { return false }
            return applyToBody(&response, &source, query, request)
        }
    }

    private func applyToBody(
        _ response: inout Response, _ source: inout FileSource, _ query: FileQuery, _ request: Request
    ) -> Bool {
        switch kind {
        case .cut, .cutChunk, .reset, .stall, .damage: stop(&response, &source, query)
        case .lengthSmall, .lengthLarge: changeLength(&response, source)
        case .unrequested: return respondPartially(&response, source, request)
        default:
            guard response.status == .partialContent, source.replacement == nil else { return false }
            return applyToRange(&response, source)
        }
        return true
    }

    /// The positions of `cutHead`. Each head is longer.
    private static let headLength = 100

    private func replacement(_ query: FileQuery) -> Response {
        var headers: HTTPHeaders = [:]
        switch kind {
        case .notSatisfiable:
            headers.add(name: "Content-Range", value: "bytes */\(query.content.size)")
            fallthrough
        case .notSatisfiableBare:
            return Problem.requested(.rangeNotSatisfiable, headers: headers).response
        case .status:
            return Problem.requested(HTTPResponseStatus(fault: number)).response
        default:
            if let number { headers.add(name: "Retry-After", value: String(max(number, 0))) }
            return Problem.requested(.serviceUnavailable, headers: headers).response
        }
    }

    private func stop(_ response: inout Response, _ source: inout FileSource, _ query: FileQuery) {
        source.stopPosition = position(within: source.length)
        switch kind {
        case .cutChunk:
            source.stop = .cutInChunkHead
            response.body = .source(source, length: nil)
            response.endsWithConnection = false
        case .reset: source.stop = .reset
        case .stall: source.stop = .stall(query.stallTime)
        case .damage:
            source.stop = .damage
            source.stopPosition = min(source.stopPosition, max(source.length - 1, 0))
        default: source.stop = .cut
        }
        if kind != .stall, kind != .damage { response.closesConnection = true }
        response.replaceSource(source)
    }

    /// Changes Content-Length but not the body.
    private func changeLength(_ response: inout Response, _ source: FileSource) {
        let difference = amount(atMost: 1_000_000)
        let length = kind == .lengthLarge ? source.length + difference : max(source.length - difference, 0)
        response.body = .source(source, length: length)
        response.closesConnection = true
    }

    private func respondPartially(_ response: inout Response, _ source: FileSource, _ request: Request) -> Bool {
        guard !request.head.headers.contains(name: "range"), source.replacement == nil, source.length > 0 else {
            return false
        }
        let range = 0..<(position == .unspecified ? source.length : amount(atMost: source.length))
        response.status = .partialContent
        response.headers.add(name: "Content-Range", value: FileRange(range, source.content.size).text)
        send(range, source, &response)
        return true
    }

    private func applyToRange(_ response: inout Response, _ source: FileSource) -> Bool {
        var field = FileRange(source.range, source.content.size)
        let count = source.range.count
        switch kind {
        case .rangeStart: field.first += amount(atMost: 1_000_000)
        case .rangeEnd: field.last -= amount(atMost: max(count - 1, 1))
        case .rangeTotal: field.total += amount(atMost: 1_000_000)
        case .rangeUnit: field.unit = "items"
        case .rangeSyntax: (field.first, field.last) = (field.last + 1, field.first)
        case .rangeMissing:
            response.headers.remove(name: "Content-Range")
            return true
        case .rangeOverlap:
            let start = max(source.range.lowerBound - amount(atMost: 1_000_000), 0)
            guard start < source.range.lowerBound else { return false }
            send(start..<source.range.upperBound, source, &response)
            field.first = start
        case .rangeGap:
            guard count > 1 else { return false }
            field.first += amount(atMost: count - 1)
            send(field.first..<source.range.upperBound, source, &response)
        case .bodyLong:
            send(source.range.lowerBound..<(source.range.upperBound + amount(atMost: 1_000_000)), source, &response)
        case .rangeShort:
            guard count > 1 else { return false }
            field.last -= amount(atMost: count - 1)
            send(source.range.lowerBound..<(field.last + 1), source, &response)
        case .rangeUnknown: field.hasTotal = false
        case .statusOK: response.status = .ok
        case .coded:
            guard count <= FileQuery.maximumInMemory,
                let bytes = ContentEncoder.gzip.encode(source.content.bytes(in: source.range))
            else { return false }
            var source = source
            source.replacement = ByteBuffer(bytes: bytes)
            response.headers.add(name: "Content-Encoding", value: "gzip")
            response.body = .source(source, length: bytes.count)
        default: return false
        }
        response.headers.replaceOrAdd(name: "Content-Range", value: field.text)
        return true
    }

    /// Sends another range of the content.
    private func send(_ range: Range<Int>, _ source: FileSource, _ response: inout Response) {
        var source = source
        source.range = range
        var length: Int? = range.count
        if case .source(_, nil) = response.body { length = nil }
        response.body = .source(source, length: length)
    }
}
