import Testing

@testable import NightjarHTTP

/// The addresses that a filter denies, and the reasons. RFC 6890 and the IANA special-purpose address registries.
@Suite struct AddressFilterTests {
    private func denial(_ address: String, _ filter: AddressFilter = .publicOnly) throws -> String? {
        filter.denial(of: try IPAddress(address))
    }

    @Test(arguments: [
        ("0.0.0.0", "unspecified"), ("0.255.255.255", "unspecified"), ("10.0.0.0", "private"),
        ("10.255.255.255", "private"), ("100.64.0.0", "shared"), ("100.127.255.255", "shared"),
        ("127.0.0.1", "loopback"), ("127.255.255.255", "loopback"), ("169.254.169.254", "link_local"),
        ("172.16.0.0", "private"), ("172.31.255.255", "private"), ("192.0.0.170", "reserved"),
        ("192.0.2.1", "documentation"), ("192.88.99.1", "reserved"), ("192.168.0.0", "private"),
        ("198.18.0.0", "reserved"), ("198.19.255.255", "reserved"), ("198.51.100.1", "documentation"),
        ("203.0.113.255", "documentation"), ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"), ("255.255.255.255", "reserved"),
        ("::", "unspecified"), ("::1", "loopback"), ("100::1", "reserved"), ("2001::1", "reserved"),
        ("2001:2::1", "reserved"), ("2001:1ff::1", "reserved"), ("2001:db8::1", "documentation"),
        ("3fff:fff::1", "documentation"), ("4000::1", "reserved"), ("5f00::1", "reserved"), ("fc00::1", "private"),
        ("fd00:ec2::254", "private"), ("fe80::1", "link_local"), ("febf::1", "link_local"), ("fec0::1", "private"),
        ("ff02::1", "multicast"), ("64:ff9b:1::808:808", "reserved"),
    ])
    func classOfADeniedAddress(address: String, category: String) throws {
        #expect(try denial(address) == category)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2000::1", "2001:200::1", "2606:4700::1111",
        "3ffe::1", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1",
    ])
    func publicAddressIsAllowed(address: String) throws {
        #expect(try denial(address) == nil)
    }

    @Test(arguments: [
        ("::ffff:10.0.0.1", "private, by an embedded IPv4 address"),
        ("::ffff:a9fe:a9fe", "link_local, by an embedded IPv4 address"),
        ("64:ff9b::7f00:1", "loopback, by an embedded IPv4 address"),
        ("2002:7f00:1::1", "loopback, by an embedded IPv4 address"),
        ("2002:a9fe:a9fe::", "link_local, by an embedded IPv4 address"),
        ("2606:4700::5efe:10.0.0.1", "private, by an embedded IPv4 address"),
        ("2606:4700::200:5efe:10.0.0.1", "private, by an embedded IPv4 address"),
        ("::127.0.0.1", "reserved"), ("::ffff:0:10.0.0.1", "reserved"), ("64:ff9b:1::a00:1", "reserved"),
    ])
    func embeddedAddressIsChecked(address: String, reason: String) throws {
        #expect(try denial(address) == reason)
    }

    /// The embedded address is checked also if the class of the IPv6 address itself is not denied.
    @Test(arguments: [
        "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b:1::a00:1", "2001:0:a00:1::1", "2001:0:101:101::f5ff:fffe",
    ])
    func embeddedAddressIsCheckedForSingleClasses(address: String) throws {
        let filter = try AddressFilter(denying: ["private"])
        #expect(try denial(address, filter) == "private, by an embedded IPv4 address")
        #expect(try denial("::1", filter) == nil)
    }

    /// A local prefix for NAT64 has 48, 56, 64 or 96 bits. RFC 6052 section 2.2.
    @Test(arguments: [
        "64:ff9b:1:a9fe:a9:fe00:808:808", "64:ff9b:1:5a9:fe:a9fe:0:0", "64:ff9b:1:505:a9:fea9:fe00:0",
        "64:ff9b:1::a9fe:a9fe",
    ])
    func localNAT64IsCheckedForEachPrefix(address: String) throws {
        let filter = try AddressFilter(allowing: ["64:ff9b:1::/48"])
        #expect(try denial(address, filter) == "link_local, by an embedded IPv4 address")
        #expect(try denial("64:ff9b:1::808:808", filter) == nil)
    }

    @Test func allowListHasPrecedence() throws {
        let filter = try AddressFilter(allowing: ["10.1.0.0/16", "loopback", "fd00::1"])
        #expect(try denial("10.1.2.3", filter) == nil)
        #expect(try denial("::ffff:10.1.2.3", filter) == nil)
        #expect(try denial("10.2.0.1", filter) == "private")
        #expect(try denial("127.0.0.1", filter) == nil)
        #expect(try denial("fd00::1", filter) == nil)
        #expect(try denial("fd00::2", filter) == "private")
    }

    @Test func rulesMayBeNetworks() throws {
        let filter = try AddressFilter(denying: ["0.0.0.0/0", "::/0"], allowing: ["8.8.8.8", "2001:db8:0:0::/33"])
        #expect(try denial("1.1.1.1", filter) == "0.0.0.0/0")
        #expect(try denial("2606:4700::1", filter) == "::/0")
        #expect(try denial("8.8.8.8", filter) == nil)
        #expect(try denial("2001:db8:7fff::", filter) == nil)
        #expect(try denial("2001:db8:8000::", filter) == "::/0")
        #expect(try denial("10.0.0.1", AddressFilter(denying: [])) == nil)
    }

    @Test(arguments: [
        "", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0/8", "::/129", "fe80::1%eth0", "localhost",
        "10.0.0.0/8/8", "[10.0.0.1]", "010.0.0.1",
    ])
    func invalidRuleIsRejected(rule: String) {
        #expect(throws: NightjarError.self) { try AddressFilter(denying: [rule]) }
    }

    @Test func nearestClassIsNamed() {
        let error = #expect(throws: NightjarError.self) { try AddressFilter(allowing: ["privat"]) }
        #expect(
            error?.message
                == #"the address filter rule "privat" is neither a class of addresses nor a network; did you mean "private"?"#
        )
    }

    @Test(arguments: [
        ("10.0.0.1/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("10.0.0.0/8", "::a00:1", false),
        ("::/0", "ffff::", true), ("0.0.0.0/0", "255.1.1.1", true), ("[2001:db8::]/32", "2001:db8::5", true),
    ])
    func networkContainsAddresses(network: String, address: String, isInside: Bool) throws {
        #expect(try IPNetwork(network).contains(IPAddress(address)) == isInside)
    }

    @Test func addressesHaveTheirShortestForm() throws {
        #expect(try IPAddress("2001:DB8:0:0::1").description == "2001:db8::1")
        #expect(try IPAddress("[::1]").description == "::1")
        #expect(try IPAddress("192.0.2.1").bytes == [192, 0, 2, 1])
        #expect(try IPNetwork("10.0.0.0/8").description == "10.0.0.0/8")
    }
}
