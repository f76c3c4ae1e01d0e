import Testing

@testable import NightjarJSON

@Suite struct JSONReaderTests {
    private func read<Value: Decodable>(
        _ type: Value.Type, _ text: String, at pointer: String = "", _ options: JSONDecodingOptions = .init()
    ) throws -> Value {
        try JSONValue(parsing: text).decode(type, at: JSONPointer(pointer), options)
    }

    private func rejection<Value: Decodable>(
        _ type: Value.Type, _ text: String, at pointer: String = "", _ options: JSONDecodingOptions = .init()
    ) -> String {
        do {
            return "taken: \(try read(type, text, at: pointer, options))"
        } catch let error as NightjarError {
            return error.kind == .decoding
                ? error.message.replacing("the JSON is not as expected: ", with: "") : "\(error)"
        } catch {
            return "another error: \(error)"
        }
    }

    struct Article: Decodable, Equatable {
        enum State: String, Decodable, CaseIterable { case draft, published }
        struct Author: Decodable, Equatable {
            var name: String
            var email: String?
        }

        var id: Int
        var title: String
        var state = State.draft
        var tags: [String]
        var author: Author?
        var counts: [String: Int]
        var ratio: Double
    }

    private let article = """
        {"id": 7, "title": "Héllo", "state": "published", "tags": ["a", "b"], "author": {"name": "N", "email": null},
         "counts": {"read": 3, "liked": 0}, "ratio": 1, "more": [{}]}
        """

    @Test func typeIsDecoded() throws {
        let read = try read(Article.self, article)
        #expect(
            read
                == Article(
                    id: 7, title: "Héllo", state: .published, tags: ["a", "b"], author: .init(name: "N", email: nil),
                    counts: ["read": 3, "liked": 0], ratio: 1))
    }

    @Test func partIsDecoded() throws {
        #expect(try read(String.self, article, at: "/tags/1") == "b")
        #expect(try read(String?.self, article, at: "/author/email") == nil)
        #expect(try read(String?.self, article, at: "/nowhere") == nil)
        #expect(try read(Empty.self, article, at: "/nowhere") == Empty())
        #expect(rejection(String.self, article, at: "/nowhere") == #"at "/nowhere": expected a string, found nothing"#)
        #expect(rejection(Int.self, article, at: "/tags/0") == #"at "/tags/0": expected an integer, found a string"#)
    }

    // MARK: Numbers

    @Test(arguments: [
        ("0", "0"), ("-1", "-1"), ("3.0", "3"), ("3e2", "300"), ("-0.0", "0"), ("127", "127"),
        ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
        ("9007199254740991.0", "9007199254740991"),
        ("3.5", "expected an integer, found a number with a fraction"),
        ("1e-3", "expected an integer, found a number with a fraction"),
        (
            "9223372036854775808",
            "expected an integer from -9223372036854775808 to 9223372036854775807, found one out of range"
        ),
        (
            "9007199254740993.0",
            "expected an integer from -9223372036854775808 to 9223372036854775807, found a number too large to be exact"
        ),
        (#""1""#, "expected an integer, found a string"), ("true", "expected an integer, found a boolean"),
        ("null", "expected an integer, found null"), ("[1]", "expected an integer, found an array"),
    ])
    func integerIsExactOrRejected(text: String, outcome: String) {
        #expect(rejection(Int.self, text).replacing("taken: ", with: "") == outcome)
    }

    @Test func everyIntegerWidthHasItsRange() throws {
        #expect(try read(UInt64.self, "18446744073709551615") == .max)
        #expect(try read(UInt.self, "18446744073709551615") == .max)
        #expect(try read(Int128.self, "18446744073709551615") == 18_446_744_073_709_551_615)
        #expect(try read(UInt128.self, "1") == 1)
        #expect(try read(Int8.self, "-128") == -128)
        #expect(rejection(Int8.self, "128") == "expected an integer from -128 to 127, found one out of range")
        #expect(rejection(UInt8.self, "-1") == "expected an integer from 0 to 255, found one out of range")
        #expect(try read(UInt8.self, "255.0") == 255)
        #expect(rejection(UInt16.self, "65536") == "expected an integer from 0 to 65535, found one out of range")
        #expect(try read(Int16.self, "-32768") == -32768)
        #expect(try read(Int32.self, "2147483647") == .max)
        #expect(try read(UInt32.self, "4294967295") == .max)
        #expect(rejection(Int64.self, "1e400").contains("not JSON"))
    }

    @Test func doubleIsReadFromAnInteger() throws {
        #expect(try read(Double.self, "3") == 3)
        #expect(try read(Double.self, "18446744073709551615") == 18_446_744_073_709_551_615)
        #expect(try read(Float.self, "1.5") == 1.5)
        #expect(rejection(Float.self, "1e300") == "expected a number that Float can hold, found a larger one")
        #expect(rejection(Double.self, "false") == "expected a number, found a boolean")
        #expect(rejection(Bool.self, "1") == "expected a boolean, found an integer")
        #expect(rejection(String.self, "1") == "expected a string, found an integer")
    }

    // MARK: Locations

    @Test(arguments: [
        (#"{"id": "7"}"#, #"at "/id": expected an integer, found a string"#),
        (#"{"id": 7}"#, #"at "/title": expected a string, found nothing"#),
        (
            #"{"id": 7, "title": "a", "state": "s3cret"}"#,
            #"at "/state": expected one of "draft", "published", found another string"#
        ),
        (
            #"{"id": 7, "title": "a", "state": "draft", "tags": ["a", 1]}"#,
            #"at "/tags/1": expected a string, found an integer"#
        ),
        (
            #"{"id": 7, "title": "a", "state": "draft", "tags": {}}"#,
            #"at "/tags": expected an array, found an object"#
        ),
        (
            #"{"id": 7, "title": "a", "state": "draft", "tags": [], "author": {"email": 1}}"#,
            #"at "/author/name": expected a string, found nothing"#
        ),
        (
            #"{"id": 7, "title": "a", "state": "draft", "tags": [], "counts": {"a/b~": "x"}}"#,
            #"at "/counts/a~1b~0": expected an integer, found a string"#
        ),
        ("[]", "expected an object, found an array"), ("null", "expected an object, found null"),
    ])
    func mismatchNamesPathExpectedAndFound(text: String, message: String) {
        #expect(rejection(Article.self, text) == message)
    }

    @Test func namesFromTheServerAreEscapedAndTruncated() {
        let message = rejection([String: Int].self, #"{"a\n\#(String(repeating: "x", count: 5000))": "1"}"#)
        #expect(message.hasPrefix(#"at "/a\nxxx"#))
        #expect(message.utf8.count < 400)
    }

    @Test func errorThrownByATypeIsReported() {
        struct Even: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                guard try container.decode(Int.self) % 2 == 0 else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "odd\nnumber")
                }
            }
        }
        struct Other: Error {}
        struct Throwing: Decodable {
            init(from decoder: any Decoder) throws { throw Other() }
        }
        #expect(rejection([Even].self, "[2, 3]") == #"at "/1": odd\nnumber"#)
        #expect(rejection([Throwing].self, "[1]") == "the JSON could not be read: Other()")
    }

    // MARK: Nil, absent, empty

    @Test func nullAndAbsentAreNil() throws {
        struct Optionals: Decodable, Equatable {
            var a: Int?
            var b: Int?
            var c: JSONValue?
            var d: JSONValue
        }
        #expect(try read(Optionals.self, #"{"a": null, "c": null, "d": null}"#) == Optionals(d: .null))
        #expect(try read([Int?].self, "[1, null]") == [1, nil])
        #expect(try read(Null.self, "null") == Null())
        #expect(rejection([Null].self, "[1]") == #"at "/0": expected null"#)
        #expect(try read(Empty.self, "[1]") == Empty())
    }

    @Test func firstOfDuplicateMembersCounts() throws {
        #expect(try read([String: Int].self, #"{"a": 1, "a": 2}"#) == ["a": 1])
        let many = (0..<20).map { #""k\#($0)": \#($0)"# }.joined(separator: ",")
        #expect(try read([String: Int].self, "{\(many), \"k3\": 99}")["k3"] == 3)
    }

    // MARK: Names

    @Test(arguments: [
        ("one_two_three", "oneTwoThree"), ("one", "one"), ("oneTwo", "oneTwo"), ("_id", "_id"), ("__v", "__v"),
        ("_one_two_", "_oneTwo_"), ("___", "___"), ("", ""), ("ONE_TWO", "oneTwo"), ("image_URL", "imageUrl"),
        ("one__two", "oneTwo"), ("url_2x", "url2x"),
    ])
    func snakeCaseBecomesCamelCase(name: String, converted: String) {
        #expect(JSONNames.camelCase(name) == converted)
    }

    @Test(arguments: [
        ("oneTwoThree", "one_two_three"), ("one", "one"), ("imageURLSmall", "image_url_small"),
        ("imageURL", "image_url"),
        ("URLSession", "url_session"), ("_id", "_id"), ("iOSVersion", "i_os_version"), ("", ""), ("one_two", "one_two"),
        ("a1B", "a1_b"),
    ])
    func camelCaseBecomesSnakeCase(name: String, converted: String) {
        #expect(JSONNames.snakeCase(name) == converted)
    }

    @Test func snakeCaseIsReadAndPathsNameTheDocument() throws {
        struct Profile: Decodable, Equatable {
            var firstName: String
            var imageUrl: String?
            var extraData: [String: Inner]
        }
        struct Inner: Decodable, Equatable { var sortKey: Int }
        let options = JSONDecodingOptions(names: .convertFromSnakeCase)
        let text = #"{"first_name": "A", "image_url": "u", "extra_data": {"some_name": {"sort_key": 1}}}"#
        #expect(
            try read(Profile.self, text, options)
                == Profile(firstName: "A", imageUrl: "u", extraData: ["some_name": Inner(sortKey: 1)]))
        #expect(
            rejection(Profile.self, text.replacing("1", with: "true"), options)
                == #"at "/extra_data/some_name/sort_key": expected an integer, found a boolean"#)
    }

    @Test func customNameStrategyIsCalled() throws {
        struct Upper: Decodable { var name: String }
        let options = JSONDecodingOptions(
            names: .custom { path in JSONKey(stringValue: path.last?.stringValue.lowercased() ?? "") })
        #expect(try read([Upper].self, #"[{"NAME": "x"}]"#, options).first?.name == "x")
    }

    // MARK: Special cases of Codable

    class Base: Decodable { var id: Int }
    final class Derived: Base {
        enum CodingKeys: String, CodingKey { case name }
        let name: String
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            try super.init(from: container.superDecoder())
        }
    }

    @Test func superclassIsDecoded() throws {
        let read = try read(Derived.self, #"{"name": "n", "super": {"id": 3}}"#)
        #expect(read.name == "n" && read.id == 3)
        #expect(rejection(Derived.self, #"{"name": "n"}"#) == #"at "/super": expected an object, found null"#)
    }

    @Test func nestedContainersAreRead() throws {
        struct Nested: Decodable, Equatable {
            enum Outer: String, CodingKey { case box, list }
            enum Inner: String, CodingKey { case value }
            var value: Int
            var list: [Int]

            init(from decoder: any Decoder) throws {
                let outer = try decoder.container(keyedBy: Outer.self)
                value = try outer.nestedContainer(keyedBy: Inner.self, forKey: .box).decode(Int.self, forKey: .value)
                var elements = try outer.nestedUnkeyedContainer(forKey: .list)
                list = []
                while !elements.isAtEnd {
                    if try elements.decodeNil() { continue }
                    if let number = try? elements.decode(Int.self) {
                        list.append(number)
                        continue
                    }
                    var inner = try elements.nestedUnkeyedContainer()
                    list.append(try inner.decode(Int.self))
                    _ = try inner.decode(Int.self)
                }
            }
        }
        let read = try read(Nested.self, #"{"box": {"value": 1}, "list": [2, null, [3, 4]]}"#)
        #expect(read.value == 1 && read.list == [2, 3])
        #expect(
            rejection(Nested.self, #"{"box": {"value": 1}, "list": [[3]]}"#)
                == #"at "/list/0/1": expected an integer, found the end of the array"#)
        #expect(
            rejection(Nested.self, #"{"box": 1, "list": []}"#) == #"at "/box": expected an object, found an integer"#)
        #expect(rejection(Nested.self, #"{"list": []}"#) == #"at "/box": expected an object, found nothing"#)
        #expect(
            rejection(Nested.self, #"{"box": {"value": 1}}"#) == #"at "/list": expected an array, found nothing"#)
    }

    @Test func missingContainersInArraysAreNamedAsInJSON() {
        struct Objects: Decodable {
            init(from decoder: any Decoder) throws {
                var elements = try decoder.unkeyedContainer()
                _ = try elements.nestedContainer(keyedBy: JSONKey.self)
            }
        }
        struct Arrays: Decodable {
            init(from decoder: any Decoder) throws {
                var elements = try decoder.unkeyedContainer()
                _ = try elements.nestedUnkeyedContainer()
            }
        }
        #expect(rejection(Objects.self, "[]") == #"at "/0": expected an object, found the end of the array"#)
        #expect(rejection(Arrays.self, "[]") == #"at "/0": expected an array, found the end of the array"#)
    }

    @Test func enumWithAssociatedValuesIsDecoded() throws {
        enum Shape: Decodable, Equatable { case circle(radius: Double), point }
        #expect(try read([Shape].self, #"[{"circle": {"radius": 1}}, {"point": {}}]"#) == [.circle(radius: 1), .point])
        #expect(rejection([Shape].self, "[{}]").hasPrefix(#"at "/0": Invalid number of keys"#))
    }

    indirect enum Chain: Decodable {
        case end
        case link(Chain)
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            self = container.isAtEnd ? .end : .link(try container.decode(Chain.self))
        }
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try read(Chain.self, nested(512))
        #expect(rejection(Chain.self, nested(1000)).hasSuffix("expected at most 512 levels, found more"))
    }

    @Test func customDecodingIsUsed() throws {
        struct Color: Decodable, Sendable, Equatable { var red: Int }
        let options = JSONDecodingOptions().reading(Color.self) { decoder in
            Color(red: try decoder.singleValueContainer().decode(String.self).utf8.count)
        }
        #expect(try read([Color?].self, #"["abc", null]"#, options) == [Color(red: 3), nil])
        #expect(rejection([Color].self, "[1]", options) == #"at "/0": expected a string, found an integer"#)
    }

    @Test func jsonValueIsDecodedUnchanged() throws {
        struct Wrapped: Decodable { var any: JSONValue }
        let text = #"{"any": {"b": [1, 18446744073709551615, 1.5, null, true, "x"], "a": {}}}"#
        #expect(try read(Wrapped.self, text).any == JSONValue(parsing: text)["any"])
    }
}
