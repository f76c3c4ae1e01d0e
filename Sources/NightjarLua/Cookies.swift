import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// Script access to a client's cookies.

/// Texts that C borrows, concatenated in one block.
private final class BorrowedTexts: @unchecked Sendable {
    private var content: ContiguousArray<CChar> = []

    func append(_ text: String) -> Range<Int> {
        let start = content.count
        content.append(contentsOf: text.utf8.lazy.map(CChar.init(bitPattern:)))
        return start..<content.count
    }

    /// Returns the bytes of a text. No text may be appended after the first call, because the block could move.
    func lend(_ range: Range<Int>) -> njl_bytes {
        content.withUnsafeBytes { njl_bytes(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}

private final class CookieList: @unchecked Sendable {
    struct Entry {
        let name, value, domain, path, sameSite: Range<Int>
        let cookie: Cookie
    }

    private let texts = BorrowedTexts()
    private let entries: [Entry]

    init(_ cookies: [Cookie]) {
        let texts = texts
        entries = cookies.map {
            Entry(
                name: texts.append($0.name), value: texts.append($0.value), domain: texts.append($0.domain),
                path: texts.append($0.path),
                sameSite: texts.append($0.sameSite == .unspecified ? "" : $0.sameSite.rawValue), cookie: $0)
        }
    }

    func entry(at index: Int) -> njl_cookie? {
        guard entries.indices.contains(index) else { return nil }
        let entry = entries[index]
        return njl_cookie(
            name: texts.lend(entry.name), value: texts.lend(entry.value), domain: texts.lend(entry.domain),
            path: texts.lend(entry.path), same_site: texts.lend(entry.sameSite), expires: entry.cookie.expires ?? 0,
            is_secure: entry.cookie.isSecure, is_http_only: entry.cookie.isHTTPOnly,
            is_host_only: entry.cookie.isHostOnly)
    }
}

@_cdecl("njl_client_cookies") @implementation
public func njl_client_cookies(_ client: OpaquePointer?) -> OpaquePointer? {
    Handle<Client>.borrow(client)?.cookies.map(Handle.make)
}

@_cdecl("njl_cookies_release") @implementation
public func njl_cookies_release(_ cookies: OpaquePointer?) {
    Handle<CookieStorage>.release(cookies)
}

// MARK: Listing

@_cdecl("njl_cookies_list") @implementation
public func njl_cookies_list(_ cookies: OpaquePointer?) -> OpaquePointer? {
    Handle<CookieStorage>.borrow(cookies).map { Handle.make(CookieList($0.all)) }
}

@_cdecl("njl_cookie_list_at") @implementation
public func njl_cookie_list_at(
    _ list: OpaquePointer?, _ index: Int, _ cookie: UnsafeMutablePointer<njl_cookie>?
) -> Bool {
    guard let entry = Handle<CookieList>.borrow(list)?.entry(at: index) else { return false }
    cookie?.pointee = entry
    return true
}

@_cdecl("njl_cookie_list_release") @implementation
public func njl_cookie_list_release(_ list: OpaquePointer?) {
    Handle<CookieList>.release(list)
}

// MARK: Changing

/// Runs `body` with the client's cookie storage. If the client has no cookie storage or `body` throws, stores the error
/// in `error` and returns false.
private func with(
    _ cookies: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (CookieStorage) throws(NightjarError) -> Void
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let cookies, let storage = Handle<CookieStorage>.borrow(cookies) else {
            throw NightjarError(.invalidArgument, "the client has no cookie jar; create the client with cookies = true")
        }
        try body(storage)
        return cookies
    } != nil
}

@_cdecl("njl_cookies_set") @implementation
public func njl_cookies_set(
    _ cookies: OpaquePointer?, _ url: njl_bytes, _ setCookie: njl_bytes,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    with(cookies, error) { storage throws(NightjarError) in
        try storage.set(try setCookie.text("the cookie"), for: try RequestURL(try url.text("the URL")))
    }
}

@_cdecl("njl_cookies_delete") @implementation
public func njl_cookies_delete(_ cookies: OpaquePointer?, _ match: UnsafePointer<njl_cookie_match>?) -> Int {
    guard let storage = Handle<CookieStorage>.borrow(cookies), let match = match?.pointee else { return 0 }
    func part(_ isThere: Bool, _ bytes: njl_bytes) -> String?? {
        guard isThere else { return .some(nil) }
        // Invalid UTF-8 matches no cookie. A missing filter would match every cookie.
        guard let text = String(validating: bytes.buffer, as: UTF8.self) else { return nil }
        return text
    }
    guard let name = part(match.has_name, match.name), let domain = part(match.has_domain, match.domain),
        let path = part(match.has_path, match.path)
    else { return 0 }
    return storage.delete(name: name, domain: domain, path: path)
}

@_cdecl("njl_cookies_clear") @implementation
public func njl_cookies_clear(_ cookies: OpaquePointer?) {
    Handle<CookieStorage>.borrow(cookies)?.clear()
}

@_cdecl("njl_cookies_flush") @implementation
public func njl_cookies_flush(_ cookies: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?) -> Bool {
    with(cookies, error) { storage throws(NightjarError) in try storage.flush() }
}

// MARK: cookies.txt

@_cdecl("njl_cookies_export") @implementation
public func njl_cookies_export(
    _ cookies: OpaquePointer?, _ path: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    with(cookies, error) { storage throws(NightjarError) in try storage.exportFile(try path.text("the path")) }
}

@_cdecl("njl_cookies_import") @implementation
public func njl_cookies_import(
    _ cookies: OpaquePointer?, _ path: njl_bytes, _ counts: UnsafeMutablePointer<njl_import>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    with(cookies, error) { storage throws(NightjarError) in
        counts?.pointee = njl_import(try storage.importFile(try path.text("the path")))
    }
}

@_cdecl("njl_cookies_load_text") @implementation
public func njl_cookies_load_text(
    _ cookies: OpaquePointer?, _ text: njl_bytes, _ counts: UnsafeMutablePointer<njl_import>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    with(cookies, error) { storage throws(NightjarError) in
        counts?.pointee = njl_import(try storage.importText(Array(text.buffer)))
    }
}

extension njl_import {
    fileprivate init(_ report: CookiesText.Report) {
        self.init(stored: report.stored, skipped: report.skipped)
    }
}

/// A text that C borrows, as one block of bytes.
final class BorrowedText: Sendable {
    let bytes: ContiguousArray<CChar>

    init(_ bytes: ByteBuffer) {
        self.bytes = ContiguousArray(bytes.readableBytesView.lazy.map(CChar.init(bitPattern:)))
    }

    init(_ text: String) { bytes = ContiguousArray(text.utf8.lazy.map(CChar.init(bitPattern:))) }
}

@_cdecl("njl_cookies_text") @implementation
public func njl_cookies_text(_ cookies: OpaquePointer?) -> OpaquePointer? {
    Handle<CookieStorage>.borrow(cookies).map { Handle.make(BorrowedText($0.exportText())) }
}

@_cdecl("njl_text_bytes") @implementation
public func njl_text_bytes(_ text: OpaquePointer?) -> njl_bytes {
    guard let text = Handle<BorrowedText>.borrow(text) else { return njl_bytes(data: nil, length: 0) }
    return text.bytes.withUnsafeBytes { njl_bytes($0) }
}

@_cdecl("njl_text_release") @implementation
public func njl_text_release(_ text: OpaquePointer?) {
    Handle<BorrowedText>.release(text)
}
