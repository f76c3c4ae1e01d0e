import NightjarTestSupport

/// The responses of an upload server, and the requests that it has received.
extension ScriptedPeer.Step {
    /// Creates the upload `/u`.
    static let uploadCreated = respond("201 Created", headers: ["Location: /u"])

    /// Accepts bytes up to an offset.
    static func uploadOffset(_ offset: Int) -> ScriptedPeer.Step {
        .respond("204 No Content", headers: ["Upload-Offset: \(offset)"])
    }

    /// Reports the offset of an upload of 10 bytes.
    static func uploadHead(_ offset: Int) -> ScriptedPeer.Step {
        .respond("200 OK", headers: ["Upload-Offset: \(offset)", "Upload-Length: 10"])
    }
}

extension ScriptedPeer {
    /// The methods and targets of the requests.
    var requestLines: [String] { requests.map { "\($0.method) \($0.target)" } }
}
