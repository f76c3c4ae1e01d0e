import NightjarCrypto
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// Clients with equal TLS settings share one trust store.
@Suite struct SharedTLSContextTests {
    private func settings(trusting authority: String? = nil, verifies: Bool = true) throws -> TLSSettings {
        var settings = TLSSettings()
        settings.verifiesCertificates = verifies
        if let authority { settings.authorities = .pem(try Certificate.contents(ofFile: authority)) }
        return settings
    }

    @Test func equalSettingsShareTheTrustStore() throws {
        let authority = try TestCertificates.shared().authority
        let first = SharedTLSContext.matching(try settings(trusting: authority))
        let second = SharedTLSContext.matching(try settings(trusting: authority))
        #expect(first === second)
        #expect(try first.loaded() === second.loaded())
    }

    @Test func differentSettingsHaveDifferentTrustStores() throws {
        let authority = try TestCertificates.shared().authority
        let trusting = SharedTLSContext.matching(try settings(trusting: authority))
        let system = SharedTLSContext.matching(try settings())
        let unverified = SharedTLSContext.matching(try settings(trusting: authority, verifies: false))
        var logging = try settings(trusting: authority)
        logging.logsKeys = true
        #expect(SharedTLSContext.matching(logging) !== trusting)
        #expect(trusting !== system)
        #expect(trusting !== unverified)
        #expect(try trusting.loaded() !== unverified.loaded())
    }

    @Test func lastClientReleasesTheTrustStore() throws {
        weak var released: TLSContext?
        do {
            // No other test uses this combination.
            var settings = try settings()
            settings.applicationProtocols = ["released"]
            released = try SharedTLSContext.matching(settings).loaded()
        }
        #expect(released == nil)
    }
}
