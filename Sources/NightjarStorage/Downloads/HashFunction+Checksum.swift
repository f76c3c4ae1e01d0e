import NightjarCrypto
import NightjarHTTP

extension HashFunction {
    package init(_ algorithm: Checksum.Algorithm) {
        self =
            switch algorithm {
            case .md5: .md5
            case .sha1: .sha1
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
    }
}
