extension SecretNames {
    /// Returns true if a field is probably a credential, by its name or by the form of its value.
    package static func isSecret(field name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard !isPublic(name) else { return false }
        return isSecret(name, in: .field) || SecretShape.isToken(value)
            || SecretShape.isRandom(value) && !isIdentifier(name)
    }

    /// Returns true if a field of this name is probably a credential.
    package static func isSecret(field name: UnsafeRawBufferPointer) -> Bool {
        !isPublic(name) && isSecret(name, in: .field)
    }

    /// Returns true for common fields that are not treated as credentials. Fast, because nearly all requests have only
    /// such fields.
    private static func isPublic(_ name: UnsafeRawBufferPointer) -> Bool {
        ForwardedFields.isSafe(name) || name.count == 4 && ASCII.isCaseless(name, "host")
    }

    /// Returns true for fields whose values look random but are not credentials: request IDs, validators, digests.
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
    /// The name of the first field whose name suggests a credential.
    var firstSecret: String? {
        (0..<count).first { withBytes(at: $0) { name, _ in SecretNames.isSecret(field: name) } }.map(name)
    }

    /// Returns the name of the first field that is recognized as a credential, by its name or the form of its value.
    ///
    /// - Parameter sensitive: additional names of credentials.
    func firstCredential(sensitive: [String]) -> String? {
        (0..<count).first { index in
            withBytes(at: index) { name, value in
                SecretNames.isSecret(field: name, value)
                    || sensitive.contains { ASCII.equalIgnoringCase(name, $0.utf8) }
            }
        }.map(name)
    }

    /// The fields that are not recognized as credentials.
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

/// Returns true if a value with this name in a log line or a table is probably a credential.
public func isNameOfSecret(_ name: UnsafeRawBufferPointer) -> Bool {
    // Names with hyphens are HTTP fields. For other names, the rules for items exclude quantities such as "max_tokens".
    SecretNames.isSecret(name, in: name.contains(UInt8(ascii: "-")) ? .field : .item)
}
