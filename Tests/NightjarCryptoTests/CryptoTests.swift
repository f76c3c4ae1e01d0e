import NightjarCrypto
import Testing

@Suite struct CryptoTests {
    /// Examples of FIPS 180-4 (csrc.nist.gov) and RFC 1321 appendix A.5.
    @Test func digestsMatchTheirStandards() {
        let two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        let expected: [(([UInt8]) -> [UInt8], String, String)] = [
            (Digest.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (Digest.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (Digest.sha256, two, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
            (Digest.sha512_256, "", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
            (Digest.sha512_256, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            (Digest.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
            (Digest.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
            (Digest.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ]
        for (digest, text, hexadecimal) in expected { #expect(digest(Array(text.utf8)) == bytes(hexadecimal)) }
    }

    /// The digest of "abc" (FIPS 180-4, RFC 1321) and HMAC test case 2 (RFC 2202, RFC 4231), in pieces of each size.
    @Test(arguments: [
        (HashFunction.md5, nil, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha1, nil, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, nil, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384, nil,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512, nil,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (.sha1, "Jefe", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (.sha256, "Jefe", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    ])
    func incrementalHashesMatchTheirStandards(function: HashFunction, key: String?, hexadecimal: String) throws {
        let text = Array((key == nil ? "abc" : "what do ya want for nothing?").utf8)
        for size in 1...text.count {
            let hash =
                if let key {
                    try #require(Array(key.utf8).withUnsafeBytes { RunningHash(function, key: $0) })
                } else {
                    try #require(RunningHash(function))
                }
            for start in stride(from: 0, to: text.count, by: size) {
                text[start..<min(start + size, text.count)].withUnsafeBytes(hash.update)
            }
            #expect(hash.finish() == bytes(hexadecimal))
        }
    }

    @Test func emptyHMACKeyIsAllowed() throws {
        let hash = try #require(RunningHash(.sha256, key: UnsafeRawBufferPointer(start: nil, count: 0)))
        #expect(hash.finish() == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    }

    /// Test cases 13 to 16 in appendix B of McGrew and Viega, "The Galois/Counter Mode of Operation".
    @Test func sealingMatchesTheTestVectors() {
        let zero = [UInt8](repeating: 0, count: 32)
        let nonce = [UInt8](repeating: 0, count: 12)
        let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let iv = bytes("cafebabefacedbaddecaf888")
        let text = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255")
        let hidden =
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
        let context = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let cases: [([UInt8], [UInt8], [UInt8], [UInt8], String)] = [
            (zero, nonce, [], [], "530f8afbc74536b9a963b4f1c4cb738b"),
            (
                zero, nonce, [UInt8](repeating: 0, count: 16), [],
                "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
            ),
            (key, iv, text, [], hidden + "b094dac5d93471bdec1a502270e3cc6c"),
            (
                key, iv, Array(text.dropLast(4)), context,
                String(hidden.dropLast(8)) + "76fc6ece0f4e1768cddf8853bb2d551b"
            ),
        ]
        for (key, nonce, text, context, sealed) in cases {
            #expect(AEAD.seal(text, key: key, nonce: nonce, context: context) == bytes(sealed))
            #expect(AEAD.open(bytes(sealed), key: key, nonce: nonce, context: context) == text)
        }
    }

    @Test func changedCiphertextIsRejected() throws {
        let key = SecureRandom.bytes(32)
        let nonce = SecureRandom.bytes(12)
        let sealed = try #require(AEAD.seal(Array("secret".utf8), key: key, nonce: nonce, context: [1, 2]))
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(AEAD.open(changed, key: key, nonce: nonce, context: [1, 2]) == nil)
        }
        for count in 0..<sealed.count {
            #expect(AEAD.open(Array(sealed.prefix(count)), key: key, nonce: nonce, context: [1, 2]) == nil)
        }
        #expect(AEAD.open(sealed, key: SecureRandom.bytes(32), nonce: nonce, context: [1, 2]) == nil)
        #expect(AEAD.open(sealed, key: key, nonce: SecureRandom.bytes(12), context: [1, 2]) == nil)
        #expect(AEAD.open(sealed, key: key, nonce: nonce) == nil)
    }

    @Test func otherKeySizesAreRejected() {
        let (key, nonce) = (SecureRandom.bytes(32), SecureRandom.bytes(12))
        #expect(AEAD.seal([1], key: Array(key.dropLast()), nonce: nonce) == nil)
        #expect(AEAD.seal([1], key: key, nonce: nonce + [0]) == nil)
        #expect(SecureRandom.bytes(0) == [])
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
}
