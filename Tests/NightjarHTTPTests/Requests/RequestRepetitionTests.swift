import NIOCore
@_spi(Reflection) import Swift
import Testing

@testable import NightjarHTTP

@Suite struct RequestRepetitionTests {
    private typealias Change = (inout Request) throws -> Void

    private func sample() throws -> Request {
        var request = Request(.get, "/articles?page=2")
        try request.headers.add("Accept", "application/json")
        request.query = [("q", "café")]
        return request
    }

    /// One change for each member that is compared.
    private let reported: [String: Change] = [
        "method": { $0.method = .head },
        "target": { $0.target = "/articles?page=3" },
        "query": { $0.query[0].value = "tea" },
        "headers": { try $0.headers.set("accept", "application/json") },
        "compresses": { $0.compresses = true },
        "expectsContinue": { $0.expectsContinue = false },
        "allowsBodyOnGet": { $0.allowsBodyOnGet = true },
        "expectedStatuses": { $0.expectedStatuses = [StatusRange(404)] },
        "redirect": { $0.redirect = RedirectSettings() },
        "retry": { $0.retry = RetryChanges() },
        "decompresses": { $0.decompresses = true },
        "usesCookies": { $0.usesCookies = false },
        "coalesces": { $0.coalesces = true },
        "usesCache": { $0.usesCache = false },
        "cachePolicy": { $0.cachePolicy = .reload },
        "cachePartition": { $0.cachePartition = "a" },
        "limitGroup": { $0.limitGroup = "search" },
        "usesAuth": { $0.usesAuth = false },
        "confinement": { $0.confinement = Confinement(origins: []) },
        "cookies": { $0.cookies = ["a=b"] },
        "schemes": { $0.schemes = ["key"] },
        "security": { $0.security = [SecurityRequirement([.init("key")])] },
        "timeouts": { $0.timeouts.idle = .seconds(1) },
        "connectivity": { $0.connectivity.allowsMetered = false },
        "respectsRetryAfter": { $0.respectsRetryAfter = false },
        "invalidates": { $0.invalidates = ["articles"] },
        "impliedType": { $0.impliedType = .json },
        "isIdempotent": { $0.isIdempotent = true },
        "isGraphQL": { $0.isGraphQL = true },
        "maximumBody": { $0.maximumBody = 10 },
    ]

    /// Changes that exclude a request from repetition detection.
    private let ruledOut: [String: Change] = [
        "parameters": { $0.parameters = [("id", "1")] },
        "body": { $0.body = .bytes(ByteBuffer(string: "x")) },
        "resolved": { $0.resolved = try RequestURL("http://a.example/b") },
        "schema": { $0.schema = try JSONSchema(parsing: "{}") },
        "contract": {
            $0.contract = ResponseContract(endpoint: "article", validation: nil, isDeprecated: false, responses: [])
        },
        "idempotencyKey": { $0.idempotencyKey = .generated },
    ]

    /// Changes that concern a call and not its prepared request.
    private let ignored: [String: Change] = ["cancellation": { $0.cancellation = Cancellation() }]

    private final class Cancellation: Sendable {}

    @Test func everyMemberOfARequestIsCompared() throws {
        let request = try sample()
        // Mirror is not used, because the mirror of a request contains only public values.
        var members: Set<String> = []
        _ = _forEachField(of: Request.self) { name, _, _, _ in members.insert(String(cString: name)).inserted }
        #expect(members == Set(reported.keys).union(ruledOut.keys).union(ignored.keys))
        #expect(RepeatedRequest(request).isSame(as: try sample()))
        for (name, change) in reported {
            var other = request
            try change(&other)
            #expect(!RepeatedRequest(request).isSame(as: other), "\(name)")
            #expect(!RepeatedRequest(other).isSame(as: request), "\(name)")
        }
        for (name, change) in ignored {
            var other = request
            try change(&other)
            #expect(RepeatedRequest(other).isSame(as: request), "\(name)")
        }
    }

    @Test func equalRequestsHaveTheSameFingerprint() throws {
        #expect(try sample().fingerprint == sample().fingerprint)
        for name in ["target", "query", "headers"] {
            var other = try sample()
            try reported[name]?(&other)
            #expect(try other.fingerprint != sample().fingerprint, "\(name)")
        }
    }

    private func isBare(_ request: Request, _ method: String, _ target: String) -> Bool {
        Array(method.utf8).withUnsafeBytes { method in
            Array(target.utf8).withUnsafeBytes { RepeatedRequest(request).isBare(method, $0) }
        }
    }

    @Test func requestWithOnlyMethodAndTargetIsBare() throws {
        #expect(isBare(Request(.get, "/a"), "GET", "/a"))
        #expect(isBare(Request(.post, ""), "POST", ""))
        let others = [
            ("GET", "/b"), ("GET", "/a/"), ("GET", "/"), ("GET", ""), ("HEAD", "/a"), ("get", "/a"), ("GE", "T/a"),
            ("GET/", "a"), ("", "GET/a"), ("", ""),
        ]
        for (method, target) in others { #expect(!isBare(Request(.get, "/a"), method, target), "\(method) \(target)") }
        for (name, change) in reported where name != "method" && name != "target" {
            var other = Request(.get, "/a")
            if name == "query" { other.query = [("q", "x")] }
            try change(&other)
            #expect(!isBare(other, "GET", "/a"), "\(name)")
        }
    }

    @Test func fingerprintOfABareRequestIsThatOfItsTarget() throws {
        let long = String(repeating: "x", count: 5000)
        for target in ["", "/", "/articles?page=2", "/café", long] {
            let fingerprint = Array(target.utf8).withUnsafeBytes { Request.fingerprint(target: $0) }
            #expect(fingerprint == Request(.get, target).fingerprint, "\(target)")
        }
    }

    @Test func largeOrUnusualRequestsHaveNoFingerprint() throws {
        for (name, change) in ruledOut {
            var other = try sample()
            try change(&other)
            #expect(other.fingerprint == nil, "\(name)")
        }
        let long = String(repeating: "x", count: 5000)
        var other = Request(.get, "/" + long)
        #expect(other.fingerprint == nil)
        other = Request(.get, "/")
        other.query = [("q", long)]
        #expect(other.fingerprint == nil)
        other.query = []
        try other.headers.add("X-Long", long)
        #expect(other.fingerprint == nil)
    }
}
