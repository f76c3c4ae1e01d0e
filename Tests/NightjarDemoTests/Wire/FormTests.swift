import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct FormTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    // MARK: Urlencoded

    @Test func urlencodedFormIsRead() throws {
        let json = try demo.curl(
            "/form", ["--data-urlencode", "q=iOS & Swift", "--data-urlencode", "q=1+1=2", "-d", "empty=&bare&u=%C3%A9"]
        ).json
        #expect(
            json["fields"] as? [[String]] == [
                ["q", "iOS & Swift"], ["q", "1+1=2"], ["empty", ""], ["bare", ""], ["u", "é"],
            ])
        #expect(try demo.curl("/form", ["-d", "a=%zz"]).status == 400)
        #expect(try demo.curl("/form", ["-H", "Content-Type: text/plain", "-d", "a"]).status == 415)
        #expect(try demo.curl("/form", ["-X", "PUT", "-d", "a=1"]).status == 200)
    }

    // MARK: Multipart

    @Test func multipartFormIsRead() throws {
        let folder = try TemporaryDirectory()
        let bytes = (0..<300_000).map(DemoContent.byte(at:))
        try folder.write("blob", Bytes(bytes))
        try folder.write("empty", "")
        let json = try demo.curl(
            "/form",
            [
                "-F", "title=Hé \"there\"", "-F", "blob=@\(folder.file("blob"));type=image/png;filename=a \"b\" é.png",
                "-F", "empty=@\(folder.file("empty"))",
            ]
        ).json
        let parts = try #require(json["parts"] as? [[String: Any]])
        try #require(parts.count == 3)
        #expect(parts[0]["name"] as? String == "title")
        #expect(parts[0]["preview"] as? String == "Hé \"there\"")
        #expect(parts[0]["filename"] is NSNull)
        #expect(parts[1]["bytes"] as? Int == 300_000)
        #expect(parts[1]["content_type"] as? String == "image/png")
        // Depending on its version, curl writes quotes as %22 or with a backslash. Browsers write %22.
        let filename = try #require(parts[1]["filename"] as? String)
        #expect(["a %22b%22 é.png", "a \"b\" é.png"].contains(filename))
        let upload = try demo.curl("/upload", ["-H", "Expect:", "--data-binary", "@-"], input: Bytes(bytes)).json
        #expect(parts[1]["crc32"] as? String == upload["crc32"] as? String)
        #expect(parts[2]["bytes"] as? Int == 0)
        #expect(parts[2]["filename"] as? String == "empty")
    }

    private func multipart(_ body: String, boundary: String = "b") throws -> CurlResponse {
        try demo.curl(
            "/form", ["-H", "Content-Type: multipart/form-data; boundary=\(boundary)", "--data-binary", "@-"],
            input: Bytes(body.utf8))
    }

    @Test func similarDelimiterIsContent() throws {
        let content = "\r\n--\r\n--a\r\n-\r\r\n\r\n--"
        let response = try multipart(
            "preamble\r\n--b\r\ncontent-disposition: form-data; name=x\r\n\r\n\(content)\r\n--b--\r\nepilogue")
        let parts = try #require(try response.json["parts"] as? [[String: Any]])
        #expect(parts.count == 1)
        #expect(parts[0]["preview"] as? String == content)
    }

    @Test func formWithoutPartsIsRead() throws {
        #expect(try (multipart("--b--\r\n").json["parts"] as? [Any])?.count == 0)
    }

    @Test(arguments: [
        "", "--b\r\n", "--b\r\nContent-Disposition: form-data; name=x\r\n\r\nno end", "--bx--\r\n",
        "--b\r\nContent-Disposition: form-data\r\n\r\n\r\n--b--", "--b\r\nNo-Disposition: 1\r\n\r\n\r\n--b--",
        "--b\r\nContent-Disposition: attachment; name=x\r\n\r\n\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"x\r\n\r\n\r\n--b--", "--b\r\nno colon\r\n\r\n\r\n--b--",
        "--b and more\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--b--",
        "--b\r\nX: \(String(repeating: "a", count: 20_000))\r\n\r\n\r\n--b--",
    ])
    func otherContentIsRejected(body: String) throws {
        #expect(try multipart(body).status == 400)
    }

    @Test func invalidBoundaryIsRejected() throws {
        #expect(try multipart("--b--", boundary: "").status == 415)
        #expect(try multipart("--b--", boundary: String(repeating: "b", count: 71)).status == 400)
    }

    /// The form is the same regardless of how the body is split.
    @Test func formIsReadByteByByte() throws {
        let body =
            "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n--\r\n--b\r\nContent-Disposition: form-data; name=y\r\n\r\n\r\n--b--\r\n"
        let client = try demo.connect()
        try client.send(
            """
            POST /form HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n\
            Content-Length: \(Bytes(String(body.utf8.count).utf8).text)\r\nConnection: close\r\n\r\n
            """)
        for byte in body.utf8 {
            try client.send(Bytes([byte]))
            usleep(200)
        }
        let response = Bytes(try client.receiveToEnd()).text
        #expect(response.contains(#""name":"x","filename":null,"content_type":null,"bytes":4,"#))
        #expect(response.contains(#""name":"y","filename":null,"content_type":null,"bytes":0,"#))
    }

    // MARK: Avatars

    @Test func avatarIsStored() throws {
        let folder = try TemporaryDirectory()
        let picture = (0..<5000).map(DemoContent.byte(at:))
        try folder.write("me.png", Bytes(picture))
        let path = "/v1/users/1/avatar"
        #expect(try demo.curl(path).status == 404)
        let upload = ["-X", "PUT", "-F", "avatar=@\(folder.file("me.png"));type=image/png"]
        let created = try demo.curl(path, upload)
        #expect(created.status == 201)
        #expect(try created.json["bytes"] as? Int == 5000)
        #expect(try created.json["filename"] as? String == "me.png")
        #expect(try demo.curl(path, upload).status == 200)
        let read = try demo.curl(path)
        #expect(read["Content-Type"] == "image/png")
        #expect(read.body == picture)
        #expect(try demo.curl(path, ["-X", "DELETE"]).status == 204)
        #expect(try demo.curl(path).status == 404)
        #expect(try demo.curl("/v1/users/999/avatar", upload).status == 404)
    }

    @Test func invalidAvatarIsRejected() throws {
        let folder = try TemporaryDirectory()
        try folder.write("large", Bytes([UInt8](repeating: 0, count: (1 << 20) + 1)))
        try folder.write("empty", "")
        let path = "/v1/users/1/avatar"
        for (form, status) in [
            ("other=x", 422), ("avatar=x;type=text/plain", 422), ("avatar=x", 422),
            ("avatar=@\(folder.file("large"));type=image/png", 422),
            ("avatar=@\(folder.file("empty"));type=image/png", 422),
        ] {
            #expect(try demo.curl(path, ["-X", "PUT", "-F", form]).status == status, "\(form)")
        }
        #expect(try demo.send("PUT", path, json: "{}").status == 415)
        #expect(try demo.curl(path, ["-X", "POST"]).status == 405)
    }
}
