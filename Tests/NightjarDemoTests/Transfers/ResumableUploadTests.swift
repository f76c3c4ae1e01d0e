import NightjarTestSupport
import Testing

/// `/tus` (tus 1.0.0) and `/resumable` (draft-ietf-httpbis-resumable-upload, interop version 8).
struct ResumableUploadTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private static let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let tus = "Tus-Resumable: 1.0.0\r\n"
    private static let tusBody = tus + "Content-Type: application/offset+octet-stream\r\n"
    private static let partial = "Content-Type: application/partial-upload\r\n"

    private func send(_ method: String, _ path: String, _ fields: String, body: String = "") throws -> CurlResponse {
        let client = try demo.connect()
        defer { client.close() }
        let head = """
            \(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n
            """
        try client.send(Bytes((head + body).utf8))
        return try CurlResponse(client.receiveToEnd())
    }

    private func upload(_ run: String) throws -> [String: Any] {
        let uploads = try demo.fetch("/__uploads/\(run)").json["uploads"] as? [[String: Any]]
        return try #require(uploads?.first)
    }

    // MARK: tus

    @Test func tusUploadIsCreatedAndAppended() throws {
        let created = try send("POST", "/tus?run=a", Self.tus + "Upload-Length: 5\r\n")
        #expect(created.status == 201)
        let path = try #require(created["location"])
        let first = try send("PATCH", path, Self.tusBody + "Upload-Offset: 0\r\n", body: "hel")
        #expect(first.status == 204)
        #expect(first["upload-offset"] == "3")
        let state = try send("HEAD", path, Self.tus)
        #expect(state["upload-offset"] == "3")
        #expect(state["upload-length"] == "5")
        #expect(state["cache-control"] == "no-store")
        #expect(try send("PATCH", path, Self.tusBody + "Upload-Offset: 2\r\n", body: "lo").status == 409)
        #expect(try send("PATCH", path, Self.tusBody + "Upload-Offset: 3\r\n", body: "lo").status == 204)
        #expect(try upload("a")["sha256"] as? String == Self.hello)
    }

    @Test func tusRejectsOtherVersionsTypesAndLengths() throws {
        let version = try send("POST", "/tus", "Tus-Resumable: 0.2.2\r\nUpload-Length: 5\r\n")
        #expect(version.status == 412)
        #expect(version["tus-version"] == "1.0.0")
        #expect(try send("POST", "/tus", Self.tus).status == 400)
        #expect(try send("POST", "/tus?max_size=4", Self.tus + "Upload-Length: 5\r\n").status == 413)
        let path = try #require(send("POST", "/tus?run=a", Self.tus + "Upload-Length: 5\r\n")["location"])
        #expect(try send("PATCH", path, Self.tus + "Upload-Offset: 0\r\n", body: "hello").status == 415)
        #expect(try send("PATCH", path, Self.tusBody + "Upload-Offset: x\r\n", body: "hello").status == 400)
        #expect(try send("PATCH", path, Self.tusBody + "Upload-Offset: 0\r\n", body: "hello!").status == 413)
        let requests = try #require(try upload("a")["requests"] as? [[String: Any]])
        #expect(requests.map { $0["status"] as? Int } == [201, 415, 400, 413])
    }

    @Test func tusIgnoresABodyOfAnotherType() throws {
        let created = try send("POST", "/tus?run=a", Self.tus + "Upload-Length: 5\r\n", body: "hello")
        #expect(created.status == 201)
        #expect(try upload("a")["offset"] as? Int == 0)
    }

    @Test func tusExtensionsAreOptional() throws {
        let options = try send("OPTIONS", "/tus?extensions=creation,expiration", "")
        #expect(options["tus-extension"] == "creation,expiration")
        #expect(try send("OPTIONS", "/tus?extensions=other", "").status == 400)
        let fields = Self.tusBody + "Upload-Length: 5\r\n"
        #expect(try send("POST", "/tus?run=a&extensions=creation", fields, body: "hello").status == 400)
        let uploads = try demo.fetch("/__uploads/a").json["uploads"] as? [Any]
        #expect(uploads?.isEmpty == true)
    }

    @Test func tusChecksTheChecksum() throws {
        let fields = Self.tusBody + "Upload-Length: 5\r\nUpload-Checksum: sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00=\r\n"
        #expect(try send("POST", "/tus?run=right", fields, body: "hello").status == 201)
        #expect(try send("POST", "/tus?run=wrong", fields, body: "hellO").status == 460)
        #expect(try upload("right")["complete"] as? Bool == true)
        #expect(try upload("wrong")["offset"] as? Int == 0)
    }

    @Test func tusUploadIsTerminatedOrExpires() throws {
        let path = try #require(send("POST", "/tus?gone=1", Self.tus + "Upload-Length: 5\r\n")["location"])
        #expect(try send("DELETE", path, Self.tus).status == 204)
        #expect(try send("HEAD", path, Self.tus).status == 410)
        let expired = try send("POST", "/tus?lifetime=0", Self.tus + "Upload-Length: 5\r\n")
        #expect(expired["upload-expires"]?.hasSuffix(" GMT") == true)
        #expect(try send("HEAD", #require(expired["location"]), Self.tus).status == 404)
    }

    @Test func cutRequestStoresItsFirstBytes() throws {
        let created = try send("POST", "/tus?run=cut&faults=none,cut@3,low@2", Self.tus + "Upload-Length: 5\r\n")
        let path = try #require(created["location"])
        #expect(throws: (any Error).self) {
            try send("PATCH", path, Self.tusBody + "Upload-Offset: 0\r\n", body: "hello")
        }
        #expect(try send("HEAD", path, Self.tus)["upload-offset"] == "1")
        #expect(try send("PATCH", path, Self.tusBody + "Upload-Offset: 1\r\n", body: "ello").status == 204)
        #expect(try upload("cut")["sha256"] as? String == Self.hello)
    }

    // MARK: The draft of the IETF

    @Test func interimResponseHasTheLocation() throws {
        let fields = "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 8\r\n"
        let response = try send("POST", "/resumable?run=b", fields, body: "hello")
        #expect(response.interim == [104])
        #expect(response.status == 200)
        #expect(response["upload-complete"] == "?1")
        #expect(try response.json["sha256"] as? String == Self.hello)
        #expect(try send("POST", "/resumable", "Upload-Complete: ?1\r\n", body: "hello").interim == [])
        let other = "Upload-Complete: ?1\r\nUpload-Draft-Interop-Version: 7\r\n"
        #expect(try send("POST", "/resumable", other, body: "hello").interim == [])
    }

    @Test func resumableUploadIsAppended() throws {
        let created = try send("POST", "/resumable?run=c", "Upload-Complete: ?0\r\n", body: "hel")
        #expect(created.status == 201)
        let path = try #require(created["location"])
        let state = try send("HEAD", path, "")
        #expect(state.status == 204)
        #expect(state["upload-offset"] == "3")
        #expect(state["upload-complete"] == "?0")
        let conflict = try send(
            "PATCH", path, Self.partial + "Upload-Offset: 2\r\nUpload-Complete: ?1\r\n", body: "llo")
        #expect(conflict.status == 409)
        #expect(conflict["upload-offset"] == "3")
        #expect(try conflict.json["expected-offset"] as? Int == 3)
        let last = try send("PATCH", path, Self.partial + "Upload-Offset: 3\r\nUpload-Complete: ?1\r\n", body: "lo")
        #expect(last.status == 200)
        #expect(last["upload-complete"] == "?1")
        #expect(try send("HEAD", path, "")["upload-complete"] == "?1")
        #expect(try upload("c")["sha256"] as? String == Self.hello)
        let again = try send("PATCH", path, Self.partial + "Upload-Offset: 5\r\nUpload-Complete: ?1\r\n")
        #expect(again.status == 400)
        #expect(try send("DELETE", path, "").status == 204)
        #expect(try send("HEAD", path, "").status == 404)
    }

    @Test func lengthsMustAgree() throws {
        let fields = "Upload-Complete: ?1\r\nUpload-Length: 6\r\n"
        let response = try send("POST", "/resumable", fields, body: "hello")
        #expect(response.status == 400)
        let type = try response.json["type"] as? String
        #expect(type == "https://iana.org/assignments/http-problem-types#inconsistent-upload-length")
    }

    @Test func limitsAreReportedAndEnforced() throws {
        let limits = "max-size=100, max-append-size=4"
        #expect(try send("OPTIONS", "/resumable?max_size=100&max_append=4", "")["upload-limit"] == limits)
        let response = try send(
            "POST", "/resumable?max_size=100&max_append=4", "Upload-Complete: ?1\r\n", body: "hello")
        #expect(response.status == 413)
        #expect(response["upload-limit"] == limits)
    }
}
