import Testing

@testable import NightjarJSON

@Suite struct JSONBuilderTests {
    private func text<Value: Encodable>(_ value: Value, _ options: JSONEncodingOptions = .init()) throws -> String {
        String(buffer: try JSONValue(encoding: value, options).encoded())
    }

    private func rejection<Value: Encodable>(_ value: Value) -> String {
        do {
            return "taken: \(try text(value))"
        } catch let error as NightjarError {
            return "\(error.kind.name): \(error.message)"
        } catch {
            return "another error: \(error)"
        }
    }

    struct Patch: Encodable {
        var title: String?
        var subtitle: JSONValue?
        var teaser: Null?
        var note: String??
        var likes: Int?
    }

    @Test func absentMembersAreOmittedAndNullIsWritten() throws {
        #expect(try text(Patch()) == "{}")
        #expect(
            try text(Patch(title: "T", subtitle: .null, teaser: Null()))
                == #"{"title":"T","subtitle":null,"teaser":null}"#)
        #expect(try text(Patch(note: .some(nil), likes: 0)) == #"{"note":null,"likes":0}"#)
    }

    @Test func scalarsAreWrittenExactly() throws {
        #expect(try text([Int64.min, .max]) == "[-9223372036854775808,9223372036854775807]")
        #expect(try text([UInt64.max]) == "[18446744073709551615]")
        #expect(try text([Int128(1)]) == "[1]")
        #expect(try text([Float(0.1)]) == "[0.1]")
        #expect(try text([0.1, 1e300, -0.0]) == "[0.1,1e+300,-0.0]")
        #expect(try text([true, nil, false]) == "[true,null,false]")
        #expect(try text("é\"\n") == #""é\"\n""#)
        #expect(try text(Int?.none) == "null")
        #expect(try text(Empty()) == "{}")
    }

    @Test func dictionaryNamesAreSortedAndUnchanged() throws {
        struct Named: Encodable { var imageUrl: [String: Int] }
        let named = Named(imageUrl: ["zZ": 1, "aB": 2])
        #expect(try text(named) == #"{"imageUrl":{"aB":2,"zZ":1}}"#)
        #expect(try text(named, JSONEncodingOptions(names: .convertToSnakeCase)) == #"{"image_url":{"aB":2,"zZ":1}}"#)
        let upper = JSONEncodingOptions(
            names: .custom { JSONKey(stringValue: $0.last?.stringValue.uppercased() ?? "") })
        #expect(try text(named, upper) == #"{"IMAGEURL":{"aB":2,"zZ":1}}"#)
    }

    @Test func lastValueOfARepeatedNameCounts() throws {
        struct Repeating: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: JSONKey.self)
                for round in 0..<2 {
                    for index in 0..<20 { try container.encode(round, forKey: JSONKey(stringValue: "k\(index)")) }
                }
            }
        }
        let expected = (0..<20).map { #""k\#($0)":1"# }.joined(separator: ",")
        #expect(try text(Repeating()) == "{\(expected)}")
    }

    @Test func unrepresentableValueIsRejectedWithItsPath() {
        struct Sample: Encodable { var values: [Double] }
        #expect(
            rejection(Sample(values: [1, .nan]))
                == #"invalid_request: the value cannot be written as JSON: at "/values/1": JSON cannot represent nan"#)
        #expect(
            rejection([Int128.max]).hasSuffix(
                #"at "/0": the integer has more than 64 bits, so many JSON readers would round it"#))
    }

    final class Loop: Encodable {
        var next: Loop?
    }

    @Test func cyclicValueIsRejected() {
        let loop = Loop()
        loop.next = loop
        #expect(rejection(loop).contains("the value has more than 512 levels"))
        loop.next = nil
    }

    class Base: Encodable {
        var id = 3
    }
    final class Derived: Base {
        enum CodingKeys: CodingKey { case name, list, box }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try list.encode(1)
            try list.encodeNil()
            var inner = list.nestedUnkeyedContainer()
            try inner.encode("x")
            var box = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .box)
            try box.encode(true, forKey: .name)
            try container.encode("a", forKey: .name)
            try container.encode("b", forKey: .name)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test func nestedContainersAndParentsAreWritten() throws {
        #expect(try text(Derived()) == #"{"list":[1,null,["x"]],"box":{"name":true},"name":"b","super":{"id":3}}"#)
    }

    @Test func valuesRoundTrip() throws {
        let value = try JSONValue(parsing: #"{"b":[1,18446744073709551615,1.5,null,true,"x"],"a":{},"c":[]}"#)
        #expect(try JSONValue(encoding: value) == value)
        #expect(try JSONValue(encoding: ["k": value]) == .object([.init("k", value)]))
        let moments = [Timestamp(secondsSince1970: 1.5)]
        #expect(try JSONValue(encoding: moments).decode([Timestamp?].self) == moments)
    }
}
