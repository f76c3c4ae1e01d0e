import Nightjar
import NightjarHTTP
import NightjarTransport
import Testing

/// The JSON form of the options for the addresses of connections and of https_only.
@Suite struct AddressOptionsTests {
    private func configuration(_ json: String...) throws(NightjarError) -> Configuration {
        var configuration = Configuration()
        for json in json { try configuration.merge(json: json) }
        return configuration
    }

    @Test func everyOptionIsRead() throws {
        let configuration = try configuration(
            """
            {"resolve": ["a.test:80:127.0.0.1"], "ip_family": "ipv4", "local_address": "127.0.0.2", "interface": "lo",
             "address_filter": "public", "https_only": true}
            """)
        let transport = configuration.transport
        #expect(try transport.resolve == ResolveEntries(["a.test:80:127.0.0.1"]))
        #expect(transport.ipFamily == .ipv4)
        #expect(transport.localAddress?.description == "127.0.0.2")
        #expect(transport.interface == "lo")
        #expect(transport.addressFilter == .publicOnly)
        #expect(configuration.httpsOnly == HTTPSOnly())
    }

    @Test func optionsCanBeReset() throws {
        let configuration = try configuration(
            #"{"resolve": ["a.test:80:127.0.0.1"], "ip_family": "ipv6", "local_address": "::1", "interface": "lo"}"#,
            #"{"address_filter": "public", "https_only": {}}"#,
            #"{"resolve": {}, "ip_family": "any", "local_address": null, "interface": null}"#,
            #"{"address_filter": false, "https_only": false}"#)
        let transport = configuration.transport
        #expect(transport.resolve.isEmpty && transport.ipFamily == nil && transport.localAddress == nil)
        #expect(transport.interface == nil && transport.addressFilter == nil && configuration.httpsOnly == nil)
    }

    @Test func tablesHaveDefaults() throws {
        let filter = try configuration(#"{"address_filter": {"allow": ["10.1.0.0/16"]}}"#).transport.addressFilter
        #expect(try filter == AddressFilter(denying: ["non_public"], allowing: ["10.1.0.0/16"]))
        let other = try configuration(#"{"address_filter": {"deny": ["private"], "allow_proxies": true}}"#)
        #expect(try other.transport.addressFilter == AddressFilter(denying: ["private"], allowsProxies: true))
        let httpsOnly = try configuration(#"{"https_only": {"except": ["localhost", "*.internal"]}}"#).httpsOnly
        #expect(try httpsOnly == HTTPSOnly(except: ["localhost", "*.internal"]))
    }

    @Test(arguments: [
        (#"{"ip_family": "ip4"}"#, #"option "ip_family" must be "any", "ipv4" or "ipv6", got "ip4""#),
        (
            #"{"local_address": "eth0"}"#,
            #""eth0" is not an IP address; write an address such as "192.0.2.1" or "2001:db8::1""#
        ),
        (#"{"address_filter": true}"#, #"option "address_filter" must be "public", a table or false, found a boolean"#),
        (#"{"https_only": 1}"#, #"option "https_only" must be true, false or a table, found an integer"#),
        (#"{"resolve": "a"}"#, #"option "resolve" must be a list of strings, found a string"#),
    ])
    func invalidValueIsReported(json: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try configuration(json) }
        #expect(error?.message == message)
    }
}
