import NIOCore
import NightjarCrypto
import NightjarHTTP

/// One variant of a response as found by a ``DiskCache``.
package struct DiskEntry: Sendable {
    package let key: CacheKey
    package let response: StoredResponse
    /// The row of the entry and the digest of the row. The digest detects that another process has replaced the row.
    let row: Int64
    let digest: [UInt8]
    /// The SHA-256 of the body.
    let content: [UInt8]
    /// The body, unless it is in a file. Its checksum is not verified yet.
    let inline: [UInt8]?
    /// The number of hits stored in the row.
    let uses: Int64
}

/// The encodings of a key, its URL and its partition in an index.
struct DiskNames {
    /// The SHA-256 of URL and partition.
    let key: [UInt8]
    /// The first 16 bytes of the SHA-256 of the URL.
    let url: [UInt8]
    let partition: [UInt8]

    init(_ key: CacheKey) {
        partition = DiskNames.bytes(key.partition)
        var text = Array(key.url.utf8)
        url = Array(Digest.sha256(text).prefix(16))
        // NUL is a separator that no URL contains.
        text.append(0)
        text += partition
        self.key = Digest.sha256(text)
    }

    static func url(_ url: String) -> [UInt8] { Array(Digest.sha256(Array(url.utf8)).prefix(16)) }

    static func bytes(_ partition: CachePartition) -> [UInt8] {
        [partition.high, partition.low].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
        }
    }

    /// Returns a name for the selecting fields, independent of their order.
    static func variant(_ response: StoredResponse) -> [UInt8] {
        var text: [UInt8] = []
        for field in response.variantFields.sorted(by: { ($0.name, $0.value ?? "") < ($1.name, $1.value ?? "") }) {
            text += field.name.utf8
            text.append(0)
            if let value = field.value {
                text.append(1)
                text += value.utf8
            }
            text.append(0)
        }
        return Array(Digest.sha256(text).prefix(16))
    }

    /// Returns a checksum over the columns that describe the response, and a number that marks the row as valid.
    ///
    /// The number consists of eight bytes of the checksum. An invalidation replaces the number by 0, and damage to the
    /// file cannot restore it by chance.
    static func seal(
        _ names: DiskNames, variant: [UInt8], shown: String, head: [UInt8], content: [UInt8]
    ) -> (digest: [UInt8], valid: Int64) {
        var text: [UInt8] = []
        text.reserveCapacity(head.count + shown.utf8.count + 160)
        text += names.key
        text += names.url
        text += names.partition
        text += variant
        text += content
        text += shown.utf8
        text.append(0)
        text += head
        let digest = Digest.sha256(text)
        let number = digest[24...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The number is never 0, because 0 means invalid.
        return (Array(digest.prefix(24)), Int64(bitPattern: number | 1))
    }
}
