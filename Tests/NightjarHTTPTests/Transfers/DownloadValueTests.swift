import Testing

@testable import NightjarHTTP

private func headers(_ name: String, _ value: String) -> Headers {
    var headers = Headers()
    try? headers.add(name, value)
    return headers
}

@Suite struct RangeSetTests {
    @Test func rangesAreMerged() {
        var set = RangeSet()
        for range in [10..<20, 0..<5, 30..<40, 5..<10, 19..<31] { set.insert(range) }
        #expect(set.ranges == [0..<40] && set.count == 40 && set.prefixEnd == 40)
    }

    @Test func firstGapIsBetweenRanges() {
        var set = RangeSet(5..<10)
        #expect(set.firstGap(below: 20) == 0..<5)
        set.insert(0..<3)
        #expect(set.firstGap(below: 20) == 3..<5)
        set.insert(3..<5)
        #expect(set.firstGap(below: 20) == 10..<20)
        #expect(set.firstGap(below: 10) == nil)
    }

    @Test func intersectionHasTheCommonPositions() {
        var one = RangeSet(0..<10)
        one.insert(20..<30)
        var two = RangeSet(5..<22)
        two.insert(25..<40)
        #expect(one.intersection(two).ranges == [5..<10, 20..<22, 25..<30])
        #expect(two.intersection(one) == one.intersection(two))
        #expect(one.intersection(RangeSet()).isEmpty)
    }

    /// Compares with a set of numbers.
    @Test func operationsEqualThoseOfASet() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var set = RangeSet()
            var model = Set<Int>()
            for _ in 0..<20 {
                let start = Int.random(in: 0..<50, using: &random)
                let range = start..<Int.random(in: start...50, using: &random)
                if Bool.random(using: &random) {
                    set.insert(range)
                    model.formUnion(range)
                } else {
                    set.remove(range)
                    model.subtract(range)
                }
                #expect(set.ranges.flatMap(Array.init) == model.sorted())
                #expect(zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
                let gap = (0..<50).filter { !model.contains($0) }
                #expect(set.firstGap(below: 50)?.lowerBound == gap.first)
            }
        }
    }
}

@Suite struct ChecksumTests {
    private let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    @Test func hexadecimalAndBase64AreRead() throws {
        let checksum = try Checksum("sha256:\(empty)")
        #expect(try checksum == Checksum("SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))
        #expect(checksum.description == "sha256:\(empty)")
    }

    @Test(arguments: ["", "sha256", "sha256:", "sha256:12", "crc32:12345678", "sha1:zz"])
    func invalidTextIsRejected(text: String) {
        #expect(throws: NightjarError.self) { try Checksum(text) }
    }

    /// RFC 9530 section 2 and 3.
    @Test func strongestDigestOfAFieldIsUsed() throws {
        let sha512 = String(repeating: "A", count: 86) + "=="
        let field = "md5=:abc=:, sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=: ,sha-512=:\(sha512):;a=1"
        #expect(Checksum(headers("Repr-Digest", field), field: "repr-digest")?.algorithm == .sha512)
        #expect(Checksum(headers("Repr-Digest", "sha-256=47DE"), field: "repr-digest") == nil)
        #expect(Checksum(headers("Repr-Digest", "sha-256=:47DE:"), field: "repr-digest") == nil)
        #expect(Checksum(Headers(), field: "repr-digest") == nil)
    }
}

@Suite struct FileNameTests {
    /// RFC 6266 section 5 and RFC 8187 section 3.2.3, and names that must not leave the folder.
    @Test(arguments: [
        (#"attachment; filename="example.html""#, "example.html"),
        ("attachment; filename=example.html", "example.html"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
        (#"attachment; filename="EURO rates"; filename*=utf-8''%e2%82%ac%20rates"#, "€ rates"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
        (#"attachment; filename="a\"b.txt""#, "a\"b.txt"),
        (#"attachment; filename="../../etc/passwd""#, "passwd"),
        (#"attachment; filename="C:\\temp\\x.txt""#, "x.txt"),
        (#"attachment; filename=".bashrc""#, "bashrc"),
        ("attachment; filename*=UTF-8''..%2f..%2fx", "x"),
        ("attachment; filename*=UTF-8''a%00b%0d%0a", "ab"),
        ("attachment; filename*=UTF-8''evil%e2%80%aegpj.exe", "evilgpj.exe"),
        ("attachment; filename*=UTF-8''%ff; filename=fallback", "fallback"),
        ("attachment; filename*=UTF-16''x; filename=fallback", "fallback"),
        ("attachment; filename=film.nightjar-part", "film_nightjar-part"),
        ("attachment; filename=film.Nightjar-PART.state", "film_Nightjar-PART.state"),
        ("attachment; filename=x.nightjar-part.nightjar-part.state", "x_nightjar-part_nightjar-part.state"),
        ("attachment; filename*=UTF-8''x.nightjar-part%CC%81", "x_nightjar-part\u{301}"),
    ])
    func suggestedNameIsSafe(field: String, name: String) {
        #expect(FileName.suggested(by: headers("Content-Disposition", field)) == name)
    }

    @Test(arguments: [
        "attachment", "", "attachment; filename=..", "attachment; filename=\"/\"", "x; filename*=UTF-8''.",
    ])
    func unusableNameIsIgnored(field: String) {
        #expect(FileName.suggested(by: headers("Content-Disposition", field)) == nil)
    }

    @Test func longNameKeepsItsExtension() {
        let name = FileName.safe(String(repeating: "é", count: 300) + ".tar.gz")
        #expect(name?.utf8.count ?? 999 <= 200)
        #expect(name?.hasSuffix(".gz") == true)
    }

    @Test(arguments: [("/a/b%20c.bin?x=1", "b c.bin"), ("/a/", "a"), ("/", nil), ("/..%2f..", nil)])
    func lastSegmentIsDecoded(path: String, name: String?) { #expect(FileName.last(of: path) == name) }
}

@Suite struct DownloadRecordTests {
    private var record: DownloadRecord {
        var record = DownloadRecord()
        (record.part, record.urlHash, record.boot) = ("/tmp/x.nightjar-part", "ab", "boot")
        record.validator = StrongValidator(.entityTag, "\"a\"")
        (record.total, record.modified, record.name) = (100, -5, "x")
        record.received = RangeSet(0..<10)
        record.received.insert(20..<30)
        record.digest = try? Checksum("md5:d41d8cd98f00b204e9800998ecf8427e")
        record.isSequential = false
        return record
    }

    @Test func textIsReadAgain() throws { #expect(try DownloadRecord(record.text) == record) }

    @Test(arguments: [
        (#""total":100"#, #""total":5"#), ("[0,10]", "[10,0]"), ("[0,10]", "[-1,10]"),
        ("[0,10]", "[0,9223372036854775807]"),
        (#"\"a\""#, #"W/\"a\""#), (#"\"a\""#, #"\"a\nb\""#), (#""nightjar_download":1"#, #""nightjar_download":2"#),
        (#""part""#, #""p""#), ("/tmp/x", "x"), ("/tmp/x", ""), ("/tmp/x", #"/tmp/\u0000x"#), ("[0,10]", "[0,10,20]"),
        ("[0,10]", "0"),
    ])
    func changedTextIsRejected(old: String, new: String) throws {
        let text = record.text
        let changed = text.replacing(old, with: new)
        #expect(changed != text)
        #expect(throws: NightjarError.self) { try DownloadRecord(changed) }
    }

    /// Each prefix of a text, as a killed process could have left it.
    @Test func truncatedTextIsRejected() {
        let text = record.text
        for count in 0..<text.count {
            #expect(throws: NightjarError.self) { try DownloadRecord(String(text.prefix(count))) }
        }
    }
}

@Suite struct TransferLimitTests {
    @Test func rateIsKept() {
        var limit = TransferLimit(1000)
        var now: UInt64 = 1_000_000_000
        var sent = 0
        for _ in 0..<100 {
            sent += 100
            now += UInt64(limit.delay(after: 100, at: now).nanosecondsClamped)
        }
        let seconds = Double(now - 1_000_000_000) / 1e9
        #expect(abs(Double(sent) / 1000 - 0.1 - seconds) < 0.01)
    }

    @Test func timeLeftFollowsTheRate() {
        var rate = TransferRate()
        rate.note(0, at: 0)
        #expect(rate.bytesPerSecond == nil)
        rate.note(1000, at: 1_000_000_000)
        #expect(rate.bytesPerSecond == 1000)
        #expect(rate.time(for: 500) == .seconds(0.5))
        rate.note(1000, at: 10_000_000_000)
        #expect(rate.time(for: 500) == nil)
    }
}
