/// Basic authentication (RFC 7617) with UTF-8 as its charset (section 2.1).
public enum BasicCredentials {
    /// Returns the value of an Authorization or Proxy-Authorization field.
    ///
    /// The user name must not contain a colon, because the server reads the text after the first colon as the password.
    public static func field(user: String, password: String) -> String {
        "Basic " + Base64.encode("\(user):\(password)".utf8)
    }
}

extension UserInfo {
    var basicCredentials: String { BasicCredentials.field(user: user, password: password ?? "") }
}
