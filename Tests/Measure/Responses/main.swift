// Measures the cost of validating responses against schemas, in microseconds: on the client's loop, and on a separate
// thread. Run by scripts/measure-responses in a release build. The bounds in ResponseCheck.swift are based on its results.

import NIOCore
import NightjarAPI
import NightjarHTTP

struct Case {
    let name: String
    let schema: String
    let body: String
}

let item = #"{"id":12345,"title":"Hello, world","tags":["a","b"],"author":{"name":"A","age":3.5},"draft":false}"#
let itemSchema = #"""
    {"type":"object","required":["id","title"],"properties":{"id":{"type":"integer","minimum":1},
     "title":{"type":"string","maxLength":100},"tags":{"type":"array","items":{"type":"string"}},
     "author":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"number"}}},"draft":{"type":"boolean"}}}
    """#

func list(_ bytes: Int, last: String = item) -> String {
    "[" + String(repeating: item + ",", count: max(bytes / (item.utf8.count + 1) - 1, 0)) + last + "]"
}

func choices(_ levels: Int) -> String {
    (0..<levels).reduce(#"{"type":"string"}"#) { schema, _ in #"{"anyOf":[\#(schema),\#(schema)]}"# }
}

let lists = #"{"type":"array","items":\#(itemSchema)}"#
var cases = [512, 1024, 2048, 4000, 8000, 16_000, 10_000_000].map { Case(name: "list", schema: lists, body: list($0)) }
cases.append(Case(name: "list, the last is wrong", schema: lists, body: list(4000, last: "{}")))
cases.append(Case(name: "list, no object", schema: lists, body: "[" + String(repeating: "1,", count: 2000) + "1]"))
cases.append(
    Case(
        name: "numbers", schema: #"{"items":{"type":"integer"}}"#,
        body: "[" + String(repeating: "1,", count: 450) + "1]"))
cases.append(
    Case(name: "patterns", schema: #"{"items":{"pattern":"^(a+)+$"}}"#, body: #"["aaaaaaaaaaaaaaaaaaaaaaab"]"#))
cases.append(
    Case(
        name: "equal elements", schema: #"{"uniqueItems":true}"#,
        body: "[" + (0..<800).map(String.init).joined(separator: ",") + "]"))
for levels in [4, 6, 8, 12] { cases.append(Case(name: "anyOf, \(levels) levels", schema: choices(levels), body: "1")) }

let clock = ContinuousClock()
let url = try RequestURL("http://a.example/")
for test in cases {
    let schema = try JSONSchema(parsing: test.schema)
    let response = Response(head: ResponseHead(status: 200), body: ByteBuffer(string: test.body), url: url)
    var least = [Double.infinity, .infinity]
    var isShort = false
    let end = clock.now + .milliseconds(300)
    while clock.now < end {
        guard var check = ResponseCheck(response, by: nil, and: schema, isEither: true) else { continue }
        var start = clock.now
        isShort = check.short() != nil
        least[0] = min(least[0], start.duration(to: clock.now) / .microseconds(1))
        guard var other = ResponseCheck(response, by: nil, and: schema, isEither: true) else { continue }
        start = clock.now
        _ = other.whole { true }
        least[1] = min(least[1], start.duration(to: clock.now) / .microseconds(1))
    }
    let (short, whole) = (Int(least[0].rounded()), Int(least[1].rounded()))
    print(
        "\(test.name), \(test.body.utf8.count) bytes: \(isShort ? "short" : "left to a thread after") \(short) us, whole \(whole) us"
    )
}
