import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct ProxyRulesTests {
    private func route(_ environment: [String: String], _ url: String) throws -> String {
        let rules = ProxyRules(environment: { environment[$0] })
        return switch try rules.route(to: RequestURL(url).origin) {
        case .direct: "direct"
        case .proxy(let proxy): proxy.description
        }
    }

    // MARK: The proxy's address

    @Test(arguments: [
        ("proxy", "http://proxy:1080"), ("proxy:3128", "http://proxy:3128"),
        ("HTTP://Proxy.Example", "http://proxy.example:1080"),
        ("http://proxy:80/", "http://proxy:80"), ("https://proxy", "https://proxy:443"),
        ("https://proxy:8443/x?y", "https://proxy:8443"), ("socks5://127.0.0.1", "socks5://127.0.0.1:1080"),
        ("socks5h://[::1]:9050", "socks5h://[::1]:9050"), ("[::1]", "http://[::1]:1080"),
        ("user:secret@proxy:1", "http://proxy:1"), ("socks5://u:secret@proxy", "socks5://proxy:1080"),
    ])
    func addressesAreReadAsInCurl(text: String, expected: String) throws {
        #expect(try ProxyAddress(text).description == expected)
    }

    @Test func userAndPasswordAreDecoded() throws {
        let proxy = try ProxyAddress("http://us%40er:p%3Aa:b@proxy")
        #expect(proxy.userInfo?.user == "us@er")
        #expect(proxy.userInfo?.password == "p:a:b")
        #expect(try ProxyAddress("http://u@proxy").userInfo?.password == nil)
        #expect(!"\(proxy)".contains("us"))
    }

    @Test(arguments: [
        ("", "the URL has no host; add one, as in http://host"),
        ("http://", "the URL has no host; add one, as in http://host"),
        (
            "socks4://p",
            "its scheme \"socks4\" means SOCKS 4, which is not supported; use socks5h:// if the proxy supports it"
        ),
        (
            "SOCKS4A://p",
            "its scheme \"socks4a\" means SOCKS 4, which is not supported; use socks5h:// if the proxy supports it"
        ),
        ("ftp://p", "its scheme \"ftp\" is not http, https, socks5 or socks5h"),
        ("http://u:secret@p q", "\" \" is not allowed in a host name"),
        (
            "http://u:se/cret@p",
            "the port is not a number from 1 to 65535; percent-encode / ? # @ in a password"
        ),
        ("p\r\nq", "the URL contains the control character 0xd; remove or encode the character"),
    ])
    func invalidAddressesAreRejected(text: String, why: String) throws {
        let error = try #require(throws: NightjarError.self) { try ProxyAddress(text) }
        #expect(error.kind == .invalidURL)
        #expect(error.message == "the proxy cannot be used: " + why)
    }

    @Test func randomTextDoesNotTrap() {
        for seed in UInt64(1)...2000 {
            var random = SeededRandom(seed: seed)
            let alphabet = Array("ap:/@[]%.1 \u{FC}".utf8) + [0, 10, 255]
            let bytes = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            do throws(NightjarError) {
                let proxy = try ProxyAddress(
                    (seed % 2 == 0 ? "socks5://" : "") + String(decoding: bytes, as: UTF8.self))
                #expect(1...65535 ~= proxy.port && !proxy.host.isEmpty, "seed \(seed)")
            } catch {
                #expect(error.kind == .invalidURL, "seed \(seed)")
            }
        }
    }

    // MARK: The environment

    @Test(
        arguments: [
            ([:], "direct", "direct"),
            (["http_proxy": "a"], "http://a:1080", "direct"),
            (["HTTP_PROXY": "a"], "direct", "direct"),
            (["https_proxy": "a"], "direct", "http://a:1080"),
            (["HTTPS_PROXY": "a"], "direct", "http://a:1080"),
            (["https_proxy": "a", "HTTPS_PROXY": "b"], "direct", "http://a:1080"),
            (["https_proxy": "", "HTTPS_PROXY": "b"], "direct", "http://b:1080"),
            (["all_proxy": "a"], "http://a:1080", "http://a:1080"),
            (["ALL_PROXY": "socks5h://a", "http_proxy": "b"], "http://b:1080", "socks5h://a:1080"),
            (["all_proxy": "a", "ALL_PROXY": "b"], "http://a:1080", "http://a:1080"),
            (["all_proxy": "a", "no_proxy": "host"], "direct", "direct"),
            (["all_proxy": "a", "NO_PROXY": "host"], "direct", "direct"),
            (["all_proxy": "a", "no_proxy": "other", "NO_PROXY": "host"], "http://a:1080", "http://a:1080"),
            (["all_proxy": "a", "no_proxy": "", "NO_PROXY": "host"], "direct", "direct"),
            (["all_proxy": "a", "no_proxy": "*"], "direct", "direct"),
        ] as [([String: String], String, String)])
    func environmentSelectsTheProxy(environment: [String: String], http: String, https: String) throws {
        #expect(try route(environment, "http://host/") == http)
        #expect(try route(environment, "https://host/") == https)
    }

    @Test func unusableProxyFailsOnlyRequestsThatNeedIt() throws {
        let environment = ["https_proxy": "socks4://p", "no_proxy": "direct.example"]
        #expect(try route(environment, "http://host/") == "direct")
        #expect(try route(environment, "https://direct.example/") == "direct")
        let error = try #require(throws: NightjarError.self) { try route(environment, "https://host/") }
        #expect(
            error.message == "the environment variable https_proxy: the proxy cannot be used: its scheme \"socks4\" "
                + "means SOCKS 4, which is not supported; use socks5h:// if the proxy supports it")
    }

    @Test func optionsOverrideTheEnvironment() throws {
        let origin = try RequestURL("http://a.example/").origin
        #expect(try ProxyRules.off.route(to: origin) == .direct)
        let proxy = try ProxyAddress("socks5://p")
        #expect(try ProxyRules(proxy).route(to: origin) == .proxy(proxy))
        #expect(try ProxyRules(proxy, exceptions: ProxyExceptions("example")).route(to: origin) == .direct)
    }
}
