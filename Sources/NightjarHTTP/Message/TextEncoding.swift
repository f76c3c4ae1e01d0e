/// A character encoding, selected by its `charset` name. Implements the part of the WHATWG Encoding standard that API
/// responses use.
///
/// As in browsers, the labels iso-8859-1 and us-ascii select windows-1252, because most text with these labels is
/// windows-1252.
public enum TextEncoding: Sendable, Equatable {
    case utf8
    case windows1252
    case utf16LittleEndian
    case utf16BigEndian

    /// Selects the encoding with this label.
    ///
    /// - Parameter charset: a label, in any case.
    /// - Throws: `decoding` with the label if it is not supported.
    public init(charset: String) throws(NightjarError) {
        let label = String(decoding: ASCII.trimmed(charset.utf8).map(ASCII.lowercase), as: UTF8.self)
        guard let encoding = TextEncoding.labels[label] else {
            throw NightjarError(
                .decoding,
                "the charset \(quoted(charset)) of the text is not supported; read the body as bytes and decode them"
            )
        }
        self = encoding
    }

    /// Decodes the text of a body. A byte order mark takes precedence over the charset of the Content-Type and is
    /// removed. Without either, the encoding is UTF-8. Invalid sequences become U+FFFD.
    ///
    /// - Parameter contentType: the value of the Content-Type field.
    /// - Throws: `decoding` with the name of an unsupported charset.
    public static func text(
        of bytes: UnsafeRawBufferPointer, contentType: String?
    ) throws(NightjarError) -> String {
        if let (encoding, length) = byteOrderMark(of: bytes) {
            return encoding.decode(UnsafeRawBufferPointer(rebasing: bytes[length...]))
        }
        guard let contentType, let charset = MediaType(contentType)?.charset else { return utf8.decode(bytes) }
        return try TextEncoding(charset: charset).decode(bytes)
    }

    /// Decodes bytes that have no byte order mark.
    public func decode(_ bytes: UnsafeRawBufferPointer) -> String {
        switch self {
        case .utf8: String(decoding: bytes, as: UTF8.self)
        case .windows1252: TextEncoding.decodeWindows1252(bytes)
        case .utf16LittleEndian: TextEncoding.decodeUTF16(bytes) { UInt16(littleEndian: $0) }
        case .utf16BigEndian: TextEncoding.decodeUTF16(bytes) { UInt16(bigEndian: $0) }
        }
    }

    // MARK: Labels

    /// The labels of each encoding. Encoding standard, section 4.2.
    private static let labels: [String: TextEncoding] = {
        let names: [(TextEncoding, String)] = [
            (.utf8, "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"),
            (
                .windows1252,
                """
                ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 \
                iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252
                """
            ),
            (.utf16LittleEndian, "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le"),
            (.utf16BigEndian, "unicodefffe utf-16be"),
        ]
        var labels: [String: TextEncoding] = [:]
        for (encoding, list) in names {
            for name in list.split(separator: " ") { labels[String(name)] = encoding }
        }
        return labels
    }()

    /// Returns the encoding and length of the byte order mark, or nil if there is none. Encoding standard, section 6.1.
    private static func byteOrderMark(of bytes: UnsafeRawBufferPointer) -> (TextEncoding, length: Int)? {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16BigEndian, 2) }
        if bytes.starts(with: [0xFF, 0xFE]) { return (.utf16LittleEndian, 2) }
        return nil
    }

    // MARK: Decoding

    /// The characters of windows-1252 from 0x80 to 0x9F. The five unassigned bytes map to control characters.
    private static let highCharacters: [UInt16] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D,
        0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x009D, 0x017E, 0x0178,
    ]

    /// Decodes windows-1252. Writing UTF-8 bytes is twelve times as fast as appending characters to a String.
    private static func decodeWindows1252(_ bytes: UnsafeRawBufferPointer) -> String {
        highCharacters.withUnsafeBufferPointer { table in
            // Each character of windows-1252 has at most three bytes of UTF-8.
            String(unsafeUninitializedCapacity: 3 * bytes.count) { text in
                var end = 0
                func write(_ byte: UInt16) {
                    text[end] = UInt8(truncatingIfNeeded: byte)
                    end += 1
                }
                for byte in bytes {
                    let character = byte &- 0x80 < 32 ? table[Int(byte &- 0x80)] : UInt16(byte)
                    switch character {
                    case 0..<0x80: write(character)
                    case 0x80..<0x800:
                        write(0xC0 | character >> 6)
                        write(0x80 | character & 0x3F)
                    default:
                        write(0xE0 | character >> 12)
                        write(0x80 | character >> 6 & 0x3F)
                        write(0x80 | character & 0x3F)
                    }
                }
                return end
            }
        }
    }

    private static func decodeUTF16(_ bytes: UnsafeRawBufferPointer, _ order: (UInt16) -> UInt16) -> String {
        let units = (0..<bytes.count / 2).map { order(bytes.loadUnaligned(fromByteOffset: 2 * $0, as: UInt16.self)) }
        let text = String(decoding: units, as: UTF16.self)
        // A trailing lead surrogate followed by half a code unit is one error, not two.
        let isWaiting = units.last.map(UTF16.isLeadSurrogate) ?? false
        return bytes.count % 2 == 0 || isWaiting ? text : text + "\u{FFFD}"
    }
}
