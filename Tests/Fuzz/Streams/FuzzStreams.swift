import NIOCore
import NightjarHTTP

/// Fuzzes the decoders of lines, JSON values and event streams. Aborts if one of these invariants is violated:
///
/// - The result does not depend on how the body is divided into parts.
/// - A record or an event is not longer than the limit.
/// - Events are valid UTF-8.
///
/// The first byte selects the format and the limit, the second one the length of a part.
func fuzzStreams(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
    guard input.count > 2 else { return 0 }
    let body = Array(input[2...])
    let limit = input[0] & 0x80 == 0 ? 1 << 20 : 8
    let length = Int(input[1] % 16) + 1
    let formats: [RecordFormat] = [.lines, .uncheckedLines, .jsonLines, .jsonSequence]
    if input[0] & 0x7 < formats.count {
        let format = formats[Int(input[0] & 0x7)]
        let whole = records(body, format, limit, partLength: body.count)
        require(whole == records(body, format, limit, partLength: length), "the parts change the records of \(format)")
        require(whole.allSatisfy { $0.count <= limit || $0.first == 0 }, "a record is too long")
    } else {
        let whole = events(body, limit, partLength: body.count)
        require(whole == events(body, limit, partLength: length), "the parts change the events")
        require(whole.allSatisfy { $0.utf8.count <= 3 * limit + 64 }, "an event is too long")
    }
    return 0
}

private func parts(_ body: [UInt8], _ length: Int) -> [ByteBuffer] {
    stride(from: 0, to: body.count, by: max(length, 1)).map {
        ByteBuffer(bytes: body[$0..<min($0 + max(length, 1), body.count)])
    }
}

/// The records. A failure is a record that begins with 0.
private func records(_ body: [UInt8], _ format: RecordFormat, _ limit: Int, partLength: Int) -> [[UInt8]] {
    var decoder = RecordDecoder(format, maximumLength: limit)
    var records: [[UInt8]] = []
    do throws(NightjarError) {
        for part in parts(body, partLength) {
            decoder.append(part)
            while let record = try decoder.next() { records.append([1] + record.readableBytesView) }
            require(decoder.heldBytes <= 4 * limit + 64, "an incomplete record takes too much memory")
        }
        if let last = try decoder.finish() { records.append([1] + last.readableBytesView) }
    } catch {
        records.append([0] + error.message.utf8)
    }
    return records.map { $0.first == 1 ? Array($0.dropFirst()) : $0 }
}

/// The events as texts. A failure is the last text.
private func events(_ body: [UInt8], _ limit: Int, partLength: Int) -> [String] {
    var decoder = EventDecoder(maximumSize: limit)
    var events: [String] = []
    do throws(NightjarError) {
        for part in parts(body, partLength) {
            decoder.append(part)
            while let event = try decoder.next() {
                require(event.bytes.withUnsafeReadableBytes(UTF8Validator.isValid), "the data is not UTF-8")
                events.append("\(event.type) \(event.id) \(event.data)")
            }
        }
        events.append("\(decoder.reconnectionTime as Duration?) \(String(buffer: decoder.lastEventID))")
    } catch {
        events.append(error.message)
    }
    return events
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
