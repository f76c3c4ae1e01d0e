import NIOCore
import Testing

@testable import NightjarHTTP

private let created = "Location: /u"

@Suite struct PlainUploadTests {
    @Test func putIsSentAgainAsAWhole() throws {
        let it = try UploadConversation(.put, 10)
        #expect(it.actions() == "PUT - 0..<10")
        #expect(it.field("Content-Type") == "text/plain")
        it.fail()
        #expect(it.wait() == "PUT - 0..<10")
        it.reject(503)
        #expect(it.wait() == "PUT - 0..<10")
        it.respond(201)
        #expect(it.actions() == "finish")
    }

    @Test func postIsSentAgainIfTheServerCannotHaveProcessedIt() throws {
        let it = try UploadConversation(.post, 10)
        _ = it.actions()
        it.fail(NightjarError(.connectionLost, "lost"))
        #expect(it.wait() == "POST - 0..<10")
        it.fail()
        #expect(it.actions() == "fail connection_lost: the connection was lost")
        let idempotent = try UploadConversation(.post, 10, isIdempotent: true)
        _ = idempotent.actions()
        idempotent.fail()
        #expect(idempotent.wait() == "POST - 0..<10")
    }

    @Test(arguments: [UploadProtocol.put, .post]) func emptyContentIsSent(uploadProtocol: UploadProtocol) throws {
        let it = try UploadConversation(uploadProtocol, 0)
        #expect(it.actions().hasSuffix(" - 0..<0"))
        it.respond()
        #expect(it.actions() == "finish")
    }

    @Test func permanentStatusEndsTheUpload() throws {
        for status in [400, 401, 403, 404, 409, 410, 416, 423, 460, 501] {
            let it = try UploadConversation(.put, 10)
            _ = it.actions()
            it.reject(status)
            #expect(it.actions().hasSuffix(": status \(status)"))
        }
    }
}

@Suite struct TusTests {
    @Test func contentIsSentInChunks() throws {
        let it = try UploadConversation(.tus, 10) {
            $0.chunkSize = 4
            $0.metadata = [(name: "filename", value: "a b"), (name: "empty", value: "")]
        }
        #expect(it.actions() == "POST -")
        #expect(it.field("Tus-Resumable") == "1.0.0" && it.field("Upload-Length") == "10")
        #expect(it.field("Upload-Metadata") == "filename YSBi,empty ")
        it.respond(201, created)
        for (range, end) in [("0..<4", 4), ("4..<8", 8), ("8..<10", 10)] {
            #expect(it.actions() == "PATCH /u \(range)")
            #expect(it.field("Upload-Offset") == String(range.prefix(1)) && it.field("Upload-Length") == nil)
            it.respond(204, "Upload-Offset: \(end)")
        }
        #expect(it.actions() == "finish")
    }

    @Test func emptyContentIsCompleteAfterItsCreation() throws {
        let it = try UploadConversation(.tus, 0)
        _ = it.actions()
        it.respond(201, created)
        #expect(it.actions() == "finish")
    }

    @Test func creationSendsContentByOption() throws {
        let it = try UploadConversation(.tus, 10) { ($0.createsWithData, $0.chunkSize) = (true, 4) }
        #expect(it.actions() == "POST - 0..<4")
        #expect(it.field("Content-Type") == "application/offset+octet-stream")
        it.respond(201, created, "Upload-Offset: 4")
        #expect(it.actions() == "PATCH /u 4..<8")
        let ignored = try UploadConversation(.tus, 10) { $0.createsWithData = true }
        #expect(ignored.actions() == "POST - 0..<10")
        ignored.respond(201, created)
        #expect(ignored.actions() == "PATCH /u 0..<10")
    }

    /// A repeated creation with the whole content could create two resources.
    /// Each response may have another expiry. A new upload has its own.
    @Test func responsesHaveTheExpiry() throws {
        let it = try UploadConversation(.tus, 10) { $0.chunkSize = 4 }
        _ = it.actions()
        it.respond(201, created, "Upload-Expires: Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(it.schedule.facts.expires == 784_111_777)
        _ = it.actions()
        it.respond(204, "Upload-Offset: 4", "Upload-Expires: Sun, 06 Nov 1994 08:49:38 GMT")
        #expect(it.schedule.facts.expires == 784_111_778)
        _ = it.actions()
        it.respond(204, "Upload-Offset: 8", "Upload-Expires: tomorrow")
        #expect(it.schedule.facts.expires == 784_111_778)
        _ = it.actions()
        it.reject(410)
        #expect(it.schedule.facts.expires == nil)
    }

    /// Only requests whose loss could repeat an effect need an intent in a journal.
    @Test(arguments: [
        (UploadProtocol.put, 10, false), (.post, 10, true), (.tus, 10, false), (.tus, 0, false), (.s3, 10, false),
        (.resumable, 10, true), (.resumable, 0, true),
    ])
    func creationsThatNeedAnIntent(uploadProtocol: UploadProtocol, size: Int, expected: Bool) throws {
        let it = try UploadConversation(uploadProtocol, size)
        _ = it.actions()
        #expect(it.schedule.needsIntent == expected)
        let put = try UploadConversation(uploadProtocol, size, method: .put)
        _ = put.actions()
        #expect(put.schedule.needsIntent == (uploadProtocol == .post))
    }

    @Test func creationWithTheWholeContentIsNotRepeated() throws {
        let whole = try UploadConversation(.tus, 10) { $0.createsWithData = true }
        _ = whole.actions()
        whole.fail()
        #expect(whole.actions() == "fail connection_lost: the connection was lost")
        let part = try UploadConversation(.tus, 10) { ($0.createsWithData, $0.chunkSize) = (true, 4) }
        _ = part.actions()
        part.fail()
        #expect(part.wait() == "POST - 0..<4")
        let without = try UploadConversation(.tus, 10)
        _ = without.actions()
        without.fail()
        #expect(without.wait() == "POST -")
    }

    @Test func creationOfAStreamIsRepeated() throws {
        for createsWithData in [false, true] {
            let it = try UploadConversation(.tus, nil) { $0.createsWithData = createsWithData }
            #expect(it.actions() == "POST -")
            #expect(it.field("Upload-Defer-Length") == "1" && it.field("Upload-Length") == nil)
            it.fail()
            #expect(it.wait() == "POST -")
        }
    }

    @Test(arguments: ["X: y", "Location:", "Location: http://", "Location: ftp://a.test/u"])
    func creationWithoutAValidLocationFails(field: String) throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, field)
        #expect(it.actions().hasPrefix("fail protocol: "))
    }

    @Test func locationIsResolved() throws {
        for (field, target) in [
            ("/f/u", "/f/u"), ("u", "/files/u"), ("../u?a=b", "/u?a=b"), ("http://b.test/u", "http://b.test/u"),
            ("https://a.test/u", "https://a.test/u"), ("//b.test:8080/u", "http://b.test:8080/u"),
        ] {
            let it = try UploadConversation(.tus, 10)
            _ = it.actions()
            it.respond(201, "Location: \(field)", from: "http://a.test/files/")
            #expect(it.actions() == "PATCH \(target) 0..<10")
        }
    }

    @Test func locationWithoutTLSIsRejectedAfterTLS() throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, "Location: http://a.test/u", from: "https://a.test/x")
        #expect(
            it.actions()
                == "fail protocol: the upload cannot be continued: its Location is an http URL, and the request used https"
        )
    }

    @Test func statusesOfAppends() throws {
        for (status, action) in [
            (404, "POST -"), (410, "POST -"), (409, "HEAD /u"), (423, "HEAD /u"), (460, "HEAD /u"), (500, "HEAD /u"),
            (403, "fail forbidden: status 403"), (400, "fail client: status 400"), (413, "fail client: status 413"),
            (416, "fail client: status 416"),
        ] {
            let it = try UploadConversation(.tus, 10)
            _ = it.actions()
            it.respond(201, created)
            _ = it.actions()
            it.reject(status)
            #expect(it.wait() == action)
        }
    }

    @Test func appendWithoutOffsetRequestsIt() throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, created)
        _ = it.actions()
        it.respond(204)
        #expect(it.wait() == "HEAD /u")
        it.respond(200)
        #expect(
            it.actions() == "fail protocol: the response to HEAD has no Upload-Offset; check the URL and the protocol")
    }

    @Test(arguments: ["", "x", "-1", "1.0", "+4", "9223372036854775808", "4, 4", "0x4"])
    func invalidOffsetFails(offset: String) throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, created)
        _ = it.actions()
        it.respond(204, "Upload-Offset: \(offset)")
        #expect(it.actions().hasPrefix("fail protocol: the "))
    }

    @Test func otherLengthOfTheServerFails() throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, created)
        _ = it.actions()
        it.fail()
        _ = it.wait()
        it.respond(200, "Upload-Offset: 4", "Upload-Length: 11")
        #expect(it.actions().hasPrefix("fail content_changed: the upload has the length 11, and the content has 10"))
    }
}

@Suite struct ResumableTests {
    @Test func wholeContentIsSentWithTheCreation() throws {
        let it = try UploadConversation(.resumable, 10, method: .put)
        #expect(it.actions() == "PUT - 0..<10")
        #expect(it.field("Upload-Complete") == "?1" && it.field("Upload-Length") == "10")
        #expect(it.field("Upload-Draft-Interop-Version") == "8")
        it.respond(201, "Upload-Complete: ?1")
        #expect(it.actions() == "finish")
        let other = try UploadConversation(.resumable, 10, method: .get)
        #expect(other.actions() == "POST - 0..<10")
    }

    /// A server that does not support the draft processes an ordinary request.
    @Test func responseWithoutFieldsIsThatOfTheResource() throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.respond(200)
        #expect(it.actions() == "finish")
    }

    @Test func chunksNeedALocation() throws {
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
        _ = it.actions()
        it.respond(200)
        #expect(
            it.actions()
                == "fail protocol: the server does not support resumable uploads: its response has no Location; upload "
                + "without chunk_size")
    }

    @Test func contentIsSentInChunks() throws {
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
        #expect(it.actions() == "POST - 0..<4")
        #expect(it.field("Upload-Complete") == "?0")
        it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 4")
        #expect(it.actions() == "PATCH /u 4..<8")
        #expect(it.field("Upload-Offset") == "4" && it.field("Upload-Complete") == "?0")
        it.respond(204, "Upload-Complete: ?0", "Upload-Offset: 8")
        #expect(it.actions() == "PATCH /u 8..<10")
        #expect(it.field("Upload-Complete") == "?1")
        it.respond(200)
        #expect(it.actions() == "finish" && it.schedule.isResponseFinal)
    }

    @Test func creationWithoutOffsetRequestsIt() throws {
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
        _ = it.actions()
        it.respond(201, created, "Upload-Complete: ?0")
        #expect(it.actions() == "HEAD /u")
        it.respond(204, "Upload-Offset: 4", "Upload-Complete: ?0")
        #expect(it.actions() == "PATCH /u 4..<8")
    }

    @Test func interimLocationAllowsToContinue() throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.interim(103, "Location: /other")
        it.interim(104, created, "Upload-Limit: max-append-size=3")
        it.interim(104, "Location: /ignored", "Upload-Offset: 2")
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.respond(204, "Upload-Offset: 5", "Upload-Complete: ?0")
        #expect(it.actions() == "PATCH /u 5..<8")
    }

    @Test func creationWithoutInterimLocationIsNotRepeated() throws {
        let post = try UploadConversation(.resumable, 10)
        _ = post.actions()
        post.interim(104, "Upload-Offset: 3")
        post.fail()
        #expect(post.actions() == "fail connection_lost: the connection was lost")
        let put = try UploadConversation(.resumable, 10, method: .put)
        _ = put.actions()
        put.fail()
        #expect(put.wait() == "PUT - 0..<10")
    }

    /// The offset of an interim response is not the end of the bytes that the server keeps.
    @Test func interimOffsetIsNotCounted() throws {
        let it = try UploadConversation(.resumable, 10) { $0.attempts = 2 }
        _ = it.actions()
        it.interim(104, created)
        it.interim(104, "Upload-Offset: 9")
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.respond(204, "Upload-Offset: 2")
        #expect(it.actions() == "PATCH /u 2..<10" && it.schedule.facts.offset == 2)
    }

    @Test(arguments: ["Location: http://", "Location:"])
    func invalidInterimResponseFails(field: String) throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.interim(104, field)
        #expect(it.actions().hasPrefix("cancel, fail protocol: "))
    }

    /// max-age counts from the response that has it.
    @Test func limitHasTheExpiry() throws {
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
        _ = it.actions()
        it.interim(104, created, "Upload-Limit: max-age=60", at: 1000)
        #expect(it.schedule.facts.expires == 1060)
        it.respond(201, created, "Upload-Offset: 4", "Upload-Complete: ?0", at: 1010)
        #expect(it.schedule.facts.expires == 1060)
        _ = it.actions()
        it.respond(204, "Upload-Offset: 8", "Upload-Complete: ?0", "Upload-Limit: max-age=60", at: 1020)
        #expect(it.schedule.facts.expires == 1080)
    }

    @Test(arguments: [("0", nil), ("-1", nil), ("x", nil), ("9223372036854775807", 3_155_760_001)])
    func unusualAgesAreBounded(age: String, expected: Int64?) throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.interim(104, created, "Upload-Limit: max-age=\(age)", at: 1)
        #expect(it.schedule.facts.expires == expected)
    }

    @Test func interimResponsesOfOtherProtocolsAreIgnored() throws {
        for uploadProtocol in [UploadProtocol.put, .post] {
            let it = try UploadConversation(uploadProtocol, 10)
            _ = it.actions()
            it.interim(104, "Location: http://", "Upload-Offset: x")
            #expect(it.actions() == "" && it.schedule.facts.url == nil)
        }
    }

    @Test(arguments: [
        ("max-append-size=3", 3), ("a=1,max-append-size=3 , max-size=10", 3), ("max-append-size = 3", 3),
        ("max-append-size=0", 6), ("max-append-size=-1", 6), ("max-append-size", 6), ("max-append-size=x", 6),
        ("max-append-size=99999999999999999999", 6), ("=,,=", 6), ("", 6), ("max-append-size=3;a=b", 3),
    ])
    func uploadLimitIsRead(value: String, count: Int) throws {
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 6 }
        _ = it.actions()
        it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 2", "Upload-Limit: \(value)")
        #expect(it.actions() == "PATCH /u 2..<\(2 + count)")
    }

    @Test func smallerLimitIsUsedAfterARejection() throws {
        for status in [400, 413] {
            let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 6 }
            _ = it.actions()
            it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 2")
            #expect(it.actions() == "PATCH /u 2..<8")
            it.reject(status, "Upload-Limit: max-append-size=5")
            #expect(it.wait() == "HEAD /u")
            it.respond(204, "Upload-Offset: 2")
            #expect(it.actions() == "PATCH /u 2..<7")
            it.reject(status, "Upload-Limit: max-append-size=5")
            #expect(it.actions() == "fail client: status \(status)")
        }
    }

    @Test func statusesOfAppends() throws {
        for (status, action) in [
            (404, "POST - 0..<4"), (410, "POST - 0..<4"), (409, "HEAD /u"), (503, "HEAD /u"),
            (400, "fail client: status 400"), (416, "fail client: status 416"), (423, "fail client: status 423"),
        ] {
            let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
            _ = it.actions()
            it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 4")
            _ = it.actions()
            it.reject(status)
            #expect(it.wait() == action)
        }
    }

    @Test func completeUploadIsFoundByItsOffset() throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.interim(104, created)
        it.fail()
        _ = it.wait()
        it.respond(204, "Upload-Offset: 10", "Upload-Complete: ?1")
        #expect(it.actions() == "finish" && !it.schedule.isResponseFinal)
    }

    /// The server has all bytes, but has not processed the request yet.
    @Test func uploadWithAllBytesIsCompletedByAnEmptyAppend() throws {
        for size in [0, 10] {
            let it = try UploadConversation(.resumable, size)
            _ = it.actions()
            it.interim(104, created)
            it.fail()
            _ = it.wait()
            it.respond(204, "Upload-Offset: \(size)", "Upload-Complete: ?0")
            #expect(it.actions() == "PATCH /u \(size)..<\(size)")
            #expect(it.field("Upload-Complete") == "?1")
            it.respond(200, "Upload-Complete: ?1")
            #expect(it.actions() == "finish")
        }
    }

    @Test func lostPostIsNotRepeated() throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.interim(104, created)
        it.fail()
        _ = it.wait()
        it.reject(404)
        #expect(it.actions().hasPrefix("fail "))
    }

    @Test func streamIsSentInChunks() throws {
        let it = try UploadConversation(.resumable, nil) { $0.chunkSize = 4 }
        #expect(it.actions() == "read 0..<4")
        it.read(4)
        #expect(it.actions() == "POST - 0..<4")
        #expect(it.field("Upload-Complete") == "?0" && it.field("Upload-Length") == nil)
        it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 4")
        #expect(it.actions() == "read 4..<8")
        it.read(8, isAtEnd: true)
        #expect(it.actions() == "PATCH /u 4..<8")
        #expect(it.field("Upload-Complete") == "?1")
        let short = try UploadConversation(.resumable, nil) { $0.chunkSize = 4 }
        _ = short.actions()
        short.read(3, isAtEnd: true)
        #expect(short.actions() == "POST - 0..<3")
        #expect(short.field("Upload-Complete") == "?1")
        let empty = try UploadConversation(.resumable, nil)
        _ = empty.actions()
        empty.read(0, isAtEnd: true)
        #expect(empty.actions() == "POST - 0..<0")
        empty.respond(200)
        #expect(empty.actions() == "finish")
    }
}

@Suite struct OCITests {
    /// An upload whose creation was requested.
    private func started(
        _ size: Int?, _ change: (inout UploadSettings) throws -> Void = { _ in }
    ) throws -> UploadConversation {
        let it = try UploadConversation(.oci, size, change)
        if size != nil {
            #expect(it.actions() == "sha256 all")
            it.digest(.test(.sha256))
        }
        #expect(it.actions() == "POST -")
        return it
    }

    private let digest = Checksum.test(.sha256).description

    @Test func eachResponseHasTheNextURL() throws {
        let it = try started(10) { $0.chunkSize = 4 }
        it.respond(202, "Location: /u?s=0")
        #expect(it.actions() == "PATCH /u?s=0 0..<4")
        #expect(it.field("Content-Range") == "0-3")
        it.respond(202, "Location: /u?s=1", "Range: 0-3")
        #expect(it.actions() == "PATCH /u?s=1 4..<8")
        it.respond(202, "Location: /u?s=2", "Range: 0-7")
        #expect(it.actions() == "PATCH /u?s=2 8..<10")
        #expect(it.field("Content-Range") == "8-9")
        it.respond(202, "Location: /v", "Range: 0-9")
        #expect(it.actions() == "PUT /v?digest=\(digest)")
        it.respond(201, "Location: /blob")
        #expect(it.actions() == "finish")
    }

    @Test func digestIsAppendedToAQuery() throws {
        let it = try started(10)
        it.respond(202, created)
        _ = it.actions()
        it.respond(202, "Location: /u?s=1", "Range: 0-9")
        #expect(it.actions() == "PUT /u?s=1&digest=\(digest)")
    }

    @Test func responseWithoutLocationKeepsTheURL() throws {
        let it = try started(10)
        it.respond(202, created)
        _ = it.actions()
        it.respond(202)
        #expect(it.actions() == "PUT /u?digest=\(digest)")
    }

    @Test func emptyContentHasNoAppend() throws {
        let it = try started(0)
        it.respond(202, created)
        #expect(it.actions() == "PUT /u?digest=\(digest)")
        let stream = try started(nil)
        stream.respond(202, created)
        #expect(stream.actions() == "read 0..<\(8 << 20)")
        stream.read(0, isAtEnd: true)
        #expect(stream.actions() == "sha256 all")
        stream.digest(.test(.sha256))
        #expect(stream.actions() == "PUT /u?digest=\(digest)")
    }

    @Test func digestOfAStreamIsComputedAtItsEnd() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        it.respond(202, created)
        _ = it.actions()
        it.read(4, isAtEnd: true)
        #expect(it.actions() == "PATCH /u 0..<4")
        it.respond(202, "Range: 0-3")
        #expect(it.actions() == "sha256 all")
        it.digest(.test(.sha256))
        #expect(it.actions() == "PUT /u?digest=\(digest)")
    }

    /// The range 0-0 is that of an empty upload, or of one byte.
    @Test func rangeOfOneByteIsContinued() throws {
        let it = try started(2) { $0.chunkSize = 1 }
        it.respond(202, created)
        #expect(it.actions() == "PATCH /u 0..<1")
        #expect(it.field("Content-Range") == "0-0")
        it.respond(202, "Range: 0-0")
        #expect(it.actions() == "PATCH /u 1..<2")
        it.fail()
        #expect(it.wait() == "GET /u")
        it.respond(204, "Range: 0-0")
        #expect(it.actions() == "PATCH /u 0..<1")
    }

    /// The registry has the only byte, and reports it like an empty upload.
    @Test func contentOfOneByteIsCompletedAfterALostResponse() throws {
        let it = try started(1)
        it.respond(202, created)
        #expect(it.actions() == "PATCH /u 0..<1")
        it.fail()
        #expect(it.wait() == "GET /u")
        for _ in 0..<10 {
            it.respond(204, "Range: 0-0")
            guard it.actions().hasPrefix("PATCH ") else { break }
            it.reject(416, "Range: 0-0")
            guard it.wait() == "GET /u" else { break }
        }
        #expect(it.request?.step == .completion)
    }

    @Test func rangeOfAnOffsetRequestIsContinued() throws {
        for (fields, range) in [(["Range: 0-3"], "4..<10"), (["Range: bytes=0-3"], "4..<10"), ([], "0..<10")] {
            let it = try started(10)
            it.respond(202, created)
            _ = it.actions()
            it.reject(416)
            #expect(it.wait() == "GET /u")
            it.respond(204, fields.first ?? "X: y", "Location: /w")
            #expect(it.actions() == "PATCH /w \(range)")
        }
    }

    @Test(arguments: [
        "", "0", "1-3", "0-", "0-x", "-", "0--1", "0-3-4", "0-9223372036854775807", "0-99999999999999999999",
    ])
    func invalidRangeFails(range: String) throws {
        let it = try started(10)
        it.respond(202, created)
        _ = it.actions()
        it.respond(202, "Range: \(range)")
        #expect(it.actions().hasPrefix("fail protocol: the registry sent an invalid Range: "))
    }

    @Test func rangeBeyondTheSentBytesFails() throws {
        let it = try started(10) { $0.chunkSize = 4 }
        it.respond(202, created)
        _ = it.actions()
        it.respond(202, "Range: 0-4")
        #expect(it.actions().hasPrefix("fail protocol: the server reports 5 bytes of the upload, but only 4"))
    }

    @Test func creationWithoutLocationFails() throws {
        let it = try started(10)
        it.respond(202)
        #expect(
            it.actions()
                == "fail protocol: the creation of the upload failed: the response has no Location; check the URL and the protocol"
        )
    }

    @Test func laterLocationWithoutTLSIsRejectedAfterTLS() throws {
        let it = try started(10) { $0.chunkSize = 4 }
        it.respond(202, "Location: https://a.test/u")
        _ = it.actions()
        it.respond(202, "Location: http://a.test/u", "Range: 0-3")
        #expect(it.actions().hasPrefix("fail protocol: the upload cannot be continued: its Location is an http URL"))
    }

    @Test func failuresOfEachStep() throws {
        let creation = try started(10)
        creation.reject(503)
        #expect(creation.wait() == "POST -")
        creation.reject(401)
        #expect(creation.actions() == "fail unauthorized: status 401")
        let it = try started(10)
        it.respond(202, created)
        _ = it.actions()
        it.respond(202, "Range: 0-9")
        _ = it.actions()
        it.reject(500)
        var action = it.wait()
        if action == "GET /u" {
            it.respond(204, "Range: 0-9")
            action = it.actions()
        }
        #expect(action == "PUT /u?digest=\(digest)")
        it.reject(400)
        #expect(it.actions() == "fail client: status 400")
        for status in [404, 416] {
            let it = try started(10)
            it.respond(202, created)
            _ = it.actions()
            it.fail()
            _ = it.wait()
            it.reject(status)
            #expect(it.actions() == "POST -")
        }
    }

    /// The registry has removed the upload, because the blob is complete.
    @Test func completionWithALostResponseDoesNotStartOver() throws {
        let it = try started(10)
        it.respond(202, "Location: /v2/a/blobs/uploads/u")
        _ = it.actions()
        it.respond(202, "Range: 0-9")
        #expect(it.actions() == "PUT /v2/a/blobs/uploads/u?digest=\(digest)")
        it.fail()
        _ = it.wait()
        it.reject(404)
        #expect(it.actions() != "POST -")
    }

    @Test func expectedDigestIsThatOfTheStream() throws {
        let it = try started(nil) { $0.digest = .value(.test(.sha256)) }
        it.respond(202, created)
        _ = it.actions()
        it.read(4, isAtEnd: true)
        _ = it.actions()
        it.respond(202)
        #expect(it.actions() == "PUT /u?digest=\(digest)")
    }
}
