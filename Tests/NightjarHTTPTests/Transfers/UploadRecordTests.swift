import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct UploadRecordTests {
    private var record: UploadRecord {
        var record = UploadRecord(.s3, url: "https://a.test/u?k=\"\\ü")
        record.identity = FileIdentity(size: 10, modified: -1, inode: .max, device: 3)
        (record.id, record.partSize, record.digest) = ("i<&>", 8, .test(.sha256, 7))
        return record
    }

    private func isRejected(_ text: String) -> Bool {
        do throws(NightjarError) {
            _ = try UploadRecord(text)
            return false
        } catch {
            return error.kind == .invalidArgument
        }
    }

    @Test func textIsReadAgain() throws {
        #expect(try UploadRecord(record.text) == record)
        for uploadProtocol in [UploadProtocol.tus, .resumable, .oci] {
            let other = UploadRecord(uploadProtocol, url: "")
            #expect(try UploadRecord(other.text) == other)
        }
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "1", #""x""#, #"{"nightjar_upload":1}"#,
        #"{"nightjar_upload":2,"protocol":"tus","url":"u"}"#,
        #"{"nightjar_upload":"1","protocol":"tus","url":"u"}"#, #"{"nightjar_upload":1,"protocol":"ftp","url":"u"}"#,
        #"{"nightjar_upload":1,"protocol":"tus"}"#, #"{"nightjar_upload":1,"protocol":"tus","url":1}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","file":1}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","file":[1,2,3]}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","file":[-1,2,3,4]}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","file":[1,2,3,"4"]}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","file":[1,2,3,18446744073709551616]}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","part_size":0}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","part_size":-1}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","part_size":1.5}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u","part_size":1099511627777}"#,
        #"{"nightjar_upload":1,"protocol":"tus","url":"u"} "x""#,
        #"{"nightjar_upload":1,"protocol":"s3","url":"u"}"#,
        #"{"nightjar_upload":1,"protocol":"s3","url":"u","id":"i"}"#,
        #"{"nightjar_upload":1,"protocol":"s3","url":"u","part_size":1}"#,
    ])
    func otherTextIsRejected(text: String) { #expect(isRejected(text)) }

    @Test func truncatedTextIsRejected() {
        let text = Array(record.text.utf8)
        for count in text.indices {
            #expect(isRejected(String(decoding: text[..<count], as: UTF8.self)), "\(count) bytes")
        }
    }

    /// A damaged text is rejected, or is another record with which a schedule does not trap.
    @Test func damagedTextDoesNotTrap() {
        let text = Array(record.text.utf8)
        for index in text.indices {
            for value in 0..<256 {
                var changed = text
                changed[index] = UInt8(value)
                converse(String(decoding: changed, as: UTF8.self), index)
            }
        }
    }

    private func converse(_ text: String, _ index: Int) {
        do throws(NightjarError) {
            _ = try UploadRecord(text)
        } catch {
            #expect(error.kind == .invalidArgument, "byte \(index)")
            return
        }
        var settings = UploadSettings()
        (settings.uploadProtocol, settings.resumeState) = (.s3, text)
        guard (try? settings.check()) != nil,
            var schedule = try? UploadSchedule(
                settings, method: .post, .file(FileIdentity(size: 10, modified: -1, inode: .max, device: 3)),
                contentType: "a/b")
        else { return }
        schedule.start()
        var random = SeededRandom(seed: 1)
        for body in ["", "<Part><PartNumber>1</PartNumber><ETag>t</ETag><Size>8</Size></Part>"] {
            schedule.responded(
                UploadResponse(
                    status: 200, Headers(), ByteBuffer(string: body), url: try! RequestURL("http://a.test/")),
                using: &random)
        }
    }

    // MARK: Settings

    private func problem(_ uploadProtocol: UploadProtocol, _ change: (inout UploadSettings) -> Void) -> String? {
        var settings = UploadSettings()
        settings.uploadProtocol = uploadProtocol
        change(&settings)
        do throws(NightjarError) {
            try settings.check()
            return nil
        } catch {
            #expect(error.kind == .invalidArgument)
            return error.message
        }
    }

    @Test func invalidSettingsAreRejected() {
        #expect(problem(.tus) { $0.attempts = 0 } == "attempts must be between 1 and 1000000, got 0")
        #expect(problem(.tus) { $0.chunkSize = 0 } == "chunk_size must be between 1 and 1099511627776, got 0")
        #expect(problem(.put) { $0.chunkSize = 1 }?.contains("sends one request; remove chunk_size") == true)
        #expect(problem(.tus) { $0.maximumRate = 0 }?.hasPrefix("max_rate must be between") == true)
        #expect(problem(.tus) { $0.retryDelay = .seconds(-1) }?.hasPrefix("retry_delay must be between") == true)
        #expect(problem(.oci) { $0.digest = .algorithm(.md5) } == "the protocol \"oci\" requires a sha256 checksum")
        for name in ["", "a b", "a,b", "ü", "a\n"] {
            #expect(problem(.tus) { $0.metadata = [(name: name, value: "x")] }?.contains("must be ASCII") == true)
        }
        let text = UploadRecord(.tus, url: "http://a.test/").text
        #expect(problem(.post) { $0.resumeState = text }?.contains("cannot continue an upload") == true)
        #expect(problem(.tus) { $0.resumeState = "{}" }?.hasPrefix("resume is not the state of an upload") == true)
        #expect(
            problem(.oci) { $0.resumeState = text }
                == "resume is the state of an upload with the protocol \"tus\", got the protocol \"oci\"")
        for uploadProtocol in UploadProtocol.allCases { #expect(problem(uploadProtocol) { _ in } == nil) }
    }
}
