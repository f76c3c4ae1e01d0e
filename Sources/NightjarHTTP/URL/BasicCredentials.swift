/// RFC 7617, with UTF-8 as its charset (section 2.1).
public enum BasicCredentials {
    /// The value of Authorization or Proxy-Authorization.
    ///
    /// A user name with a colon cannot be told from the password; servers see it end there.
    public static func field(user: String, password: String) -> String {
        "Basic " + Base64.encode("\(user):\(password)".utf8)
    }
}

extension UserInfo {
    var basicCredentials: String { BasicCredentials.field(user: user, password: password ?? "") }
}
