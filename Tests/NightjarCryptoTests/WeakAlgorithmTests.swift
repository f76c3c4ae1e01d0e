import NightjarCrypto
import Testing

@Suite struct WeakAlgorithmTests {
    /// BoringSSL rejects lists of cipher suites that contain an unknown name.
    @Test(arguments: 0..<(1 << WeakAlgorithm.allCases.count))
    func everyCombinationIsAccepted(bits: Int) throws {
        var settings = TLSSettings()
        settings.verifiesCertificates = false
        settings.weakAlgorithms = Set(
            WeakAlgorithm.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element))
        _ = try TLSContext(settings)
    }
}
