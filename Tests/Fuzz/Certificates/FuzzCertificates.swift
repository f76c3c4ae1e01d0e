import NightjarBase
import NightjarCrypto

/// Fuzzes the reader of certificates, with PEM text or, if the first byte is that of an ASN.1 sequence, with DER.
/// Aborts if one of these invariants is violated:
///
/// - Errors are `invalidSettings` with a detail of bounded length.
/// - A certificate is encoded to the bytes from which it is decoded again.
/// - Texts and lists are bounded by the length of the certificate.
/// - Accepted certificates can be trusted by a client.
/// - Nothing traps, hangs or grows without bound.
func fuzzCertificates(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let text = input[0] == 0x30 ? pem(input) : input
    do throws(TLSFailure) {
        let certificates = try Certificate.certificates(pem: text)
        require(!certificates.isEmpty, "an empty list of certificates")
        for certificate in certificates { check(certificate) }
        var settings = TLSSettings()
        settings.authorities = .pem(text)
        _ = try TLSContext(settings)
    } catch {
        guard case .invalidSettings = error.reason else {
            require(false, "an error with another reason: \(error)")
            return 0
        }
        require(!error.detail.isEmpty && error.detail.utf8.count < 200, "an empty or too long detail")
    }
    return 0
}

private func pem(_ der: [UInt8]) -> [UInt8] {
    let base64 = Array(Base64.encode(der).utf8)
    var text = Array("-----BEGIN CERTIFICATE-----\n".utf8)
    for start in stride(from: 0, to: base64.count, by: 64) {
        text += base64[start..<min(start + 64, base64.count)] + [UInt8(ascii: "\n")]
    }
    return text + "-----END CERTIFICATE-----\n".utf8
}

private func check(_ certificate: Certificate) {
    let der = certificate.der
    require(!der.isEmpty, "a certificate without an encoding")
    let again = try? Certificate.certificates(pem: pem(der))
    require(again?.count == 1 && again?.first?.der == der, "the encoding is decoded differently")
    require([0, 32].contains(certificate.publicKeyDigest.count), "a digest of another size")
    // An unknown byte of a name is written as up to 5 characters, in a text of up to 4 bytes each.
    require(certificate.subject.utf8.count < der.count * 20 + 100, "a too long subject")
    require(certificate.issuer.utf8.count < der.count * 20 + 100, "a too long issuer")
    require(certificate.dnsNames.reduce(0) { $0 + $1.count } <= der.count, "too long names")
    require(certificate.addresses.reduce(0) { $0 + $1.count } <= der.count, "too long addresses")
    require(!certificate.keyDescription.isEmpty, "a key without a description")
    _ = certificate.validity
}

private func require(_ holds: Bool, _ claim: @autoclosure () -> String) {
    if !holds { fatalError(claim()) }
}
