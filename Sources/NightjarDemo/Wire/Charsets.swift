import NIOCore

/// `/text/{charset}`: a sentence in a charset that Content-Type names.
enum Charsets {
    /// A sentence with characters that ISO-8859-1 and Windows-1252 encode equally.
    static let common = "Naïve façade, Übergröße: ½ £, señor."
    /// A sentence with characters that ISO-8859-1 lacks. Windows-1252 encodes them as 0x80 to 0x9F.
    static let wide = "“Naïve” façade… costs 5 €—señor Žižka™."
    /// A sentence with a character that is a surrogate pair in UTF-16.
    static let astral = "Naïve façade 🐦 Ελλάδα."

    static func respond(_ request: Request) throws(Problem) -> Response {
        let name = (request.parameters["charset"] ?? "").lowercased()
        let (bytes, label): ([UInt8], String?) =
            switch name {
            case "latin1": (common.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }, "ISO-8859-1")
            case "windows-1252": (wide.unicodeScalars.compactMap(windows1252), "windows-1252")
            case "utf-8": (Array(astral.utf8), "utf-8")
            case "utf-8-bom": ([0xEF, 0xBB, 0xBF] + astral.utf8, nil)
            case "utf-16": ([0xFF, 0xFE] + utf16(littleEndian: true), "utf-16")
            case "utf-16be-bom": ([0xFE, 0xFF] + utf16(littleEndian: false), "utf-16")
            case "utf-16le": (utf16(littleEndian: true), "utf-16le")
            case "utf-16be": (utf16(littleEndian: false), "utf-16be")
            case "unlabelled": (common.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }, nil)
            case "broken-utf-8": (Array("Na".utf8) + [0xC3, 0x28, 0xFF] + Array("ve".utf8), "utf-8")
            case "unknown": (Array(astral.utf8), "x-demo")
            default:
                throw Problem(.notFound, "{charset} must be one of \(names.joined(separator: ", "))")
            }
        // Quotes and case of the label are irrelevant (RFC 9110 section 8.3.1).
        let isQuoted = request.query("quoted") == "true"
        let type = label.map { "text/plain; charset=" + (isQuoted ? "\"\($0)\"" : $0) } ?? "text/plain"
        return Response(.ok, headers: ["Content-Type": type], body: .bytes(ByteBuffer(bytes: bytes)))
    }

    private static let names = [
        "latin1", "windows-1252", "utf-8", "utf-8-bom", "utf-16", "utf-16be-bom", "utf-16le", "utf-16be", "unlabelled",
        "broken-utf-8", "unknown",
    ]

    private static func utf16(littleEndian: Bool) -> [UInt8] {
        astral.utf16.flatMap { unit in
            let low = UInt8(truncatingIfNeeded: unit)
            let high = UInt8(truncatingIfNeeded: unit >> 8)
            return littleEndian ? [low, high] : [high, low]
        }
    }

    private static func windows1252(_ scalar: Unicode.Scalar) -> UInt8? {
        if let byte = windowsOnly[scalar] { return byte }
        return scalar.value < 0x80 || (0xA0...0xFF).contains(scalar.value) ? UInt8(scalar.value) : nil
    }

    /// The characters at 0x80 to 0x9F that the sentence uses.
    private static let windowsOnly: [Unicode.Scalar: UInt8] = [
        "€": 0x80, "…": 0x85, "Ž": 0x8E, "“": 0x93, "”": 0x94, "—": 0x97, "™": 0x99, "ž": 0x9E,
    ]
}
