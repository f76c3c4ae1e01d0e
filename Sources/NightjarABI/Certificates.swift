import CNightjar
import Nightjar
import NightjarHTTP
import NightjarTransport

private typealias ClientCertificate = TransportConfiguration.TLS.ClientCertificate

@_cdecl("nj_config_set_ca_pem") @implementation
public func nj_config_set_ca_pem(_ config: OpaquePointer?, _ pem: UnsafePointer<CChar>?, _ length: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.tls.certificateAuthorities = try content(pem, length, "pem")
    }
}

@_cdecl("nj_config_set_client_certificate_pem") @implementation
public func nj_config_set_client_certificate_pem(
    _ config: OpaquePointer?, _ certificates: UnsafePointer<CChar>?, _ certificatesLength: Int,
    _ key: UnsafePointer<CChar>?, _ keyLength: Int, _ password: UnsafePointer<CChar>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        let certificates = try content(certificates, certificatesLength, "certificates")
        configuration.transport.tls.clientCertificate = ClientCertificate(
            .pemContents(
                certificates: certificates, key: key == nil ? certificates : try content(key, keyLength, "key")),
            password: try optional(password, "password"))
    }
}

@_cdecl("nj_config_set_client_certificate_pkcs12") @implementation
public func nj_config_set_client_certificate_pkcs12(
    _ config: OpaquePointer?, _ archive: UnsafeRawPointer?, _ length: Int, _ password: UnsafePointer<CChar>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.tls.clientCertificate = ClientCertificate(
            .pkcs12Contents(try content(archive, length, "archive")), password: try optional(password, "password"))
    }
}

/// Copies the content of a certificate file that C passes.
private func content(_ bytes: UnsafeRawPointer?, _ length: Int, _ name: String) throws(NightjarError) -> [UInt8] {
    guard let bytes else { throw NightjarError(.invalidArgument, "\(name) is NULL") }
    // A size_t beyond Int is negative here.
    guard 0...largestCertificateContent ~= length else {
        throw NightjarError(
            .invalidArgument,
            "the length of \(name) must be at most \(largestCertificateContent) bytes, got \(UInt(bitPattern: length))")
    }
    return Array(UnsafeRawBufferPointer(start: bytes, count: length))
}

/// The limit of certificate files also applies to their contents.
private let largestCertificateContent = 16 << 20

@_cdecl("nj_config_set_key_log_file") @implementation
public func nj_config_set_key_log_file(_ config: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.tls.keyLogFile = try optional(path, "path")
    }
}
