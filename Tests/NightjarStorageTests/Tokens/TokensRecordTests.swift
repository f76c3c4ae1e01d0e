import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct TokensRecordTests {
    private let key = EncryptionKey(bytes: Array(0..<32))

    @Test func everyChangedByteIsDetected() throws {
        for key in [nil, key] {
            let record = try #require(LoginRecord.encode(exampleLogin(pending: true), key: key, place: "place"))
            #expect(try LoginRecord.decode(record, key: key, place: "place") == exampleLogin(pending: true))
            for index in record.indices {
                var flipped = record
                flipped[index] ^= 1 << (index % 8)
                #expect(throws: LoginRecord.Failure.self) { try LoginRecord.decode(flipped, key: key, place: "place") }
                #expect(throws: LoginRecord.Failure.self) {
                    try LoginRecord.decode(Array(record[..<index]), key: key, place: "place")
                }
            }
            #expect(throws: LoginRecord.Failure.self) { try LoginRecord.decode(record + [0], key: key, place: "place") }
        }
    }

    /// A login in a keyring has no path that could be changed or moved.
    @Test func keyringReasonsContainNoAdviceForFiles() throws {
        let record = try #require(LoginRecord.encode(exampleLogin(), key: nil, place: ""))
        let encrypted = try #require(LoginRecord.encode(exampleLogin(), key: key, place: ""))
        let cases: [([UInt8], LoginRecord.Failure)] = [
            (Array("secret".utf8), .foreign), (record.enumerated().map { $0 == 8 ? 1 : $1 }, .older(1)),
            (record.enumerated().map { $0 == 8 ? 3 : $1 }, .newer(3)), (Array(record.dropLast()), .damaged),
            (encrypted, .needsKey),
        ]
        for (bytes, failure) in cases {
            let error = #expect(throws: LoginRecord.Failure.self) {
                try LoginRecord.decode(bytes, key: nil, place: "")
            }
            #expect(error == failure)
            #expect(failure.keyringReason.hasPrefix("contains "))
            for word in ["path", "move it away", "key that encrypted it"] {
                #expect(!failure.keyringReason.contains(word), "\(failure)")
            }
        }
    }

    @Test func encryptedRecordIsBoundToItsPath() throws {
        let record = try #require(LoginRecord.encode(exampleLogin(), key: key, place: "sqlite\0/a\0admin"))
        for place in ["sqlite\0/a\0mallory", "sqlite\0/b\0admin", "file\0/a", ""] {
            #expect(throws: LoginRecord.Failure.self) { try LoginRecord.decode(record, key: key, place: place) }
        }
    }

    @Test func tombstonesContainNoToken() throws {
        for key in [nil, key] {
            for ending in [StoredLogin.Ending.loggedOut, .refused] {
                let tombstone = StoredLogin(ending, lineage: .max, generation: .max, configured: 3)
                let record = try #require(LoginRecord.encode(tombstone, key: key, place: "place"))
                #expect(try LoginRecord.decode(record, key: key, place: "place") == tombstone)
            }
        }
    }

    /// The record after a token exchange needs no more space than the record before it.
    @Test func rotatedTokenUsesNoMoreSpace() throws {
        for length in [10, 1000, 3000, 50_000] {
            func size(_ length: Int, pending: Bool) throws -> Int {
                let text = String(repeating: "t", count: length)
                let login = StoredLogin(
                    token: Token(access: text, refresh: "refresh"), generation: 1,
                    pending: pending ? exampleLogin(pending: true).pending : nil)
                return try #require(LoginRecord.encode(login, key: key, place: "place")).count
            }
            let intent = try size(length, pending: true)
            #expect(try size(length, pending: false) <= intent)
            #expect(intent % 4096 == 0)
            #expect(intent - length >= 1024 + length / 4)
        }
    }

    @Test func recordsWithTheSameKeyDiffer() throws {
        let first = try #require(LoginRecord.encode(exampleLogin(), key: key, place: "place"))
        let second = try #require(LoginRecord.encode(exampleLogin(), key: key, place: "place"))
        #expect(first[24..<36] != second[24..<36])
        #expect(first[36...] != second[36...])
        #expect(!contains(first, "access-secret"))
        #expect(contains(try #require(LoginRecord.encode(exampleLogin(), key: nil, place: "place")), "access-secret"))
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    }

    @Test func endlessTokenIsRejected() {
        let text = String(repeating: "t", count: 1 << 20)
        #expect(
            LoginRecord.encode(StoredLogin(token: Token(access: text), generation: 1), key: nil, place: "place") == nil)
    }

    // MARK: Keys

    @Test func keyIsReadInEachForm() throws {
        let folder = try TemporaryDirectory()
        let hexadecimal = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F"
        let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let forms: [[UInt8]] = [
            Array(0..<32), Array(hexadecimal.utf8), Array("\(hexadecimal)\r\n".utf8), Array(base64.utf8),
            Array(" \(base64.dropLast())\n".utf8),
        ]
        for form in forms {
            let path = try folder.write("key", Bytes(form))
            chmod(path, 0o400)
            #expect(try EncryptionKey(file: path).bytes == Array(0..<32))
            unlink(path)
        }
        setenv("NIGHTJAR_TEST_KEY", base64, 1)
        #expect(try EncryptionKey(variable: "NIGHTJAR_TEST_KEY").bytes == Array(0..<32))
        setenv("NIGHTJAR_TEST_KEY", hexadecimal, 1)
        #expect(try EncryptionKey(variable: "NIGHTJAR_TEST_KEY").bytes == Array(0..<32))
    }

    @Test func invalidKeyIsRejected() throws {
        let folder = try TemporaryDirectory()
        for text in [
            "", "0g" + String(repeating: "0", count: 62), String(repeating: "A", count: 42), "long-secret-key-no",
        ] {
            let path = try folder.write("key", Bytes(Array(text.utf8)))
            chmod(path, 0o600)
            let error = failure { _ = try EncryptionKey(file: path) }
            #expect(error?.kind == .storage)
            #expect(error?.message.contains("secret") == false)
        }
        setenv("NIGHTJAR_TEST_NO_KEY", "secret", 1)
        #expect(
            failure { _ = try EncryptionKey(variable: "NIGHTJAR_TEST_NO_KEY") }?.message.contains("secret") == false)
        #expect(failure { _ = try EncryptionKey(variable: "NIGHTJAR_TEST_UNSET") }?.message.contains("not set") == true)
        #expect(
            failure { _ = try EncryptionKey(file: folder.file("none")) }?.message.contains("does not exist") == true)
        let path = try folder.write("open", Bytes(Array(0..<32)))
        chmod(path, 0o640)
        #expect(failure { _ = try EncryptionKey(file: path) }?.message.contains("chmod 600") == true)
    }
}
