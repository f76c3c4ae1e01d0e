import Nightjar
import NightjarHTTP
import Testing

@Suite struct OptionsTests {
    /// Swift compares these two names as equal although their bytes differ.
    @Test func namesOfGroupsAndSchemesAreComparedByBytes() throws {
        let (one, other) = ("caf\u{e9}", "cafe\u{301}")
        #expect(one == other)
        var configuration = Configuration()
        try configuration.merge(
            json: """
                {"base_url": "http://api.test",
                 "limit_groups": {"\(one)": {"concurrency": 1}, "\(other)": {"concurrency": 2}},
                 "auth": {"schemes": {"\(one)": {"type": "bearer", "token": "1"},
                                      "\(other)": {"type": "bearer", "token": "2"}}}}
                """)
        #expect(configuration.limitGroups.count == 2)
        #expect(configuration.limitGroups[one]?.concurrency == 1)
        #expect(configuration.limitGroups[other]?.concurrency == 2)
        guard case .schemes(let schemes) = configuration.auth else {
            Issue.record("no schemes")
            return
        }
        #expect(schemes.count == 2)
        let provider = TokenProvider { _ in }
        configuration.tokenProviders = [one: provider]
        #expect(configuration.tokenProviders[other] == nil)
    }

    @Test func pinsAreAListOrATable() throws {
        let (one, two) = (
            "sha256/" + String(repeating: "A", count: 43) + "=", "sha256/" + String(repeating: "A", count: 42) + "E="
        )
        var configuration = Configuration()
        try configuration.merge(
            json: """
                {"tls": {"pins": {"api.example.com": ["\(one)", "\(two)"],
                  "*.Example.org": {"pins": ["\(two)", "\(one)"], "report_only_after": "2027-01-01"}}}}
                """)
        let pins = configuration.transport.tls.pins
        #expect(pins.count == 2)
        let exact = try #require(pins[try HostPattern("api.example.com")])
        #expect(exact.all.map(\.description) == [one, two])
        #expect(exact.reportOnlyAfter == nil)
        let wildcard = try #require(pins[try HostPattern("*.example.org")])
        #expect(wildcard.all.map(\.description) == [two, one])
        #expect(wildcard.reportOnlyAfter?.description == "2027-01-01T00:00:00Z")
        try configuration.merge(json: #"{"tls": {"pins": null}}"#)
        #expect(configuration.transport.tls.pins.isEmpty)
    }

    @Test(arguments: [
        (
            #"["sha256/x", "y"]"#,
            #"option "tls.pins.h.test": the pin "sha256/x" is invalid: the text after "sha256/" is "#
        ),
        (#"[1]"#, #"option "tls.pins.h.test[1]" must be a string, found an integer"#),
        (#"[]"#, #"option "tls.pins.h.test": at least two different pins are required, got 0; "#),
        (#"{}"#, #"option "tls.pins.h.test": at least two different pins are required, got 0; "#),
        (#""sha256/x""#, #"option "tls.pins.h.test" must be a table of options, found a string"#),
        (#"{"pin": []}"#, #"unknown option "tls.pins.h.test.pin"; did you mean "pins"?"#),
        (
            #"{"report_only_after": "soon"}"#,
            #"option "tls.pins.h.test.report_only_after": the date "soon" is invalid; "#
        ),
    ]) func invalidPinsAreRejected(pins: String, message: String) {
        let rejection = rejection(#"{"tls": {"pins": {"h.test": \#(pins)}}}"#)
        #expect(rejection.hasPrefix(message), "\(rejection)")
    }

    private func rejection(_ json: String) -> String {
        var configuration = Configuration()
        do throws(NightjarError) {
            try configuration.merge(json: json)
            return "taken"
        } catch {
            return error.message
        }
    }

    @Test func everyOptionIsRead() throws {
        var configuration = Configuration()
        try configuration.merge(
            json: """
                {"base_url": "http://h/v1", "headers": {"API-Version": "2"}, "user_agent": false,
                 "timeout": {"connect": 1, "idle": 0.5, "total": null}, "max_body": "20MB",
                 "max_connections_per_host": 3, "idle_connection_lifetime": 7,
                 "tls": {"ca_file": "ca.pem", "verify": false}}
                """)
        #expect(configuration.baseURL == "http://h/v1")
        #expect(configuration.headers["api-version"] == "2")
        #expect(configuration.userAgent == nil)
        #expect(configuration.timeouts == Timeouts(connect: .seconds(1), idle: .milliseconds(500), total: nil))
        #expect(configuration.maximumBody == 20 << 20)
        #expect(configuration.transport.connectionsPerHost == 3)
        #expect(configuration.transport.idleConnectionLifetime == .seconds(7))
        #expect(configuration.transport.tls.certificateAuthorityFile == "ca.pem")
        #expect(!configuration.transport.tls.verifiesCertificates)
    }

    @Test(arguments: [
        ("true", ProxySettings(.environment)), ("false", ProxySettings(.off)),
        (#""http://u:p@h:3128""#, ProxySettings(.address(try! ProxyAddress("http://u:p@h:3128")))),
        (
            #"{"url": "socks5h://h", "no_proxy": "a.test,10.0.0.0/8"}"#,
            ProxySettings(.address(try! ProxyAddress("socks5h://h")), exceptions: "a.test,10.0.0.0/8")
        ),
        (#"{"no_proxy": ["a.test", "b.test"]}"#, ProxySettings(.environment, exceptions: "a.test,b.test")),
    ])
    func proxyIsRead(json: String, settings: ProxySettings) throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"proxy": \#(json)}"#)
        #expect(configuration.transport.proxy == settings)
    }

    @Test func socketIsRead() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"unix_socket": "/run/d.sock"}"#)
        #expect(configuration.transport.unixSocket?.path == "/run/d.sock")
        try configuration.merge(json: #"{"unix_socket": null}"#)
        #expect(configuration.transport.unixSocket == nil)
    }

    @Test func numericTimeoutIsTheTotal() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"timeout": 3}"#)
        #expect(configuration.timeouts == Timeouts(connect: .seconds(5), idle: .seconds(30), total: .seconds(3)))
    }

    /// 0 and false mean unlimited, null means not set.
    @Test(arguments: [
        ("0", Duration.zero), ("false", .zero), ("0.0", .zero), ("null", nil), ("3153600000", .seconds(3_153_600_000)),
    ])
    func zeroOrFalseDisablesATimeout(json: String, limit: Duration?) throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"timeout": \#(json)}"#)
        #expect(configuration.timeouts.total == limit)
        try configuration.merge(json: #"{"timeout": {"connect": \#(json), "idle": \#(json), "total": 7}}"#)
        #expect(configuration.timeouts == Timeouts(connect: limit, idle: limit, total: .seconds(7)))
        var request = Request(.get, "/")
        try request.merge(json: #"{"timeout": {"connect": \#(json), "idle": \#(json)}}"#)
        #expect(request.timeouts == Timeouts(connect: limit, idle: limit))
    }

    @Test func misplacedOptionIsNamed() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"forward_headers": ["X-Client"], "openapi_folder": "/apis"}"#)
        #expect(configuration.forwardedHeaders == ["X-Client"])
        #expect(configuration.openAPIFolder == "/apis")
        for name in ["Cookie", "authorization", "Host"] {
            #expect(
                rejection(#"{"forward_headers": ["\#(name)"]}"#).hasPrefix("forward_headers cannot contain \(name)"))
        }
    }

    @Test func booleansAreRead() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"respect_retry_after": false, "lenient_line_endings": true}"#)
        #expect(!configuration.respectsRetryAfter && configuration.transport.lenientLineEndings)
    }

    @Test(arguments: [
        (#"{"timeout": true}"#, #"option "timeout" must be a number of seconds, false or null, found a boolean"#),
        (#"{"timeout": {"idle": -0.5}}"#, "timeout.idle must be between 0 and 3153600000 seconds, got -0.5"),
        (#"{"timeout": 3153600001}"#, "timeout must be between 0 and 3153600000 seconds, got 3153600001"),
        (#"{"base_urll": ""}"#, #"unknown option "base_urll"; did you mean "base_url"?"#),
        (#"{"timeout": {"conect": 1}}"#, #"unknown option "timeout.conect"; did you mean "connect"?"#),
        (
            #"{"max_connections_per_host": 18446744073709551615}"#,
            #"option "max_connections_per_host" must be between 1 and 65536, got 18446744073709551615"#
        ),
        (
            #"{"tls": {"zzz": 1}}"#,
            #"unknown option "tls.zzz"; the known options are ca_file, ca, verify, allow_weak, client_certificate, hosts, key_log_file, pins, min_version, max_version"#
        ),
        (
            #"{"timeout": {"connect": "5"}}"#,
            #"option "timeout.connect" must be a number of seconds, false or null, found a string"#
        ),
        (#"{"headers": {"A": 1}}"#, #"option "headers.A" must be a string, found an integer"#),
        (#"{"timeout": -1}"#, "timeout must be between 0 and 3153600000 seconds, got -1"),
        (#"{"max_connections_per_host": 0}"#, #"option "max_connections_per_host" must be between 1 and 65536, got 0"#),
        (
            #"{"max_body": "20 pounds"}"#,
            #"option "max_body" is "20 pounds", which is not a valid size; write 65536, "64KB", "20MB" or "1GB""#
        ),
        (#"{"proxy": 1}"#, #"option "proxy" must be true, false, a URL or a table, found an integer"#),
        (
            #"{"proxy": "ftp://u:secret@h"}"#,
            #"the proxy cannot be used: its scheme "ftp" is not http, https, socks5 or socks5h"#
        ),
        (
            #"{"unix_socket": "d.sock"}"#,
            #"the path of a unix socket must be absolute, got "d.sock"; the working directory may change"#
        ),
        (
            #"{"auth": {}}"#,
            #"option "auth" has no type; the known types are bearer, basic, digest, oauth2, login, api_key"#
        ),
        ("[]", "the options must be a table of options, found an array"),
    ])
    func invalidOptionIsReported(json: String, message: String) {
        #expect(rejection(json) == message)
    }

    @Test func rejectedOptionsChangeNothing() {
        var configuration = Configuration()
        try? configuration.merge(json: #"{"base_url": "http://h/", "nonsense": 1}"#)
        #expect(configuration.baseURL == nil)
    }
}
