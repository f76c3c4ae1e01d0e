import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct S3UploadTests {
    /// An upload that was created with the identifier "i". Sizes are in MiB.
    private func started(
        _ size: Int?, _ change: (inout UploadSettings) throws -> Void = { $0.chunkSize = 4 << 20 }
    ) throws -> UploadConversation {
        let it = try UploadConversation(.s3, size.map { $0 << 20 }, change)
        it.unit = 1 << 20
        #expect(it.actions() == "POST -?uploads=")
        it.respond(body: "<R><UploadId>i</UploadId></R>", from: "http://a.test/o?uploads=")
        return it
    }

    private func part(_ number: Int, _ tag: String, _ size: Int) -> String {
        "<Part><PartNumber>\(number)</PartNumber><ETag>&quot;\(tag)&quot;</ETag><Size>\(size << 20)</Size></Part>"
    }

    private func list(_ tags: String...) -> String {
        let parts = tags.enumerated().map { "<Part><PartNumber>\($0 + 1)</PartNumber><ETag>\($1)</ETag></Part>" }
        return "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
    }

    /// Sends the parts of an upload, and returns before the completion.
    private func completing(_ size: Int = 10) throws -> UploadConversation {
        let it = try started(size)
        for number in 1...3 {
            _ = it.actions()
            it.respond(200, "ETag: \"t\(number)\"")
        }
        return it
    }

    @Test func contentIsSentInParts() throws {
        let it = try started(10) {
            ($0.chunkSize, $0.metadata) = (4 << 20, [(name: "a", value: "b")])
        }
        #expect(it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<4")
        it.respond(200, #"ETag: "a<&>""#)
        #expect(it.actions() == "PUT /o?partNumber=2&uploadId=i 4..<8")
        it.respond(200, "ETag: b")
        #expect(it.actions() == "PUT /o?partNumber=3&uploadId=i 8..<10")
        it.respond(200, "ETag: c")
        #expect(it.actions() == "POST /o?uploadId=i " + list("&quot;a&lt;&amp;&gt;&quot;", "b", "c"))
        #expect(it.field("Content-Type") == "application/xml")
        it.respond(body: "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
        #expect(it.actions() == "finish")
    }

    @Test func creationDescribesTheObject() throws {
        let it = try UploadConversation(.s3, 10) { $0.metadata = [(name: "a", value: "b")] }
        _ = it.actions()
        #expect(it.field("x-amz-meta-a") == "b" && it.field("Content-Type") == "text/plain")
        it.respond(body: "<UploadId>a&amp;b</UploadId>", from: "http://a.test/o?v=1&uploads")
        #expect(it.actions() == "PUT /o?v=1?partNumber=1&uploadId=a&b 0..<10")
    }

    @Test(arguments: ["", "<UploadId></UploadId>", "<UploadId>i", "<Error><Code>AccessDenied</Code></Error>"])
    func creationWithoutIdentifierFails(body: String) throws {
        let it = try UploadConversation(.s3, 10)
        _ = it.actions()
        it.respond(body: body)
        #expect(
            it.actions()
                == "fail protocol: the creation of the upload failed: the response has no UploadId; check the URL and the protocol"
        )
    }

    @Test func partWithoutTagFails() throws {
        let it = try started(10)
        _ = it.actions()
        it.respond(200)
        #expect(it.actions() == "fail protocol: the response to a part has no ETag")
    }

    @Test func emptyContentIsOnePart() throws {
        let it = try started(0)
        #expect(it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<0")
        it.respond(200, "ETag: a")
        #expect(it.actions() == "POST /o?uploadId=i " + list("a"))
        let stream = try started(nil)
        #expect(stream.actions() == "read 0..<4")
        stream.read(0, isAtEnd: true)
        #expect(stream.actions() == "PUT /o?partNumber=1&uploadId=i 0..<0")
    }

    /// The list of parts does not count the bytes of an empty part.
    @Test(arguments: [true, false]) func emptyPartIsCompletedAgain(isPaused: Bool) throws {
        let it = try started(0)
        _ = it.actions()
        it.respond(200, #"ETag: "a""#)
        _ = it.actions()
        if isPaused {
            it.schedule.pause()
            _ = it.actions()
            it.schedule.resume()
        } else {
            it.reject(503)
        }
        if it.wait() == "GET /o?uploadId=i" {
            it.respond(body: part(1, "a", 0))
            if it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<0" {
                it.respond(200, #"ETag: "a""#)
                _ = it.actions()
            }
        }
        #expect(it.request?.body == .text(list("&quot;a&quot;")))
    }

    @Test func streamIsSentInParts() throws {
        let it = try started(nil)
        _ = it.actions()
        it.read(4 << 20)
        #expect(it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<4")
        it.respond(200, "ETag: a")
        #expect(it.actions() == "read 4..<8")
        it.read(8 << 20, isAtEnd: true)
        #expect(it.actions() == "PUT /o?partNumber=2&uploadId=i 4..<8")
        it.respond(200, "ETag: b")
        #expect(it.actions() == "POST /o?uploadId=i " + list("a", "b"))
    }

    @Test func digestOfAPartIsMD5() throws {
        let it = try started(10) { ($0.chunkSize, $0.digest) = (4 << 20, .algorithm(.sha256)) }
        #expect(it.actions() == "md5 0..<4")
        it.digest(.test(.md5))
        #expect(it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<4")
        #expect(it.field("Content-MD5") == "AAAAAAAAAAAAAAAAAAAAAA==")
    }

    // MARK: Sizes

    @Test func largeContentHasAtMostTenThousandParts() {
        for total in [0, 1, 8 << 20, 80_000 << 20, 80_001 << 20, 5 << 40, 1 << 50, 1 << 62] {
            let size = S3Rules.partSize(UploadSettings(), total: total)
            #expect(size >= 8 << 20 && size % (1 << 20) == 0)
            #expect((total - 1) / size < 10_000)
        }
        var settings = UploadSettings()
        settings.chunkSize = 5 << 20
        #expect(S3Rules.partSize(settings, total: 50_000 << 20) == 5 << 20)
        #expect(S3Rules.partSize(settings, total: 50_001 << 20) == 6 << 20)
        #expect(S3Rules.partSize(settings, total: nil) == 5 << 20)
    }

    /// A chunk size that is too small for the content is increased.
    @Test func eachPartOfALargeContentHasItsOwnNumber() throws {
        let it = try started(100_000) { $0.chunkSize = 5 << 20 }
        let size = 10
        for number in 1...3 {
            let range = (number - 1) * size..<(number * size)
            #expect(it.actions() == "PUT /o?partNumber=\(number)&uploadId=i \(range)")
            it.respond(200, "ETag: t")
        }
    }

    // MARK: The list of parts

    /// Makes the client request the list of parts.
    private func listing(_ size: Int = 10) throws -> UploadConversation {
        let it = try started(size)
        _ = it.actions()
        it.fail()
        #expect(it.wait() == "GET /o?uploadId=i")
        return it
    }

    @Test func listedPartsAreNotSentAgain() throws {
        let it = try listing()
        it.respond(body: part(1, "a", 4) + part(2, "b", 4))
        #expect(it.actions() == "PUT /o?partNumber=3&uploadId=i 8..<10")
        it.respond(200, "ETag: c")
        #expect(it.actions() == "POST /o?uploadId=i " + list("&quot;a&quot;", "&quot;b&quot;", "c"))
    }

    @Test func pagesOfTheListAreJoined() throws {
        let it = try listing()
        it.respond(body: "<IsTruncated>true</IsTruncated>" + part(1, "a", 4))
        #expect(it.actions() == "GET /o?part-number-marker=1&uploadId=i")
        it.respond(body: "<IsTruncated>true</IsTruncated>" + part(2, "b", 4))
        #expect(it.actions() == "GET /o?part-number-marker=2&uploadId=i")
        it.respond(body: "<IsTruncated>false</IsTruncated>" + part(3, "c", 2))
        #expect(it.actions().hasPrefix("POST /o?uploadId=i <CompleteMultipartUpload><Part><PartNumber>1"))
    }

    @Test func listContinuesAtItsPageAfterAFailure() throws {
        let it = try listing()
        it.respond(body: "<IsTruncated>true</IsTruncated>" + part(1, "a", 4))
        _ = it.actions()
        it.fail()
        #expect(it.wait() == "GET /o?part-number-marker=1&uploadId=i")
        it.respond(body: part(2, "b", 4))
        #expect(it.actions() == "PUT /o?partNumber=3&uploadId=i 8..<10")
    }

    /// A page without parts would be requested forever.
    @Test func emptyPageIsTheLast() throws {
        let it = try listing()
        it.respond(body: "<IsTruncated>true</IsTruncated>")
        #expect(it.actions() == "PUT /o?partNumber=1&uploadId=i 0..<4")
    }

    @Test func repeatedPageFails() throws {
        let it = try listing()
        let page = "<IsTruncated>true</IsTruncated>" + part(1, "a", 4)
        it.respond(body: page)
        _ = it.actions()
        it.respond(body: page)
        #expect(it.actions() == "fail protocol: the server's list of parts is invalid")
    }

    @Test func partsAfterAGapOrOfAnotherSizeAreSentAgain() throws {
        for (body, action) in [
            (part(2, "b", 4), "PUT /o?partNumber=1&uploadId=i 0..<4"),
            (part(1, "a", 4) + part(3, "c", 2), "PUT /o?partNumber=2&uploadId=i 4..<8"),
            (part(1, "a", 3) + part(2, "b", 4), "PUT /o?partNumber=1&uploadId=i 0..<4"),
            (part(1, "a", 4) + part(2, "b", 5), "PUT /o?partNumber=2&uploadId=i 4..<8"),
            (part(1, "a", 0), "PUT /o?partNumber=1&uploadId=i 0..<4"), ("", "PUT /o?partNumber=1&uploadId=i 0..<4"),
            ("garbage", "PUT /o?partNumber=1&uploadId=i 0..<4"),
        ] {
            let it = try listing()
            it.respond(body: body)
            #expect(it.actions() == action)
        }
    }

    @Test func sizeOfTheLastPartIsChecked() throws {
        for size in [1, 3, 4] {
            let it = try listing()
            it.respond(body: part(1, "a", 4) + part(2, "b", 4) + part(3, "c", size))
            #expect(it.actions() == "PUT /o?partNumber=3&uploadId=i 8..<10")
        }
    }

    @Test func partsBeyondTheContentAreIgnored() throws {
        let it = try listing(8)
        it.respond(body: part(1, "a", 4) + part(2, "b", 4) + part(3, "c", 4))
        #expect(it.actions() == "POST /o?uploadId=i " + list("&quot;a&quot;", "&quot;b&quot;"))
    }

    @Test(arguments: [
        "<Part></Part>", "<Part><PartNumber>x</PartNumber><ETag>t</ETag><Size>4</Size></Part>",
        "<Part><PartNumber>0</PartNumber><ETag>t</ETag><Size>4</Size></Part>",
        "<Part><PartNumber>1</PartNumber><Size>4</Size></Part>",
        "<Part><PartNumber>1</PartNumber><ETag>t</ETag><Size>-4</Size></Part>",
        "<Part><PartNumber>1</PartNumber><ETag>t</ETag><Size>99999999999999999999</Size></Part>",
        "<Part><PartNumber>1</PartNumber><ETag>t</ETag></Part>",
    ])
    func invalidListFails(body: String) throws {
        let it = try listing()
        it.respond(body: body)
        #expect(it.actions() == "fail protocol: the server's list of parts is invalid")
    }

    // MARK: Failures

    @Test func removedUploadStartsOver() throws {
        let it = try started(10)
        _ = it.actions()
        it.reject(404)
        #expect(it.actions() == "POST -?uploads=")
        let listed = try listing()
        listed.reject(404)
        #expect(listed.actions() == "POST -?uploads=")
        listed.respond(body: "<UploadId>j</UploadId>", from: "http://a.test/o?uploads")
        #expect(listed.actions() == "PUT /o?partNumber=1&uploadId=j 0..<4")
    }

    @Test func permanentFailureEndsEachStep() throws {
        for status in [400, 403, 409, 410, 416, 423] {
            let creation = try UploadConversation(.s3, 10)
            let (append, offset, completion) = (try started(10), try listing(), try completing())
            for it in [creation, append, offset, completion] {
                _ = it.actions()
                it.reject(status)
                #expect(it.actions().hasPrefix("fail "))
            }
        }
    }

    @Test(arguments: ["InternalError", "SlowDown", "ServiceUnavailable"])
    func temporaryErrorOfACompletionIsRepeated(code: String) throws {
        let it = try completing()
        _ = it.actions()
        it.respond(body: "<?xml version=\"1.0\"?>\n  <Error><Code>\(code)</Code><Message>m</Message></Error>")
        var action = it.wait()
        if action == "GET /o?uploadId=i" {
            it.respond(body: part(1, "t1", 4) + part(2, "t2", 4) + part(3, "t3", 2))
            action = it.actions()
        }
        #expect(action == "POST /o?uploadId=i " + list("&quot;t1&quot;", "&quot;t2&quot;", "&quot;t3&quot;"))
    }

    @Test func permanentErrorOfACompletionFails() throws {
        let it = try completing()
        _ = it.actions()
        it.respond(body: "<Error><Code>InvalidPart</Code><Message>a &lt; b</Message></Error>")
        #expect(
            it.actions() == #"fail protocol: the server could not complete the upload: "InvalidPart" "a < b""#)
    }

    @Test(arguments: ["<Error></Error>", "<Error><Message>m</Message></Error>", "<Error><Code>x</Error>"])
    func errorWithoutCodeIsNotCompletion(body: String) throws {
        let it = try completing()
        _ = it.actions()
        it.respond(body: body)
        #expect(it.actions() != "finish")
    }

    /// The server has removed the upload, because the object is complete.
    @Test func completionWithALostResponseDoesNotStartOver() throws {
        let it = try completing()
        _ = it.actions()
        it.fail()
        _ = it.wait()
        it.reject(404)
        #expect(it.actions() != "POST -?uploads=")
    }

    @Test func pauseDuringTheCompletionDoesNotStartOver() throws {
        let it = try completing()
        _ = it.actions()
        it.schedule.pause()
        _ = it.actions()
        it.schedule.resume()
        _ = it.actions()
        it.reject(404)
        #expect(it.actions() != "POST -?uploads=")
    }
}
