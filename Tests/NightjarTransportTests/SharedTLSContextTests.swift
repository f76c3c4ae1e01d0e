import NIOSSL
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// Clients with equal TLS settings share one trust store.
@Suite struct SharedTLSContextTests {
    private func configuration(trusting authority: String? = nil, verifies: Bool = true) throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = verifies ? .noHostnameVerification : .none
        if let authority { tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authority)) }
        return tls
    }

    @Test func equalSettingsShareTheTrustStore() throws {
        let authority = try TestCertificates.shared().authority
        let first = SharedTLSContext.matching(try configuration(trusting: authority))
        let second = SharedTLSContext.matching(try configuration(trusting: authority))
        #expect(first === second)
        #expect(try first.loaded() === second.loaded())
    }

    @Test func differentSettingsHaveDifferentTrustStores() throws {
        let authority = try TestCertificates.shared().authority
        let trusting = SharedTLSContext.matching(try configuration(trusting: authority))
        let system = SharedTLSContext.matching(try configuration())
        let unverified = SharedTLSContext.matching(try configuration(trusting: authority, verifies: false))
        #expect(trusting !== system)
        #expect(trusting !== unverified)
        #expect(try trusting.loaded() !== unverified.loaded())
    }

    @Test func lastClientReleasesTheTrustStore() throws {
        weak var released: NIOSSLContext?
        do {
            // No other test uses this combination.
            var tls = try configuration()
            tls.applicationProtocols = ["released"]
            released = try SharedTLSContext.matching(tls).loaded()
        }
        #expect(released == nil)
    }
}
