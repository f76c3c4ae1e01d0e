import FoundationEssentials
import NIOCore
import NightjarFoundation
import NightjarHTTP
import Testing

@Suite struct ValuesTests {
    @Test func dataBecomesABodyAndABufferBecomesData() throws {
        let data = Data([1, 2, 3])
        guard case .bytes(let buffer) = try RequestBody.bytes(data) else { throw NightjarError(.invalidRequest, "") }
        #expect(Data(buffer) == data)
        #expect(Data(ByteBuffer()).isEmpty)
    }

    @Test func dataIsTheBodyAndNotDecoded() throws {
        let url = try RequestURL("http://h/a")
        for bytes in [Array("[1, 2]".utf8), [0xFF, 0], []] {
            let response = Response(head: ResponseHead(status: 200), body: ByteBuffer(bytes: bytes), url: url)
            #expect(try response.decode(Data.self) == Data(bytes))
        }
        let json = Response(
            head: ResponseHead(status: 200), body: ByteBuffer(string: #"{"a": [1, 2]}"#), url: url)
        #expect(try json.decode(Data.self, at: "/a") == Data([1, 2]))
    }

    @Test func identifiersAreElementsOfJSON() throws {
        let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let value: JSONValue = ["id": id, "n": 1]
        #expect(value["id"] == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    }

    @Test func identifiersAndURLsAreParameters() throws {
        let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let url = try #require(URL(string: "http://h/a?b=c"))
        let items: Request.Items = ["id": id, "u": url]
        #expect(items.map(\.value) == ["E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "http://h/a?b=c"])
        #expect(Request(.get, url).target == "http://h/a?b=c")
    }
}
