import Nightjar
import NightjarHTTP
import Testing

@Suite struct OptionsTests {
    private func merged(_ json: String) throws(NightjarError) -> Configuration {
        var configuration = Configuration()
        try configuration.merge(json: json)
        return configuration
    }

    @Test func everyOptionIsTaken() throws {
        let configuration = try merged(
            """
            {"base_url": "http://127.0.0.1/v1", "headers": {"API-Version": "2"}, "user_agent": "mine/1",
             "timeout": {"connect": 1, "idle": 2.5, "total": 2e1}, "max_body": "64KB", "max_connections_per_host": 8,
             "idle_connection_lifetime": 15, "tls": {"ca_file": "ca.pem", "verify": false}}
            """)
        #expect(configuration.baseURL == "http://127.0.0.1/v1")
        #expect(configuration.headers["api-version"] == "2")
        #expect(configuration.userAgent == "mine/1")
        #expect(
            configuration.timeouts == Timeouts(connect: .seconds(1), idle: .milliseconds(2500), total: .seconds(20)))
        #expect(configuration.maximumBody == 65536)
        #expect(configuration.transport.connectionsPerHost == 8)
        #expect(configuration.transport.idleConnectionLifetime == .seconds(15))
        #expect(configuration.transport.certificateAuthorityFile == "ca.pem")
        #expect(!configuration.transport.verifiesCertificates)
    }

    @Test func whatIsNotNamedStays() throws {
        var configuration = try merged(#"{"timeout": {"idle": 7}, "headers": {"A": "1", "B": "2"}}"#)
        try configuration.merge(json: #"{"timeout": {"connect": 3}, "headers": {"a": "3"}}"#)
        #expect(configuration.timeouts.idle == .seconds(7))
        #expect(configuration.timeouts.connect == .seconds(3))
        #expect(configuration.timeouts.total == Configuration().timeouts.total)
        #expect(configuration.headers["A"] == "3")
        #expect(configuration.headers["B"] == "2")
        #expect(try merged("{}").userAgent == Configuration().userAgent)
    }

    @Test func nullAndFalseTakeAway() throws {
        #expect(try merged(#"{"user_agent": false}"#).userAgent == nil)
        #expect(try merged(#"{"timeout": null}"#).timeouts == Timeouts())
        #expect(try merged(#"{"timeout": {"idle": null, "total": false}}"#).timeouts == Timeouts(connect: .seconds(5)))
        var configuration = try merged(#"{"headers": {"A": "1"}, "base_url": "http://a", "tls": {"ca_file": "x"}}"#)
        try configuration.merge(json: #"{"headers": {"a": null}, "base_url": null, "tls": {"ca_file": null}}"#)
        #expect(configuration.headers.isEmpty)
        #expect(configuration.baseURL == nil)
        #expect(configuration.transport.certificateAuthorityFile == nil)
    }

    @Test func aPlainTimeoutIsTheTotal() throws {
        let timeouts = try merged(#"{"timeout": 2.5}"#).timeouts
        #expect(timeouts.total == .milliseconds(2500))
        #expect(timeouts.connect == Configuration().timeouts.connect)
    }

    @Test(arguments: [
        ("0", 0), ("1024", 1024), ("\"0\"", 0), ("\"512\"", 512), ("\"512B\"", 512), ("\"64KB\"", 64 << 10),
        ("\"20 MB\"", 20 << 20), ("\"1gb\"", 1 << 30), ("\"2MiB\"", 2 << 20), ("2e6", 2_000_000),
    ])
    func sizesAreReadInBytes(text: String, bytes: Int) throws {
        #expect(try merged(#"{"max_body": \#(text)}"#).maximumBody == bytes)
    }

    @Test(arguments: [
        (#"{"timeout": {"conect": 1}}"#, #"unknown option "timeout.conect"; did you mean "connect"?"#),
        (#"{"baseUrl": "x"}"#, #"unknown option "baseUrl"; did you mean "base_url"?"#),
        (#"{"tls": {"verify_peer": true}}"#, #"unknown option "tls.verify_peer"; did you mean "verify"?"#),
        (#"{"timeout": {"x.connect": 1}}"#, #"unknown option "timeout.x.connect"; did you mean "connect"?"#),
        (#"{"timeout": {"zzz": 1}}"#, #"unknown option "timeout.zzz"; known are connect, idle, total"#),
        (
            #"{"a\nb": 1}"#,
            #"unknown option "a\nb"; known are base_url, headers, user_agent, timeout, max_body, "#
                + "max_connections_per_host, idle_connection_lifetime, tls"
        ),
        (#"{"timeout": {"connect": "5"}}"#, #"option "timeout.connect" must be a number of seconds, found a string"#),
        (#"{"timeout": {"connect": true}}"#, #"option "timeout.connect" must be a number of seconds, found true"#),
        (
            #"{"timeout": "5"}"#,
            #"option "timeout" must be a number of seconds or an object of connect, idle and total, found a string"#
        ),
        (
            #"{"timeout": -1}"#,
            #"option "timeout" must be a number of seconds from 0 to 3155760000 (100 years), found -1"#
        ),
        (
            #"{"idle_connection_lifetime": 1e300}"#,
            #"option "idle_connection_lifetime" must be a number of seconds from 0 to 3155760000 (100 years), "#
                + "found 1e+300"
        ),
        (#"{"base_url": 7}"#, #"option "base_url" must be a URL, found 7"#),
        (#"{"user_agent": true}"#, #"option "user_agent" must be a string or false, found true"#),
        (#"{"headers": ["A"]}"#, #"option "headers" must be an object of strings, found an array"#),
        (#"{"headers": {"A": 1}}"#, #"option "headers.A" must be a string, found 1"#),
        (
            #"{"headers": {"A": "x\r\ny"}}"#,
            #"option "headers.A": the value of header "A" holds a control character (CR, LF or NUL among them); "#
                + "remove or encode it"
        ),
        (
            #"{"max_body": "20XB"}"#,
            #"option "max_body" must be a number of bytes or a size like "20MB", found a string"#
        ),
        (
            #"{"max_body": "9999999999GB"}"#,
            #"option "max_body" must be a number of bytes or a size like "20MB", found a string"#
        ),
        (#"{"max_body": -1}"#, #"option "max_body" must be a number of bytes or a size like "20MB", found -1"#),
        (#"{"max_body": 1.5}"#, #"option "max_body" must be a number of bytes or a size like "20MB", found 1.5"#),
        (
            #"{"max_connections_per_host": 0}"#,
            #"option "max_connections_per_host" must be a whole number from 1 to 65535, found 0"#
        ),
        (#"{"tls": null}"#, #"option "tls" must be an object of ca_file and verify, found null"#),
        (#"{"tls": {"verify": 1}}"#, #"option "tls.verify" must be true or false, found 1"#),
        (#"{"auth": {}}"#, #"option "auth" is not supported by version 0.1.0 yet"#),
        (#"{"rate_limit": null}"#, #"option "rate_limit" is not supported by version 0.1.0 yet"#),
        ("[]", "the options must be an object, found an array"),
        (#"{"timeout": 1"#, "options: invalid JSON: expected ',' or '}' at line 1 column 14, the end of the text"),
    ])
    func badOptionsAreRefused(json: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try merged(json) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == message)
    }

    @Test func aRefusedMergeChangesNothing() {
        var configuration = Configuration()
        #expect(throws: NightjarError.self) { try configuration.merge(json: #"{"timeout": 1, "base_url": 7}"#) }
        #expect(configuration.timeouts == Configuration().timeouts)
    }

    @Test(arguments: [
        ("retyr", "retry"), ("RETRY", "retry"), ("time-out", "timeout"), ("timeuot", "timeout"), ("head", "headers"),
        ("t", nil), ("", nil), ("--", nil), ("something_else", nil), (String(repeating: "timeout", count: 1000), nil),
    ])
    func theNearestNameIsSuggested(written: String, nearest: String?) {
        #expect(nearestName(to: written, among: ["retry", "timeout", "headers"]) == nearest)
    }
}
