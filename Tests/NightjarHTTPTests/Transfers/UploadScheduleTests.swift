import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

private let created = "Location: /u"

/// The conversations that do not depend on the protocol; most of them use tus.
@Suite struct UploadScheduleTests {
    /// An upload of 10 bytes with tus whose first append is in progress.
    private func started(
        _ size: Int? = 10, _ change: (inout UploadSettings) throws -> Void = { _ in }
    ) throws -> UploadConversation {
        let it = try UploadConversation(.tus, size, change)
        _ = it.actions()
        it.respond(201, created)
        return it
    }

    // MARK: Failures

    @Test func temporaryFailureRequestsTheOffset() throws {
        let it = try started()
        #expect(it.actions() == "PATCH /u 0..<10")
        it.fail()
        #expect(it.actions() == "wait 1 0.0")
        it.schedule.waited(1)
        #expect(it.actions() == "HEAD /u")
        it.respond(200, "Upload-Offset: 4")
        #expect(it.actions() == "PATCH /u 4..<10")
        it.respond(204, "Upload-Offset: 10")
        #expect(it.actions() == "finish")
        #expect(it.schedule.isComplete && it.schedule.isResponseFinal && it.schedule.attempts == 4)
    }

    @Test func permanentFailureEndsEachStep() throws {
        for step in 0..<3 {
            let it = try UploadConversation(.tus, 10)
            _ = it.actions()
            if step > 0 { it.respond(201, created) }
            if step > 1 {
                _ = it.actions()
                it.fail()
                #expect(it.wait() == "HEAD /u")
            }
            _ = it.actions()
            it.reject(401)
            #expect(it.actions() == "fail unauthorized: status 401")
            it.respond(201, created)
            it.fail()
            it.schedule.resume()
            #expect(it.actions() == "")
        }
    }

    @Test func attemptsAreLimitedAndNewBytesResetThem() throws {
        let it = try started { $0.attempts = 3 }
        for _ in 0..<2 {
            _ = it.actions()
            it.fail()
            #expect(it.wait() == "HEAD /u")
            it.respond(200, "Upload-Offset: 0")
        }
        _ = it.actions()
        it.fail()
        #expect(it.actions() == "fail connection_lost: the connection was lost")
        let other = try started { $0.attempts = 3 }
        for offset in 1..<10 {
            for _ in 0..<2 {
                _ = other.actions()
                other.fail()
                #expect(other.wait() == "HEAD /u")
                other.respond(200, "Upload-Offset: \(offset - 1)")
            }
            #expect(other.actions() == "PATCH /u \(offset - 1)..<10")
            other.respond(204, "Upload-Offset: \(offset)")
        }
    }

    @Test func oneAttemptFailsAtTheFirstFailure() throws {
        let it = try started { $0.attempts = 1 }
        _ = it.actions()
        it.fail()
        #expect(it.actions() == "fail connection_lost: the connection was lost")
    }

    @Test func appendsWithoutNewBytesAreLimited() throws {
        let it = try started { $0.attempts = 3 }
        #expect(it.actions() == "PATCH /u 0..<10")
        for _ in 0..<2 {
            it.respond(204, "Upload-Offset: 0")
            #expect(it.wait() == "PATCH /u 0..<10")
        }
        it.respond(204, "Upload-Offset: 0")
        #expect(it.actions() == "fail protocol: the server has accepted no new bytes in 3 requests")
    }

    /// A server may lose bytes that it has reported.
    @Test func lowerOffsetIsContinuedAfterAWait() throws {
        let it = try started { $0.chunkSize = 4 }
        #expect(it.actions() == "PATCH /u 0..<4")
        it.respond(204, "Upload-Offset: 4")
        #expect(it.actions() == "PATCH /u 4..<8")
        it.respond(204, "Upload-Offset: 2")
        #expect(it.wait() == "PATCH /u 2..<6")
    }

    @Test func offsetBeyondTheSentBytesFails() throws {
        let it = try started { $0.chunkSize = 4 }
        _ = it.actions()
        it.respond(204, "Upload-Offset: 5")
        #expect(
            it.actions() == "fail protocol: the server reports 5 bytes of the upload, but only 4 were sent")
        let other = try started()
        _ = other.actions()
        other.fail()
        _ = other.wait()
        other.respond(200, "Upload-Offset: 11")
        #expect(other.actions().hasPrefix("fail protocol: the server reports 11 bytes"))
    }

    @Test func lostUploadStartsOver() throws {
        for status in [404, 410] {
            let it = try started { $0.chunkSize = 4 }
            _ = it.actions()
            it.respond(204, "Upload-Offset: 4")
            _ = it.actions()
            it.reject(status)
            #expect(it.actions() == "POST -")
            it.respond(201, "Location: /v")
            #expect(it.actions() == "PATCH /v 0..<4")
        }
    }

    @Test func startingOverIsLimited() throws {
        let it = try started { $0.attempts = 2 }
        for _ in 0..<2 {
            #expect(it.actions() == "PATCH /u 0..<10")
            it.reject(404)
            #expect(it.actions() == "POST -")
            it.respond(201, created)
        }
        _ = it.actions()
        it.reject(404)
        #expect(
            it.actions()
                == "fail content_changed: the upload failed: it has started over 2 times; the server removes unfinished uploads"
        )
    }

    @Test func lostUploadFailsByOption() throws {
        let it = try started { $0.restarts = false }
        _ = it.actions()
        it.reject(410)
        #expect(
            it.actions()
                == "fail content_changed: the server no longer has the upload; start a new upload, or allow restart")
    }

    // MARK: Waits

    @Test func retryAfterIsTheShortestWait() throws {
        let it = try started()
        _ = it.actions()
        it.reject(503, retryAfter: .seconds(7))
        #expect(it.actions() == "wait 1 7.0")
    }

    @Test func longRetryAfterEndsTheUpload() throws {
        let it = try started()
        _ = it.actions()
        it.reject(503, retryAfter: .seconds(61))
        #expect(it.actions() == "fail server: status 503")
    }

    @Test func longRetryAfterOfALockedUploadEndsTheUpload() throws {
        let it = try started()
        _ = it.actions()
        it.reject(423, retryAfter: .seconds(1_000_000))
        #expect(it.actions() == "fail client: status 423")
    }

    @Test func staleWaitsAreIgnored() throws {
        let it = try started()
        _ = it.actions()
        it.fail()
        #expect(it.actions() == "wait 1 0.0")
        it.schedule.waited(0)
        it.schedule.waited(2)
        #expect(it.actions() == "")
        it.schedule.pause()
        it.schedule.resume()
        #expect(it.actions() == "HEAD /u")
        it.schedule.waited(1)
        #expect(it.actions() == "")
        it.fail()
        #expect(it.actions() == "wait 2 0.0")
        it.schedule.waited(1)
        #expect(it.actions() == "")
        it.schedule.waited(2)
        #expect(it.actions() == "HEAD /u")
    }

    // MARK: Pause

    @Test func pausedAppendContinuesAtTheOffsetOfTheServer() throws {
        let it = try started()
        _ = it.actions()
        it.schedule.pause()
        #expect(it.actions() == "cancel" && it.schedule.isPaused)
        it.fail()
        it.respond(204, "Upload-Offset: 10")
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == "HEAD /u")
        it.respond(200, "Upload-Offset: 3")
        #expect(it.actions() == "PATCH /u 3..<10")
    }

    @Test func pauseBeforeTheStartSendsNothing() throws {
        var settings = UploadSettings()
        settings.uploadProtocol = .tus
        var schedule = try UploadSchedule(
            settings, method: .post, .file(UploadConversation.identity(10)), contentType: "a/b")
        schedule.pause()
        schedule.start()
        #expect(schedule.next() == nil)
        schedule.resume()
        guard case .request? = schedule.next() else {
            Issue.record("no request")
            return
        }
    }

    @Test func pauseDuringAWaitEndsIt() throws {
        let it = try started()
        _ = it.actions()
        it.fail()
        _ = it.actions()
        it.schedule.pause()
        it.schedule.waited(1)
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == "HEAD /u")
    }

    @Test func pauseWhileADigestIsComputedDelaysTheRequest() throws {
        let it = try UploadConversation(.put, 10, method: .put) { $0.digest = .algorithm(.sha256) }
        #expect(it.actions() == "sha256 all" && it.schedule.isDigesting)
        it.schedule.pause()
        it.schedule.resume()
        #expect(it.actions() == "")
        it.schedule.pause()
        it.digest(.test(.sha256))
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == "PUT - 0..<10")
    }

    @Test func pauseWhileAStreamIsReadDelaysTheRequest() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        #expect(it.actions() == "read 0..<4")
        it.schedule.pause()
        it.read(4)
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == "PATCH /u 0..<4")
    }

    @Test func pauseDuringARepeatableCreationCancelsIt() throws {
        for uploadProtocol in [UploadProtocol.put, .tus, .s3] {
            let it = try UploadConversation(uploadProtocol, 10)
            let first = it.actions()
            it.schedule.pause()
            #expect(it.actions() == "cancel")
            it.schedule.resume()
            #expect(it.actions() == first)
        }
    }

    @Test func pauseDuringACreationThatCannotBeRepeatedDoesNotCancelIt() throws {
        let post = try UploadConversation(.post, 10)
        #expect(post.actions() == "POST - 0..<10")
        post.schedule.pause()
        #expect(post.actions() == "")
        post.respond()
        #expect(post.actions() == "finish")
        let it = try UploadConversation(.resumable, 10) { $0.chunkSize = 4 }
        #expect(it.actions() == "POST - 0..<4")
        it.schedule.pause()
        it.respond(201, created, "Upload-Complete: ?0", "Upload-Offset: 4")
        #expect(it.actions() == "")
        it.schedule.resume()
        #expect(it.actions() == "PATCH /u 4..<8")
    }

    @Test func pauseResetsTheFailures() throws {
        let it = try started { $0.attempts = 2 }
        for _ in 0..<5 {
            _ = it.actions()
            it.fail()
            #expect(it.actions().hasPrefix("wait "))
            it.schedule.pause()
            it.schedule.resume()
        }
    }

    @Test func closedUploadIgnoresEvents() throws {
        let it = try started()
        _ = it.actions()
        it.schedule.close()
        #expect(it.actions() == "cancel")
        it.schedule.pause()
        it.schedule.resume()
        it.respond(204, "Upload-Offset: 10")
        it.interim(104, "Location: /v")
        it.read(3)
        it.digest(.test(.md5))
        it.schedule.waited(0)
        it.schedule.fail(.lostConnection)
        #expect(it.actions() == "")
    }

    // MARK: Streams

    @Test func streamIsSentInChunks() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        #expect(it.actions() == "read 0..<4")
        it.read(4)
        #expect(it.actions() == "PATCH /u 0..<4")
        #expect(it.field("Upload-Length") == nil)
        it.respond(204, "Upload-Offset: 4")
        #expect(it.actions() == "read 4..<8")
        it.read(6, isAtEnd: true)
        #expect(it.actions() == "PATCH /u 4..<6")
        #expect(it.field("Upload-Length") == "6")
        it.respond(204, "Upload-Offset: 6")
        #expect(it.actions() == "finish")
    }

    @Test func streamOfWholeChunksEndsWithoutAnEmptyRequest() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        _ = it.actions()
        it.read(4)
        _ = it.actions()
        it.respond(204, "Upload-Offset: 4")
        _ = it.actions()
        it.read(8, isAtEnd: true)
        #expect(it.actions() == "PATCH /u 4..<8")
        #expect(it.field("Upload-Length") == "8")
        it.respond(204, "Upload-Offset: 8")
        #expect(it.actions() == "finish")
    }

    @Test func emptyStreamSendsItsLength() throws {
        let it = try started(nil)
        #expect(it.actions() == "read 0..<\(8 << 20)")
        it.read(0, isAtEnd: true)
        #expect(it.actions() == "PATCH /u 0..<0")
        #expect(it.field("Upload-Length") == "0")
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.respond(200, "Upload-Offset: 0")
        #expect(it.actions() == "PATCH /u 0..<0")
        it.respond(204, "Upload-Offset: 0")
        #expect(it.actions() == "finish")
    }

    @Test func partOfAChunkOfAStreamIsReadFurther() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        _ = it.actions()
        it.read(4)
        _ = it.actions()
        it.respond(204, "Upload-Offset: 3")
        #expect(it.actions() == "read 3..<7")
        it.read(7)
        #expect(it.actions() == "PATCH /u 3..<7")
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.respond(200, "Upload-Offset: 2")
        #expect(
            it.actions()
                == "fail content_changed: the server no longer has the upload, and a stream cannot be read again")
    }

    @Test func lostStreamStartsOverWhileItsStartIsBuffered() throws {
        let it = try started(nil) { $0.chunkSize = 4 }
        _ = it.actions()
        it.read(4)
        _ = it.actions()
        it.reject(404)
        #expect(it.actions() == "POST -")
        it.respond(201, "Location: /v")
        #expect(it.actions() == "PATCH /v 0..<4")
        it.respond(204, "Upload-Offset: 4")
        _ = it.actions()
        it.read(8)
        _ = it.actions()
        it.reject(404)
        #expect(it.actions().hasPrefix("fail content_changed: the server no longer has the upload, and a stream"))
    }

    @Test func streamOfOneRequestIsSentOnce() throws {
        for uploadProtocol in [UploadProtocol.put, .post] {
            let it = try UploadConversation(uploadProtocol, nil, isIdempotent: true)
            #expect(it.actions().hasSuffix(" - all"))
            it.schedule.pause()
            #expect(it.actions() == "")
            it.fail()
            #expect(it.actions() == "fail connection_lost: the connection was lost")
        }
    }

    @Test func digestOfAStreamIsThatOfEachRange() throws {
        let it = try started(nil) { ($0.chunkSize, $0.digest) = (4, .algorithm(.sha1)) }
        _ = it.actions()
        it.read(4)
        #expect(it.actions() == "sha1 0..<4")
        it.digest(.test(.sha1))
        #expect(it.actions() == "PATCH /u 0..<4")
        #expect(it.field("Upload-Checksum") == "sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        it.respond(204, "Upload-Offset: 4")
        #expect(it.actions() == "read 4..<8")
        it.read(5, isAtEnd: true)
        #expect(it.actions() == "sha1 4..<5")
    }

    // MARK: Digests

    @Test func digestOfARangeIsComputedOnce() throws {
        let it = try started { ($0.chunkSize, $0.digest) = (4, .algorithm(.md5)) }
        #expect(it.actions() == "md5 0..<4")
        it.digest(.test(.md5))
        #expect(it.actions() == "PATCH /u 0..<4")
        it.reject(460)
        #expect(it.wait() == "HEAD /u")
        it.respond(200, "Upload-Offset: 0")
        #expect(it.actions() == "PATCH /u 0..<4")
        it.respond(204, "Upload-Offset: 2")
        #expect(it.actions() == "md5 2..<6")
    }

    @Test(arguments: UploadProtocol.allCases) func wrongDigestFailsBeforeTheFirstRequest(
        uploadProtocol: UploadProtocol
    ) throws {
        let it = try UploadConversation(uploadProtocol, 10) { $0.digest = .value(.test(.sha256, 1)) }
        #expect(it.actions() == "sha256 all")
        it.digest(.test(.sha256, 2))
        #expect(it.actions().hasPrefix("fail checksum_mismatch: checksum verification of the file failed: expected"))
    }

    @Test func expectedDigestIsFollowedByThoseOfRanges() throws {
        let it = try UploadConversation(.tus, 10) { $0.digest = .value(.test(.sha256)) }
        #expect(it.actions() == "sha256 all")
        it.digest(.test(.sha256))
        #expect(it.actions() == "POST -")
        it.respond(201, created)
        #expect(it.actions() == "sha256 0..<10")
        it.digest(.test(.sha256, 1))
        #expect(it.actions() == "PATCH /u 0..<10")
    }

    @Test(arguments: [UploadProtocol.put, .post, .resumable]) func digestOfTheWholeIsSent(
        uploadProtocol: UploadProtocol
    ) throws {
        let it = try UploadConversation(uploadProtocol, 10) { $0.digest = .algorithm(.sha256) }
        _ = it.actions()
        it.digest(.test(.sha256))
        _ = it.actions()
        #expect(it.field("Repr-Digest") == "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")
    }

    // MARK: Continued uploads

    /// The state text of an upload of 10 bytes to /u.
    private func state(_ uploadProtocol: UploadProtocol = .tus, _ change: (inout UploadRecord) -> Void = { _ in })
        -> String
    {
        var record = UploadRecord(uploadProtocol, url: "http://a.test/u")
        record.identity = UploadConversation.identity(10)
        change(&record)
        return record.text
    }

    @Test func recordContinuesAtTheOffsetOfTheServer() throws {
        let first = try started()
        _ = first.actions()
        let text = try #require(first.schedule.record?.text)
        #expect(text == state { $0.mayBeProcessed = true })
        let it = try UploadConversation(.tus, 10) { $0.resumeState = text }
        #expect(it.actions() == "HEAD /u")
        it.respond(200, "Upload-Offset: 4", "Upload-Length: 10")
        #expect(it.schedule.resumed == 4)
        #expect(it.actions() == "PATCH /u 4..<10")
        it.respond(204, "Upload-Offset: 10")
        #expect(it.actions() == "finish" && it.schedule.resumed == 4 && it.schedule.record == nil)
    }

    @Test func completeContinuedUploadHasNoFinalResponse() throws {
        let it = try UploadConversation(.tus, 10) { $0.resumeState = state() }
        _ = it.actions()
        it.respond(200, "Upload-Offset: 10")
        #expect(it.actions() == "finish" && !it.schedule.isResponseFinal)
    }

    /// A server that responds before it has received the body does not have the content.
    @Test func earlySuccessIsNotTheEnd() throws {
        let put = try UploadConversation(.put, 10)
        _ = put.actions()
        put.respond(200, toWholeBody: false)
        #expect(put.actions().hasPrefix("fail protocol: "))
        let tus = try UploadConversation(.tus, 10)
        _ = tus.actions()
        tus.respond(201, "Location: /u")
        _ = tus.actions()
        tus.respond(204, "Upload-Offset: 10", toWholeBody: false)
        #expect(tus.wait() == "HEAD /u")
    }

    @Test func stateOfAnHTTPURLIsRejectedForHTTPS() throws {
        var settings = UploadSettings()
        settings.uploadProtocol = .tus
        var record = UploadRecord(.tus, url: "http://example.org/u")
        let identity = FileIdentity(size: 10, modified: 0, inode: 1, device: 1)
        record.identity = identity
        settings.resumeState = record.text
        let error = #expect(throws: NightjarError.self) {
            try UploadSchedule(
                settings, method: .post, url: try RequestURL("https://example.org/files"), .file(identity),
                contentType: "text/plain")
        }
        #expect(error?.kind == .invalidArgument)
    }

    /// The response to the last request was lost, and the server no longer has the upload.
    @Test func processedContentIsNotSentAgain() throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, "Location: /u")
        _ = it.actions()
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.reject(404)
        #expect(it.actions().hasPrefix("fail content_changed: the upload may be complete"))
    }

    /// The creation cannot be repeated. It is cancelled when the upload can be continued.
    @Test func pausedCreationIsCancelledWhenItsURLArrives() throws {
        let it = try UploadConversation(.resumable, 10)
        _ = it.actions()
        it.schedule.pause()
        #expect(it.actions() == "")
        it.interim(104, "Location: /u")
        #expect(it.actions() == "cancel")
        it.schedule.resume()
        #expect(it.actions() == "HEAD /u")
    }

    /// A pause during the last request does not lead to a second upload of the same content.
    @Test func pausedLastRequestIsNotSentAgain() throws {
        let it = try UploadConversation(.tus, 10)
        _ = it.actions()
        it.respond(201, "Location: /u")
        _ = it.actions()
        it.schedule.pause()
        it.schedule.resume()
        #expect(it.actions().hasSuffix("HEAD /u"))
        it.reject(404)
        #expect(it.actions().hasPrefix("fail content_changed: the upload may be complete"))
    }

    /// The state while the last bytes are sent shows that the content may have been processed. Another process then does
    /// not send it again, unless a repetition has no effect.
    @Test func stateHasTheLastBytesThatWereSent() throws {
        let it = try UploadConversation(.tus, 10) { $0.chunkSize = 5 }
        _ = it.actions()
        it.respond(201, "Location: /u")
        _ = it.actions()
        #expect(it.schedule.record?.mayBeProcessed == false)
        it.respond(204, "Upload-Offset: 5")
        _ = it.actions()
        let record = try #require(it.schedule.record)
        #expect(record.mayBeProcessed)
        for isIdempotent in [false, true] {
            let later = try UploadConversation(.tus, 10, isIdempotent: isIdempotent) { $0.resumeState = record.text }
            #expect(later.actions() == "HEAD /u")
            later.reject(404)
            let actions = later.actions()
            #expect(isIdempotent ? actions == "POST -" : actions.hasPrefix("fail content_changed: the upload may be"))
        }
        let known = try UploadConversation(.tus, 10) { $0.resumeState = record.text }
        _ = known.actions()
        known.respond(200, "Upload-Offset: 5", "Upload-Length: 10")
        #expect(known.actions() == "PATCH /u 5..<10")
    }

    @Test func lostContinuedUploadStartsOver() throws {
        for status in [404, 410] {
            let it = try UploadConversation(.tus, 10) { $0.resumeState = state() }
            _ = it.actions()
            it.reject(status)
            #expect(it.actions() == "POST -" && it.schedule.resumed == 0)
        }
    }

    @Test func failedContinuationIsRepeated() throws {
        let it = try UploadConversation(.tus, 10) { $0.resumeState = state() }
        _ = it.actions()
        it.fail()
        #expect(it.wait() == "HEAD /u")
        it.reject(423)
        #expect(it.wait() == "HEAD /u")
    }

    @Test func recordOfAnotherFileIsRejected() throws {
        for change: (inout FileIdentity) -> Void in [
            { $0.size = 11 }, { $0.modified = 2 }, { $0.inode = 9 }, { $0.device = 9 },
        ] {
            var record = UploadRecord(.tus, url: "http://a.test/u")
            var identity = UploadConversation.identity(10)
            change(&identity)
            record.identity = identity
            let error = #expect(throws: NightjarError.self) {
                try UploadConversation(.tus, 10) { $0.resumeState = record.text }
            }
            #expect(error?.kind == .contentChanged)
        }
        let error = #expect(throws: NightjarError.self) {
            try UploadConversation(.tus, 10) { $0.resumeState = state { $0.identity = nil } }
        }
        #expect(error?.kind == .contentChanged)
    }

    @Test func recordWithAnotherDigestIsRejected() throws {
        let error = #expect(throws: NightjarError.self) {
            try UploadConversation(.tus, 10) {
                $0.resumeState = state { $0.digest = .test(.sha256, 1) }
                $0.digest = .value(.test(.sha256, 2))
            }
        }
        #expect(error?.kind == .contentChanged)
    }

    @Test func streamIsNotContinued() throws {
        let error = #expect(throws: NightjarError.self) {
            try UploadConversation(.tus, nil) { $0.resumeState = state() }
        }
        #expect(error?.kind == .invalidArgument)
    }

    @Test func recordWithAnInvalidURLIsRejected() throws {
        for url in ["", "/u", "ftp://a/b", "http://", "http://a b/"] {
            #expect(throws: NightjarError.self) {
                try UploadConversation(.tus, 10) { $0.resumeState = state { $0.url = url } }
            }
        }
    }

    /// The chunk size may differ from that of the first upload.
    @Test func partSizeOfTheRecordDecides() throws {
        let text = state(.s3) { ($0.id, $0.partSize) = ("i", 8) }
        let it = try UploadConversation(.s3, 10) { ($0.resumeState, $0.chunkSize) = (text, 3) }
        #expect(it.actions() == "GET /u?uploadId=i")
        it.respond(200, body: "<ListPartsResult></ListPartsResult>")
        #expect(it.actions() == "PUT /u?partNumber=1&uploadId=i 0..<8")
    }

    @Test(arguments: UploadProtocol.allCases) func terminationIsThatOfTheProtocol(uploadProtocol: UploadProtocol) throws
    {
        let it = try UploadConversation(uploadProtocol, 10) { if $0.uploadProtocol == .resumable { $0.chunkSize = 4 } }
        if it.schedule.isDigesting {
            _ = it.actions()
            it.digest(.test(.sha256))
        }
        _ = it.actions()
        #expect(it.schedule.termination == nil && it.schedule.record == nil)
        it.respond(
            201, created, "Upload-Offset: 4", "Upload-Complete: ?0", body: "<UploadId>i</UploadId>",
            from: "http://a.test/x?uploads=")
        let termination = it.schedule.termination
        switch uploadProtocol {
        case .put, .post: #expect(termination == nil)
        case .s3: #expect(termination?.method == .delete && termination?.query.map(\.value) == ["i"])
        case .tus, .resumable, .oci: #expect(termination?.method == .delete && termination?.url?.target == "/u")
        }
    }
}

/// Servers that respond at random.
@Suite struct RandomUploadTests {
    private static let offsets = ["0", "1", "4", "5", "9", "10", "11", "-1", "", "x", "9223372036854775807", "1e3"]
    private static let locations = [
        "/u", "u?a=b", "http://a.test/v", "https://b.test/w", "", "http://", "//c/d", "ftp:x",
    ]
    private static let ranges = [
        "0-0", "0-3", "0-4", "bytes=0-9", "0-99", "1-2", "0", "", "0--1", "0-9223372036854775807",
    ]
    private static let bodies = [
        "", "<UploadId>i</UploadId>", "<UploadId></UploadId>", "<Code>InternalError</Code>", "<Code>No</Code>",
        "<Part><PartNumber>1</PartNumber><ETag>t</ETag><Size>4</Size></Part>",
        "<IsTruncated>true</IsTruncated><Part><PartNumber>2</PartNumber><ETag>t</ETag><Size>4</Size></Part>",
        "<Part><PartNumber>9223372036854775807</PartNumber><ETag>&#x0;</ETag><Size>9223372036854775807</Size></Part>",
        "<Part><PartNumber>-1</PartNumber></Part>", "<Part>",
    ]
    private static let statuses = [400, 401, 403, 404, 409, 410, 413, 416, 423, 429, 460, 500, 501, 503]

    private static func fields(_ random: inout SeededRandom) -> [String] {
        var fields: [String] = []
        func maybe(_ name: String, _ values: [String]) {
            if Bool.random(using: &random) { fields.append(name + ": " + values.randomElement(using: &random)!) }
        }
        maybe("Upload-Offset", Array(offsets.prefix(random.next() % 4 == 0 ? offsets.count : 6)))
        maybe("Location", Array(locations.prefix(random.next() % 4 == 0 ? locations.count : 3)))
        maybe("Range", Array(ranges.prefix(random.next() % 4 == 0 ? ranges.count : 4)))
        maybe("ETag", ["\"t\"", "<&>\"", ""])
        maybe("Upload-Complete", ["?0", "?1", "?2", ""])
        maybe("Upload-Limit", ["max-append-size=3", "max-append-size=0", "max-append-size=-4", "=", "a, b=c"])
        maybe("Upload-Length", ["10", "10", "9", "x"])
        return fields
    }

    /// Responds to the request.
    ///
    /// - Returns: The fields of the response.
    private func respond(_ it: UploadConversation, _ random: inout SeededRandom) -> [String] {
        let fields = RandomUploadTests.fields(&random)
        let url = it.request?.url ?? UploadConversation.base
        switch random.next() % 8 {
        case 0: it.fail()
        case 1: it.fail(.status(RandomUploadTests.statuses.randomElement(using: &random)!, fields))
        case 2:
            it.schedule.interim(random.next() % 4 == 0 ? 103 : 104, uploadHeaders(fields), from: url)
        default:
            let response = UploadResponse(
                status: 200, uploadHeaders(fields),
                ByteBuffer(string: RandomUploadTests.bodies.randomElement(using: &random)!), url: url)
            it.schedule.responded(response, using: &random)
        }
        return fields
    }

    /// Whether the schedule may report completion after this request and the fields of its response.
    private func canComplete(_ request: UploadRequest, _ fields: [String], _ it: UploadConversation) -> Bool {
        switch request.step {
        case .creation: request.range != nil || it.schedule.facts.total == 0
        case .offset where isResumable(request): fields.contains("Upload-Complete: ?1")
        case .offset, .append: it.schedule.facts.total == it.schedule.facts.offset || isResumable(request)
        case .termination: false
        default: true
        }
    }

    private func isResumable(_ request: UploadRequest) -> Bool {
        request.headers.contains { $0.name == "Upload-Draft-Interop-Version" }
    }

    @Test func randomServersEndEveryConversation() throws {
        for seed in 0..<5_000 {
            var random = SeededRandom(seed: UInt64(seed))
            let uploadProtocol = UploadProtocol.allCases.randomElement(using: &random)!
            let size: Int? = [nil, 0, 1, 10, 10].randomElement(using: &random)!
            let isChunked = ![.put, .post].contains(uploadProtocol) && Bool.random(using: &random)
            let it = try UploadConversation(uploadProtocol, size, isIdempotent: Bool.random(using: &random)) {
                if isChunked { $0.chunkSize = [1, 4, 5, 10, 11].randomElement(using: &random)! }
                if Bool.random(using: &random) { $0.digest = .algorithm(.sha256) }
                $0.createsWithData = Bool.random(using: &random)
                $0.restarts = Bool.random(using: &random)
                $0.attempts = Int.random(in: 1...4, using: &random)
            }
            try converse(it, length: size ?? 10, seed, &random)
        }
    }

    private func converse(_ it: UploadConversation, length: Int, _ seed: Int, _ random: inout SeededRandom) throws {
        var hasEnded = false
        var fields: [String] = []
        for _ in 0..<5_000 where !hasEnded {
            guard let action = it.next() else {
                if it.schedule.isPaused { it.schedule.resume() } else { fields = respond(it, &random) }
                continue
            }
            switch action {
            case .request(let request):
                if let range = request.range, range.upperBound != .max { #expect(range.upperBound <= length) }
                if random.next() % 8 == 0 { it.schedule.pause() }
            case .read(_, let until):
                it.read(min(until, length), isAtEnd: until >= length)
            case .digest(_, let algorithm): it.digest(.test(algorithm))
            case .wait(let number, let time):
                #expect(time <= .seconds(60))
                it.schedule.waited(number)
            case .cancel: break
            case .finish:
                hasEnded = true
                let request = try #require(it.request)
                #expect(it.schedule.isComplete && canComplete(request, fields, it), "seed \(seed): \(request)")
            case .fail: hasEnded = true
            }
        }
        #expect(hasEnded, "seed \(seed) does not end")
        #expect(it.next() == nil, "seed \(seed) continues after its end")
    }
}
