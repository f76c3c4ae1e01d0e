import Testing

@testable import Nightjar

@Suite struct ConfigurationOptionsTests {
    @Test func everyOptionArrives() throws {
        var configuration = Configuration()
        try configuration.merge(
            JSONValue(
                parsing: """
                    {"base_url":"http://h/v1","headers":{"API-Version":"2"},"user_agent":"me/1",
                     "timeout":{"connect":1,"idle":2.5},"max_body":1000,"max_connections_per_host":3,
                     "idle_connection_lifetime":7,"tls":{"ca_file":"a.pem","verify":false}}
                    """))
        #expect(configuration.baseURL == "http://h/v1")
        #expect(configuration.headers["api-version"] == "2")
        #expect(configuration.userAgent == "me/1")
        #expect(
            configuration.timeouts == Timeouts(connect: .seconds(1), idle: .milliseconds(2500), total: .seconds(300)))
        #expect(configuration.maximumBody == 1000)
        #expect(configuration.transport.connectionsPerHost == 3)
        #expect(configuration.transport.idleConnectionLifetime == .seconds(7))
        #expect(configuration.transport.certificateAuthorityFile == "a.pem")
        #expect(!configuration.transport.verifiesCertificates)
    }

    @Test func aNumberIsTheTotalTimeout() throws {
        var configuration = Configuration()
        try configuration.merge(JSONValue(parsing: #"{"timeout":9}"#))
        #expect(configuration.timeouts.total == .seconds(9))
        #expect(configuration.timeouts.connect == .seconds(5))
    }

    @Test(arguments: [
        (#"{"base_urll":"x"}"#, #"unknown option "base_urll"; did you mean "base_url"?"#),
        (#"{"BaseURL":"x"}"#, #"unknown option "BaseURL"; did you mean "base_url"?"#),
        (#"{"timeout":{"totla":1}}"#, #"unknown option "timeout.totla"; did you mean "total"?"#),
        (#"{"timeout":{"zzz":1}}"#, #"unknown option "timeout.zzz"; known are connect, idle, total"#),
        (
            #"{"timeout":{"total":"3"}}"#,
            #"option "timeout.total" must be a number of seconds from 0 to 100 years, got a string"#
        ),
        (#"{"timeout":-1}"#, #"option "timeout" must be a number of seconds from 0 to 100 years, got -1"#),
        (#"{"headers":{"A":1}}"#, #"option "headers.A" must be a string, got 1"#),
        (#"{"headers":[]}"#, #"option "headers" must be an object, got an array"#),
        (
            #"{"max_connections_per_host":0}"#,
            #"option "max_connections_per_host" must be an integer from 1 to 65536, got 0"#
        ),
        (#"{"base_url":"a","base_url":"b"}"#, #"option "base_url" is given twice"#),
        (#"{"retry":{}}"#, #"option "retry" is not in version 0.1.0 yet"#),
        (#"[]"#, #"the options must be an object, got an array"#),
    ])
    func wrongOptionsAreToldAndChangeNothing(json: String, message: String) throws {
        var configuration = Configuration()
        configuration.baseURL = "http://before"
        let error = #expect(throws: NightjarError.self) { try configuration.merge(JSONValue(parsing: json)) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == message)
        #expect(configuration.baseURL == "http://before")
    }
}
