extension UserInfo {
    /// The value of Authorization or Proxy-Authorization. RFC 7617, with UTF-8 as its charset (section 2.1).
    ///
    /// A user name with a colon cannot be told from the password; servers see it end there.
    var basicCredentials: String { "Basic " + Base64.encode(Array("\(user):\(password ?? "")".utf8)) }
}
