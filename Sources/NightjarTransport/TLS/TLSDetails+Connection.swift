import NightjarBase
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

extension TLSDetails {
    /// Reads the results of a complete handshake.
    convenience init(_ connection: TLSConnection) {
        let chain = connection.servedChain
        self.init(
            version: String(connection.version.trimmingPrefix("TLSv")), cipher: connection.cipher,
            group: connection.group, isClassical: !connection.offersPostQuantum, isResumed: connection.isResumed,
            applicationProtocol: connection.applicationProtocol
        ) {
            chain.map(TLSDetails.Certificate.init)
        }
    }
}

extension TLSDetails.Certificate {
    fileprivate init(_ certificate: NightjarCrypto.Certificate) {
        let validity = certificate.validity ?? 0...0
        self.init(
            subject: certificate.subject, issuer: certificate.issuer,
            names: certificate.dnsNames.map { String(decoding: $0, as: UTF8.self) }
                + certificate.addresses.compactMap(TLSDetails.Certificate.text(of:)),
            notBefore: Timestamp(secondsSince1970: validity.lowerBound) ?? .epoch,
            notAfter: Timestamp(secondsSince1970: validity.upperBound) ?? .epoch,
            key: certificate.keyDescription, pin: "sha256/" + Base64.encode(certificate.publicKeyDigest))
    }

    /// Returns the text form of an IP address of 4 or 16 bytes.
    private static func text(of address: [UInt8]) -> String? {
        guard address.count == 4 || address.count == 16 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let family = address.count == 4 ? AF_INET : AF_INET6
            guard inet_ntop(family, address, buffer.baseAddress, socklen_t(buffer.count)) != nil,
                let start = buffer.baseAddress
            else { return nil }
            return String(cString: start)
        }
    }
}
