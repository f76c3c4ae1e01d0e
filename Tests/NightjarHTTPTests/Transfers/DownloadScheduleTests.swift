import NIOCore
import Testing

@testable import NightjarHTTP

/// A generator whose numbers are all equal: the waits are the shortest or the longest.
private struct Constant: RandomNumberGenerator {
    var value: UInt64
    mutating func next() -> UInt64 { value }
}

/// A conversation with a schedule. Actions are compared as texts.
private final class Conversation {
    var schedule: DownloadSchedule
    var random = Constant(value: 0)
    /// The last wait of each connection.
    private(set) var waits: [Int: Int] = [:]

    init(_ record: DownloadRecord? = nil, canRepeat: Bool = true, _ change: (inout DownloadSettings) -> Void = { _ in })
    {
        var settings = DownloadSettings()
        change(&settings)
        schedule = DownloadSchedule(settings, record, canRepeat: canRepeat)
        schedule.start()
    }

    /// The actions so far, separated by commas.
    func actions() -> String {
        var texts: [String] = []
        while let action = schedule.next() {
            switch action {
            case .request(let number, nil): texts.append("\(number): all")
            case .request(let number, let range?):
                texts.append("\(number): \(range.field)" + (range.validator.map { " if \($0.value)" } ?? ""))
            case .wait(let number, let id, let time):
                waits[number] = id
                texts.append("\(number): wait \(time.inSeconds)")
            case .cancel(let number): texts.append("\(number): cancel")
            case .reset: texts.append("reset")
            case .finish: texts.append("finish")
            case .fail(let error): texts.append("fail \(error.kind.name): \(error.message)")
            }
        }
        return texts.joined(separator: ", ")
    }

    func opened(_ status: Int, _ fields: String..., on number: Int = 0) -> Bool { opened(status, fields, on: number) }

    func opened(_ status: Int, _ fields: [String], on number: Int = 0) -> Bool {
        schedule.opened(number, status: status, headers(fields))
    }

    /// Receives and writes bytes.
    func receive(_ count: Int, on number: Int = 0) {
        guard let placement = schedule.place(count, from: number) else { return }
        schedule.wrote(placement.offset..<(placement.offset + placement.take), from: number)
    }

    func end(_ error: NightjarError? = nil, on number: Int = 0) {
        schedule.ended(number, error, using: &random)
    }

    /// The last wait of a connection has ended.
    func waited(_ number: Int) { schedule.waited(number, waits[number] ?? 0) }

    func damaged(on number: Int = 0) {
        schedule.damaged(number, NightjarError(.checksumMismatch, "wrong"), using: &random)
    }
}

private func headers(_ fields: [String]) -> Headers {
    var headers = Headers()
    for field in fields {
        let parts = field.split(separator: ":", maxSplits: 1)
        try? headers.add(String(parts[0]), String(parts[1].drop { $0 == " " }))
    }
    return headers
}

private let lost = NightjarError(.connectionLost, "the connection was lost")
private let tag = #"ETag: "a""#

private func unsatisfied(_ range: String?) -> NightjarError {
    unexpected(416, range.map { ["Content-Range: \($0)"] } ?? [])
}

private func unexpected(_ status: Int, _ fields: [String] = []) -> NightjarError {
    let response = Response(
        head: ResponseHead(status: status, headers: headers(fields)),
        body: ByteBuffer(), url: try! RequestURL("http://a.test/"))
    return NightjarError(.client, "status \(status)", response: response)
}

/// A part with the first `count` bytes of a content with the entity tag "a".
private func part(_ count: Int, of total: Int?) -> DownloadRecord {
    var record = DownloadRecord()
    record.received = RangeSet(0..<count)
    record.total = total
    record.validator = StrongValidator(.entityTag, #""a""#)
    return record
}

@Suite struct DownloadScheduleTests {
    // MARK: One connection

    @Test func wholeContentIsReceived() {
        let it = Conversation()
        #expect(it.actions() == "0: all")
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.receive(10)
        it.end()
        #expect(it.actions() == "finish")
        #expect(it.schedule.total == 10)
    }

    @Test func unknownLengthIsThatOfTheBody() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200))
        it.receive(7)
        it.end()
        #expect(it.actions() == "finish")
        #expect(it.schedule.total == 7)
    }

    @Test func emptyContentIsComplete() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 0"))
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func lostConnectionContinuesAtTheNextByte() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.receive(4)
        it.end(lost)
        #expect(it.actions() == "0: wait 0.0")
        it.waited(0)
        #expect(it.actions() == #"0: bytes=4-9 if "a""#)
        #expect(it.opened(206, "Content-Range: bytes 4-9/10", "Content-Length: 6", tag))
        it.receive(6)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func unknownLengthContinuesWithAnOpenRange() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, tag))
        it.receive(4)
        it.end(lost)
        _ = it.actions()
        it.waited(0)
        #expect(it.actions() == #"0: bytes=4- if "a""#)
        it.end(unsatisfied("bytes */4"))
        #expect(it.actions() == "finish")
    }

    /// A server may send less than was requested.
    @Test func shorterRangeIsContinued() {
        let it = Conversation(part(2, of: 10))
        #expect(it.actions() == #"0: bytes=2-9 if "a""#)
        #expect(it.opened(206, "Content-Range: bytes 2-4/10"))
        it.receive(3)
        it.end()
        #expect(it.actions() == #"0: bytes=5-9 if "a""#)
    }

    /// The bytes that precede the requested ones are discarded.
    @Test func earlierRangeIsSkipped() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 2-9/10"))
        #expect(it.schedule.place(3, from: 0) == .init(skip: 2, take: 1, offset: 4))
        it.schedule.wrote(4..<5, from: 0)
        it.receive(5)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func completePartNeedsNoRequest() {
        let it = Conversation(part(10, of: 10))
        #expect(it.actions() == "finish")
    }

    @Test func completePartThatIsTooLargeFails() {
        let it = Conversation(part(10, of: 10)) { $0.maximumSize = 9 }
        #expect(it.actions().hasPrefix("fail too_large: the content is larger than max_size (9 bytes)"))
    }

    // MARK: Statuses

    /// Such a response has no content, or the content is that of an error.
    @Test(arguments: [201, 204, 205, 226, 304, 404, 503])
    func otherStatusIsNotTheFile(status: Int) {
        let it = Conversation()
        _ = it.actions()
        #expect(!it.opened(status, "Content-Length: 0", tag))
        #expect(
            it.actions()
                == "0: cancel, fail protocol: the download failed: the server responded with the status \(status) instead of "
                + "200, 203 or 206")
    }

    @Test func notModifiedHasItsOwnMessage() {
        let it = Conversation()
        _ = it.actions()
        it.end(unexpected(304))
        #expect(
            it.actions()
                == "fail client: the download failed: the server responded with the status 304 (Not Modified), which has no "
                + "content; remove If-None-Match and If-Modified-Since from the request")
    }

    @Test func contentOfATransformingProxyIsTheFile() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(203, "Content-Length: 10", tag))
        it.receive(10)
        it.end()
        #expect(it.actions() == "finish")
    }

    // MARK: Changed content

    @Test func otherValidatorStartsOver() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 8", #"ETag: "b""#))
        #expect(it.actions() == "reset")
        it.receive(8)
        it.end()
        #expect(it.actions() == "finish")
        #expect(it.schedule.total == 8 && it.schedule.resumed == 0)
    }

    @Test(arguments: [
        [#"ETag: "b""#, "Content-Range: bytes 4-9/10"], [tag, "Content-Range: bytes 4-10/11"],
    ])
    func rangeOfOtherContentStartsOver(fields: [String]) {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(!it.opened(206, fields))
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    /// The range has no entity tag that would prove that the content is the same.
    @Test func rangeWithAnotherDateStartsOver() {
        var record = part(4, of: 10)
        record.modified = 784_111_777
        let it = Conversation(record)
        _ = it.actions()
        #expect(!it.opened(206, "Content-Range: bytes 4-9/10", "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"))
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    /// Servers behind one address may have different dates for the same file.
    @Test func dateIsIgnoredIfTheEntityTagIsTheSame() {
        var record = part(4, of: 10)
        record.modified = 784_111_777
        let it = Conversation(record)
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 4-9/10", tag, "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"))
    }

    /// Swift compares texts by canonical equivalence.
    @Test func validatorsAreComparedByteByByte() {
        var record = part(4, of: 10)
        record.validator = StrongValidator(.entityTag, "\"\u{E9}\"")
        let it = Conversation(record)
        _ = it.actions()
        #expect(!it.opened(206, "Content-Range: bytes 4-9/10", "ETag: \"e\u{301}\""))
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    @Test func rangeThatExceedsTheLengthStartsOver() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(!it.opened(206, "Content-Range: bytes 4-11/*", tag))
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    @Test func rangeWithAnotherDigestStartsOver() throws {
        var record = part(4, of: 10)
        record.digest = try Checksum("sha256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        let it = Conversation(record)
        _ = it.actions()
        let other = "Repr-Digest: sha-256=:57DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
        #expect(!it.opened(206, "Content-Range: bytes 4-9/10", tag, other))
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    @Test func changedContentFailsByOption() {
        let it = Conversation(part(4, of: 10)) { $0.restarts = false }
        _ = it.actions()
        #expect(!it.opened(200, "Content-Length: 8", #"ETag: "b""#))
        #expect(
            it.actions()
                == "0: cancel, fail content_changed: the download cannot continue: the content has changed; the part is "
                + "kept; start over without it")
        #expect(it.schedule.received == RangeSet(0..<4))
    }

    /// Bytes of responses with a weak validator, or without one, are never combined.
    @Test(arguments: [#"ETag: W/"a""#, "X: y", "ETag: unquoted", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"])
    func weakValidatorStartsOver(field: String) {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", field, "Date: Sun, 06 Nov 1994 08:50:00 GMT"))
        it.receive(4)
        it.end(lost)
        #expect(it.actions() == "reset, 0: wait 0.0")
        it.waited(0)
        #expect(it.actions() == "0: all")
    }

    @Test func oldLastModifiedIsAStrongValidator() {
        let it = Conversation()
        _ = it.actions()
        #expect(
            it.opened(
                200, "Content-Length: 10", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
                "Date: Sun, 06 Nov 1994 08:50:37 GMT"))
        it.receive(4)
        it.end(lost)
        _ = it.actions()
        it.waited(0)
        #expect(it.actions() == "0: bytes=4-9 if Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func startingOverIsLimited() {
        let it = Conversation { $0.attempts = 2 }
        for _ in 0..<2 {
            _ = it.actions()
            #expect(it.opened(200, "Content-Length: 10"))
            it.receive(4)
            it.end(lost)
            #expect(it.actions() == "reset, 0: wait 0.0")
            it.waited(0)
        }
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10"))
        it.receive(4)
        it.end(lost)
        #expect(it.actions().hasPrefix("fail content_changed: the download has started over 2 times"))
    }

    /// The length of a response of which no byte has arrived does not apply to another response.
    @Test func lengthOfAnotherResponseIsForgotten() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.end(lost)
        _ = it.actions()
        it.waited(0)
        #expect(it.actions() == "0: all")
        #expect(it.opened(200, #"ETag: "b""#))
        it.receive(10)
        it.end(lost)
        _ = it.actions()
        it.waited(0)
        #expect(it.actions() == #"0: bytes=10- if "b""#)
    }

    // MARK: Servers without ranges

    /// A server that ignores ranges sends the same content again. The known bytes are skipped.
    @Test func ignoredRangeIsSkipped() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", tag))
        #expect(it.actions() == "")
        #expect(it.schedule.place(10, from: 0) == .init(skip: 4, take: 6, offset: 4))
        it.schedule.wrote(4..<10, from: 0)
        it.end()
        #expect(it.actions() == "finish")
    }

    /// A connection that breaks off without Content-Length looks like the end of the body.
    @Test func ignoredRangeThatEndsEarlyIsContinued() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(200, tag))
        it.receive(7)
        it.end()
        #expect(it.actions() == "0: wait 0.0")
        it.waited(0)
        #expect(it.actions() == #"0: bytes=7-9 if "a""#)
    }

    @Test func wholeContentShorterThanThePartStartsOver() {
        let it = Conversation(part(4, of: nil))
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 3", tag))
        #expect(it.actions() == "reset")
        it.receive(3)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func contentShorterThanThePartStartsOver() {
        let it = Conversation(part(4, of: nil))
        _ = it.actions()
        #expect(it.opened(200, tag))
        it.receive(3)
        it.end()
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    @Test(arguments: [nil, "bytes */8", "bytes */3", "lines */4", "bytes */x"])
    func unsatisfiedRangeStartsOver(range: String?) {
        let it = Conversation(part(4, of: nil))
        _ = it.actions()
        it.end(unsatisfied(range))
        #expect(it.actions() == "reset, 0: all")
    }

    // MARK: Invalid responses

    @Test(arguments: [
        ["X: y"], ["Content-Range: bytes 5-9/10"], ["Content-Range: bytes 0-3/10"], ["Content-Range: items 4-9/10"],
        ["Content-Range: bytes 4-9/10", "Content-Range: bytes 4-9/10"], ["Content-Range: bytes 4-9/9"],
        ["Content-Range: bytes 4-9/10", "Content-Length: 5"],
        ["Content-Range: bytes 4-9/10", "Content-Encoding: gzip"],
        ["Content-Type: multipart/byteranges; boundary=x"],
    ])
    func invalidRangeIsRequestedAgainThenEverything(fields: [String]) {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(!it.opened(206, fields))
        #expect(it.actions() == #"0: cancel, 0: bytes=4-9 if "a""#)
        #expect(!it.opened(206, fields))
        #expect(it.actions() == "0: cancel, reset, 0: all")
        #expect(!it.opened(206, fields))
        #expect(it.actions().hasPrefix("0: cancel, fail protocol: the server sent an invalid range: "))
    }

    @Test func rangeForARequestWithoutRangeFails() {
        let it = Conversation()
        _ = it.actions()
        #expect(!it.opened(206, "Content-Range: bytes 4-9/10"))
        #expect(
            it.actions()
                == "0: cancel, fail protocol: the server sent an invalid range: Content-Range begins at byte 4 instead of 0"
        )
    }

    /// Content-Range decides, not the status.
    @Test func contentRangeOf200IsUsed() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(200, "Content-Range: bytes 4-9/10", tag))
        it.receive(6)
        it.end()
        #expect(it.actions() == "finish")
    }

    /// Without a Range field in the request, the response is the whole content.
    @Test func contentRangeOf200WithoutRangeIsIgnored() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Range: bytes 0-3/10", "Content-Length: 10", tag))
        it.receive(10)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func bodyLongerThanItsRangeStartsOver() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 4-9/10"))
        it.receive(5)
        it.receive(2)
        #expect(it.actions() == "0: cancel, reset, 0: all")
    }

    @Test func damagedResponseIsRequestedAgain() {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 4-9/10"))
        it.receive(6)
        it.damaged()
        #expect(it.actions() == "0: wait 0.0")
        it.waited(0)
        #expect(it.actions() == #"0: bytes=4-9 if "a""#)
    }

    // MARK: Failures

    @Test func attemptsWithoutBytesAreLimited() {
        let it = Conversation(part(4, of: 10)) { $0.attempts = 3 }
        for _ in 0..<2 {
            #expect(it.actions() == #"0: bytes=4-9 if "a""#)
            it.end(lost)
            #expect(it.actions() == "0: wait 0.0")
            it.waited(0)
        }
        // Progress begins a new count.
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 4-9/10"))
        it.receive(1)
        it.end(lost)
        for _ in 0..<2 {
            #expect(it.actions() == "0: wait 0.0")
            it.waited(0)
            _ = it.actions()
            it.end(lost)
        }
        #expect(it.actions() == "fail connection_lost: the connection was lost")
    }

    @Test func waitsDoubleUpToALimit() {
        let it = Conversation { ($0.attempts, $0.retryDelay) = (9, .seconds(1)) }
        it.random.value = .max
        var waits: [String] = []
        for _ in 0..<8 {
            _ = it.actions()
            it.end(lost)
            waits.append(it.actions())
            it.waited(0)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { "0: wait \($0).0" })
    }

    @Test(arguments: [ErrorKind.notFound, .forbidden, .unauthorized, .tls, .protocol, .tooLarge, .cancelled])
    func permanentFailureEndsTheDownload(kind: ErrorKind) {
        let it = Conversation(part(4, of: 10))
        _ = it.actions()
        it.end(NightjarError(kind, "no"))
        #expect(it.actions() == "fail \(kind.name): no")
    }

    @Test func longRetryAfterEndsTheDownload() {
        let it = Conversation()
        _ = it.actions()
        it.end(NightjarError(.rateLimited, "later", retryAfter: .seconds(61)))
        #expect(it.actions() == "fail rate_limited: later")
    }

    @Test func retryAfterIsTheShortestWait() {
        let it = Conversation()
        _ = it.actions()
        it.end(NightjarError(.rateLimited, "later", retryAfter: .seconds(7)))
        #expect(it.actions() == "0: wait 7.0")
    }

    @Test func otherMethodIsSentOnce() {
        let it = Conversation(part(4, of: 10), canRepeat: false)
        #expect(it.actions() == "0: all")
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.receive(3)
        it.end(lost)
        #expect(it.actions() == "fail connection_lost: the connection was lost")
    }

    @Test(arguments: [true, false])
    func tooLargeContentFails(isAnnounced: Bool) {
        let it = Conversation { $0.maximumSize = 9 }
        _ = it.actions()
        let isOpen = isAnnounced ? it.opened(200, "Content-Length: 10") : it.opened(200)
        #expect(isOpen == !isAnnounced)
        if isOpen { it.receive(10) }
        #expect(it.actions().contains("fail too_large: the content is larger than max_size (9 bytes)"))
    }

    @Test func codedContentIsNotContinued() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", "Content-Encoding: gzip", tag))
        it.receive(30)
        #expect(!it.schedule.canContinue)
        it.end(lost)
        #expect(it.actions() == "reset, 0: wait 0.0")
    }

    // MARK: Pause

    @Test func pausedDownloadContinues() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.receive(4)
        it.schedule.pause()
        #expect(it.actions() == "0: cancel")
        it.receive(3)
        it.end(lost)
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == #"0: bytes=4-9 if "a""#)
    }

    @Test func pausedDownloadWithoutValidatorStartsOver() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10"))
        it.receive(4)
        it.schedule.pause()
        _ = it.actions()
        it.schedule.resume()
        #expect(it.actions() == "reset, 0: all")
    }

    /// A part without a validator is of no use, and is not kept.
    @Test func pausedDownloadWithoutValidatorFailsByOption() {
        let it = Conversation { $0.restarts = false }
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10"))
        it.receive(4)
        it.schedule.pause()
        _ = it.actions()
        it.schedule.resume()
        #expect(
            it.actions()
                == "fail content_changed: the download cannot continue: it was paused; the part is discarded; start over"
        )
    }

    /// A write of the cancelled response may have reached the part.
    @Test func contentAfterAPauseWithoutBytesReplacesThePart() {
        let it = Conversation()
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 10"))
        it.schedule.pause()
        it.schedule.resume()
        #expect(it.actions() == "0: cancel, 0: all")
        #expect(it.opened(200, "Content-Length: 8"))
        #expect(it.actions() == "reset")
        it.receive(8)
        it.end()
        #expect(it.actions() == "finish")
    }

    /// The timer of the wait before the pause is still running.
    @Test func timerOfAnEarlierWaitIsIgnored() {
        let it = Conversation()
        _ = it.actions()
        it.end(lost)
        _ = it.actions()
        let earlier = it.waits[0] ?? 0
        it.schedule.pause()
        it.schedule.resume()
        #expect(it.actions() == "0: all")
        it.end(lost)
        #expect(it.actions() == "0: wait 0.0")
        it.schedule.waited(0, earlier)
        #expect(it.actions() == "")
        it.waited(0)
        #expect(it.actions() == "0: all")
    }

    // MARK: Digest of the whole

    @Test func mismatchOfAContinuedPartStartsOverOnce() {
        let it = Conversation(part(10, of: 10))
        #expect(it.actions() == "finish")
        it.schedule.mismatched(NightjarError(.checksumMismatch, "wrong"))
        #expect(it.actions() == "reset, 0: all")
        #expect(it.opened(200, "Content-Length: 10", tag))
        it.receive(10)
        it.end()
        #expect(it.actions() == "finish")
        it.schedule.mismatched(NightjarError(.checksumMismatch, "wrong"))
        #expect(it.actions() == "fail checksum_mismatch: wrong")
    }
}

@Suite struct ParallelDownloadScheduleTests {
    private let megabyte = 1 << 20

    /// A download of 4 MiB with two connections whose first range has arrived.
    private func started() -> Conversation {
        let it = Conversation { $0.connections = 2 }
        #expect(it.actions() == "0: bytes=0-1048575")
        #expect(it.opened(206, "Content-Range: bytes 0-1048575/4194304", tag))
        it.receive(megabyte)
        it.end()
        #expect(
            it.actions() == #"0: bytes=1048576-2097151 if "a", 1: bytes=2097152-3145727 if "a""#)
        return it
    }

    @Test func piecesAreRequestedByAllConnections() {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 2097152-3145727/4194304", tag, on: 1))
        it.receive(megabyte, on: 1)
        it.end(on: 1)
        #expect(it.actions() == #"1: bytes=3145728-4194303 if "a""#)
        #expect(it.opened(206, "Content-Range: bytes 1048576-2097151/4194304", tag))
        it.receive(megabyte)
        it.end()
        #expect(it.actions() == "")
        #expect(it.opened(206, "Content-Range: bytes 3145728-4194303/4194304", tag, on: 1))
        it.receive(megabyte, on: 1)
        it.end(on: 1)
        #expect(it.actions() == "finish")
    }

    @Test func lostPieceContinuesOnItsConnection() {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 2097152-3145727/4194304", tag, on: 1))
        it.receive(100, on: 1)
        it.end(lost, on: 1)
        #expect(it.actions() == "1: wait 0.0")
        it.waited(1)
        #expect(it.actions() == #"1: bytes=2097252-3145827 if "a""#)
    }

    @Test func serverWithoutRangesSendsEverything() {
        let it = Conversation { $0.connections = 2 }
        _ = it.actions()
        #expect(it.opened(200, "Content-Length: 4194304", tag))
        it.receive(4 * megabyte)
        it.end()
        #expect(it.actions() == "finish")
    }

    /// Two whole responses may be of different content. Only one of them is used.
    @Test func wholeResponseCancelsOtherRequests() {
        let it = started()
        #expect(it.opened(200, "Content-Length: 4194304", #"ETag: "b""#, on: 1))
        #expect(it.actions() == "0: cancel, reset")
        it.receive(4 * megabyte, on: 1)
        it.end(on: 1)
        #expect(it.actions() == "finish")
    }

    @Test func probeWithoutValidatorIsNotCombined() {
        let it = Conversation { $0.connections = 2 }
        _ = it.actions()
        #expect(!it.opened(206, "Content-Range: bytes 0-1048575/4194304"))
        #expect(it.actions() == "0: cancel, 0: all")
    }

    /// Without a strong validator, the rest cannot be requested later.
    @Test func probeWithTheWholeContentIsReceivedToItsEnd() {
        let it = Conversation { $0.connections = 2 }
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 0-1999999/2000000"))
        it.receive(2_000_000)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func lostProbeWithTheWholeContentStartsOver() {
        let it = Conversation { $0.connections = 2 }
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 0-1999999/2000000"))
        it.receive(megabyte)
        it.end(lost)
        #expect(it.actions() == "reset, 0: wait 0.0")
    }

    /// A server may not know ranges of empty or small contents.
    @Test(arguments: [nil, "bytes */5"]) func unsatisfiedProbeRequestsEverything(range: String?) {
        let it = Conversation { ($0.connections, $0.restarts) = (2, false) }
        _ = it.actions()
        it.end(unsatisfied(range))
        #expect(it.actions() == "0: all")
        #expect(it.schedule.restarts == 0)
        #expect(it.opened(200, "Content-Length: 5"))
        it.receive(5)
        it.end()
        #expect(it.actions() == "finish")
    }

    /// A server may ignore the end of a range. The bytes that no other connection has requested are used.
    @Test func largerRangeIsUsed() {
        let it = Conversation { $0.connections = 2 }
        _ = it.actions()
        #expect(it.opened(206, "Content-Range: bytes 0-4194303/4194304", tag))
        it.receive(4 * megabyte)
        it.end()
        #expect(it.actions() == "finish")
    }

    @Test func largerRangeEndsAtTheNextRequestedByte() {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 2097152-4194303/4194304", tag, on: 1))
        #expect(it.opened(206, "Content-Range: bytes 1048576-4194303/4194304", tag))
        let placement = it.schedule.place(megabyte, from: 0)
        #expect(placement == .init(take: megabyte, offset: megabyte, isLast: true))
        it.schedule.wrote(megabyte..<(2 * megabyte), from: 0)
        it.end()
        #expect(it.actions() == "")
        it.receive(2 * megabyte, on: 1)
        it.end(on: 1)
        #expect(it.actions() == "finish")
    }

    /// The bytes after the requested ones are counted.
    @Test func bodyLongerThanItsLargerRangeStartsOver() {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 1048576-2097153/4194304", tag))
        it.receive(megabyte)
        it.receive(2)
        #expect(it.actions() == "")
        it.receive(1)
        #expect(it.actions() == "0: cancel, 1: cancel, reset, 0: all")
    }

    /// The digest of a response is compared at its end.
    @Test(arguments: [true, false]) func downloadWaitsForTheEndOfEachResponse(isDamaged: Bool) {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 2097152-4194303/4194304", tag, on: 1))
        #expect(it.opened(206, "Content-Range: bytes 1048576-2097151/4194304", tag))
        it.receive(megabyte)
        it.receive(2 * megabyte, on: 1)
        it.end(on: 1)
        #expect(it.actions() == "")
        if isDamaged { it.damaged() } else { it.end() }
        #expect(it.actions() == (isDamaged ? "0: wait 0.0" : "finish"))
    }

    /// A server may limit the number of connections.
    @Test func rejectedConnectionIsNotUsed() {
        let it = started()
        #expect(it.opened(206, "Content-Range: bytes 1048576-2097151/4194304", tag))
        it.end(NightjarError(.forbidden, "too many"), on: 1)
        #expect(it.actions() == "")
        it.receive(megabyte)
        it.end()
        #expect(it.actions() == #"0: bytes=2097152-3145727 if "a""#)
    }

    @Test func changedPieceCancelsAll() {
        let it = started()
        #expect(!it.opened(206, "Content-Range: bytes 2097152-3145727/4194304", #"ETag: "b""#, on: 1))
        #expect(it.actions() == "1: cancel, 0: cancel, reset, 0: bytes=0-1048575")
    }
}
