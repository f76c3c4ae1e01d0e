import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles

// The log of a script, and the masking of secrets.

@_cdecl("njl_is_secret_name") @implementation
public func njl_is_secret_name(_ name: njl_bytes) -> Bool { isNameOfSecret(name.buffer) }

@_cdecl("njl_redacted") @implementation
public func njl_redacted(_ text: njl_bytes) -> OpaquePointer? {
    Handle.make(BorrowedText(Masking.text(String(decoding: text.buffer, as: UTF8.self))))
}

@_cdecl("njl_client_log_level") @implementation
public func njl_client_log_level(_ client: OpaquePointer?) -> Int32 {
    Handle<Client>.borrow(client)?.logLevel.rawValue ?? 0
}

@_cdecl("njl_client_log") @implementation
public func njl_client_log(_ client: OpaquePointer?, _ level: Int32, _ line: njl_bytes) {
    guard let level = LogSink.Level(rawValue: level) else { return }
    Handle<Client>.borrow(client)?.log(level, String(decoding: line.buffer, as: UTF8.self))
}

@_cdecl("njl_url_canonical") @implementation
public func njl_url_canonical(
    _ url: njl_bytes, _ showsSecrets: Bool, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        let url = try RequestURL(try url.text("the URL"))
        return Handle.make(BorrowedText(showsSecrets ? url.origin.description + url.target : url.redacted))
    }
}
