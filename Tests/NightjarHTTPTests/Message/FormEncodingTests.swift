import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct FormEncodingTests {
    @Test(arguments: [
        ([], ""),
        ([("a", "b")], "a=b"),
        ([("a", "")], "a="),
        ([("", "b")], "=b"),
        ([("", "")], "="),
        ([("b", "2"), ("a", "1"), ("b", "3")], "b=2&a=1&b=3"),
        ([("full name", "J. D. O'Hara")], "full+name=J.+D.+O%27Hara"),
        ([("a=b", "c&d")], "a%3Db=c%26d"),
        ([("plus", "1+1")], "plus=1%2B1"),
        ([("t", "*-._~!()'%")], "t=*-._%7E%21%28%29%27%25"),
        ([("city", "M\u{FC}nchen \u{1F319}")], "city=M%C3%BCnchen+%F0%9F%8C%99"),
        ([("lines", "a\r\nb\nc\0")], "lines=a%0D%0Ab%0Ac%00"),
        ([("array[]", "1")], "array%5B%5D=1"),
    ])
    func textIsEncoded(_ pairs: [(String, String)], _ body: String) {
        #expect(String(buffer: FormEncoding.encode(pairs.map { (name: $0.0, value: $0.1) })) == body)
    }

    @Test func onlyUnreservedBytesAreUnencoded() {
        let stays = Set("*-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".unicodeScalars)
        for value in UInt8(0)...127 {
            let scalar = Unicode.Scalar(value)
            let body = String(buffer: FormEncoding.encode([("n", String(scalar))]))
            let digits = String(value, radix: 16, uppercase: true)
            let escape = scalar == " " ? "+" : "%" + (value < 16 ? "0" : "") + digits
            #expect(body == "n=" + (stays.contains(scalar) ? String(scalar) : escape))
        }
    }

    @Test func encodingRoundTrips() {
        var random = SeededRandom(seed: 1866)
        for _ in 0..<500 {
            let pairs = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                let text = String(decoding: random.bytes(Int.random(in: 0...9, using: &random)), as: UTF8.self)
                return (name: text, value: String(text.reversed()))
            }
            let body = String(buffer: FormEncoding.encode(pairs))
            let items = pairs.isEmpty ? [] : body.split(separator: "&", omittingEmptySubsequences: false)
            #expect(items.count == pairs.count)
            for (item, pair) in zip(items, pairs) {
                let sides = item.split(separator: "=", omittingEmptySubsequences: false).map { side in
                    PercentEncoding.decoded(side.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
                }
                #expect(sides == [Array(pair.name.utf8), Array(pair.value.utf8)])
            }
        }
    }
}
