import NIOCore
import NightjarCrypto
import NightjarHTTP

/// What a ``DiskCache`` found: one variant of an answer, as it was at that moment.
public struct DiskEntry: Sendable {
    public let key: CacheKey
    public let response: StoredResponse
    /// Its row, and what was in it: another process may have put something else there since.
    let row: Int64
    let digest: [UInt8]
    /// SHA-256 of its body.
    let content: [UInt8]
    /// The body, unless it is in a file. Not yet verified.
    let inline: [UInt8]?
    /// Hits that its row knows of.
    let uses: Int64
}

/// How an entry's key, selecting fields and place are written into an index.
struct DiskNames {
    /// SHA-256 of URL and partition.
    let key: [UInt8]
    /// Of the URL alone.
    let url: [UInt8]
    let partition: [UInt8]

    init(_ key: CacheKey) {
        partition = DiskNames.bytes(key.partition)
        var text = Array(key.url.utf8)
        url = Array(Digest.sha256(text).prefix(16))
        // A URL has no NUL.
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

    /// Of the selecting fields, in whatever order they are named.
    static func variant(_ response: StoredResponse) -> [UInt8] {
        var text: [UInt8] = []
        for field in response.selecting.sorted(by: { ($0.name, $0.value ?? "") < ($1.name, $1.value ?? "") }) {
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

    /// Over all of a row that must be as it was written. The end of it is a number that says that it is valid: what
    /// invalidates puts another there, and no accident puts it back.
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
        // Never the number that stands for invalid.
        return (Array(digest.prefix(24)), Int64(bitPattern: number | 1))
    }
}
