/// Fields that carry credentials. As defaults they are meant for the base URL's origin and go to no other: a path taken
/// from elsewhere that happens to be an absolute URL must not carry them away.
enum CredentialField {
    /// The name of the first field that carries credentials.
    static func first(in headers: Headers) -> String? {
        (0..<headers.count).first { headers.withBytes(at: $0) { name, _ in isOne(name) } }.map(headers.name)
    }

    /// Known ones, and those whose names speak of credentials.
    static func isOne(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count == 13 && ASCII.isCaseless(name, "authorization")
            || name.count == 6 && ASCII.isCaseless(name, "cookie")
        {
            return true
        }
        return (0..<name.count).contains { start in
            func says(_ word: StaticString) -> Bool {
                let end = start + word.utf8CodeUnitCount
                return end <= name.count && ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[start..<end]), word)
            }
            switch ASCII.lowercase(name[start]) {
            case UInt8(ascii: "t"): return says("token")
            case UInt8(ascii: "s"): return says("secret") || says("session") || says("signature")
            case UInt8(ascii: "a"): return says("apikey")
            case UInt8(ascii: "p"): return says("password") || says("proxy-authorization")
            case UInt8(ascii: "c"): return says("credential")
            case UInt8(ascii: "-"): return says("-auth") || start == name.count - 4 && says("-key")
            default: return false
            }
        }
    }
}

extension Headers {
    /// Those that carry no credentials.
    public var withoutCredentials: Headers {
        var others = Headers()
        for index in 0..<count {
            withBytes(at: index) { name, value in
                if !CredentialField.isOne(name) { others.append(name: name, value: value) }
            }
        }
        return others
    }
}
