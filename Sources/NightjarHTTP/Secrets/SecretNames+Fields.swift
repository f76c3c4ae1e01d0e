extension SecretNames {
    /// Whether a field of this name and value is most likely a credential: by its name, or by the shape of its value.
    static func isSecret(field name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard !isHarmless(name) else { return false }
        return isSecret(name, in: .field) || SecretShape.isToken(value)
            || SecretShape.isRandom(value) && !isIdentifier(name)
    }

    /// Whether a field of this name is most likely a credential.
    static func isSecret(field name: UnsafeRawBufferPointer) -> Bool {
        !isHarmless(name) && isSecret(name, in: .field)
    }

    /// What nearly all requests have, without a look at the words.
    private static func isHarmless(_ name: UnsafeRawBufferPointer) -> Bool {
        ForwardedFields.isSafe(name) || name.count == 4 && ASCII.isCaseless(name, "host")
    }

    /// Fields whose values look random and are no credentials: identifiers of requests, validators, digests.
    private static func isIdentifier(_ name: UnsafeRawBufferPointer) -> Bool {
        let letters = String(decoding: letters(name), as: UTF8.self)
        return letters.hasSuffix("id") || identifiers.contains(where: letters.contains)
    }

    private static let identifiers = [
        "trace", "span", "etag", "digest", "hash", "checksum", "md5", "sha", "version", "revision", "commit", "build",
        "b3", "amzid", "cfray", "policy", "baggage",
    ]
}

extension Headers {
    /// The name of the first field that carries credentials, by its name.
    var firstSecret: String? {
        (0..<count).first { withBytes(at: $0) { name, _ in SecretNames.isSecret(field: name) } }.map(name)
    }

    /// The fields that carry no credentials.
    public var withoutCredentials: Headers {
        var others = Headers()
        for index in 0..<count {
            withBytes(at: index) { name, value in
                if !SecretNames.isSecret(field: name, value) { others.append(name: name, value: value) }
            }
        }
        return others
    }
}

/// Whether the value of this name, a field of a log line or of a table, is most likely a credential.
public func isNameOfSecret(_ name: UnsafeRawBufferPointer) -> Bool {
    // "max_tokens" is an amount, and a field of HTTP is named with hyphens.
    SecretNames.isSecret(name, in: name.contains(UInt8(ascii: "-")) ? .field : .item)
}
