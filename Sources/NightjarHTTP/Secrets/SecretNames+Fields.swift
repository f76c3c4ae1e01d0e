extension SecretNames {
    /// Returns true if a field is probably a credential, by its name or by the form of its value.
    package static func isSecret(field name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard !isPublic(name) else { return false }
        if ASCII.isCaseless(name, "sec-websocket-protocol") {
            return !tokens(subprotocols: Array(value)).isEmpty
        }
        return isSecret(name, in: .field) || SecretShape.isToken(value)
            || SecretShape.isRandom(value) && !isIdentifier(name)
    }

    /// Returns the tokens in a list of WebSocket subprotocols. A browser cannot set the Authorization of a WebSocket, so
    /// some servers accept a token as a subprotocol: after the subprotocol `bearer` or `access_token`, or in one item
    /// after a name, such as `base64url.bearer.authorization.k8s.io.TOKEN` of Kubernetes and
    /// `openai-insecure-api-key.TOKEN` of OpenAI.
    ///
    /// An item that contains a token is returned as a whole, and also the part after the name, and the last word.
    static func tokens(subprotocols list: [UInt8]) -> [[UInt8]] {
        var tokens: [[UInt8]] = []
        var followsName = false
        for part in list.split(separator: UInt8(ascii: ",")) {
            let item = Array(ASCII.trimmed(part))
            let words = item.split(separator: UInt8(ascii: "."))
            let name = words.dropLast().lastIndex { isSecret($0, in: .item) }
            let isToken =
                name != nil || followsName
                || ([item[...]] + words).contains {
                    SecretShape.isToken($0) || SecretShape.isRandom($0)
                }
            if isToken {
                tokens.append(item)
                if let name {
                    tokens.append(Array(words[(name + 1)...].joined(separator: [UInt8(ascii: ".")])))
                    tokens.append(Array(words[words.count - 1]))
                }
            }
            followsName = !isToken && isSecret(item, in: .item)
        }
        return tokens
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
