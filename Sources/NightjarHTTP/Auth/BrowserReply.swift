import NIOCore

/// The response for a browser that connects to the login port: a page with a short text.
public struct BrowserReply: Sendable {
    public let status: Int
    public let text: String

    /// - Parameter text: plain text, without HTML escapes.
    init(_ status: Int, _ text: String) {
        self.status = status
        self.text = text
    }

    public var page: String {
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sign in</title>"
            + "<p>\(BrowserReply.escaped(text))</p></html>\n"
    }

    /// The complete HTTP/1.1 response. The page's URL may contain the code, so the response prevents caching and the
    /// Referer field.
    public var bytes: ByteBuffer {
        let page = page
        let reason =
            switch status {
            case 200: "OK"
            case 400: "Bad Request"
            case 404: "Not Found"
            default: "Method Not Allowed"
            }
        return ByteBuffer(
            string: "HTTP/1.1 \(status) \(reason)\r\nContent-Type: text/html; charset=utf-8\r\n"
                + "Content-Length: \(page.utf8.count)\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                + "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                + "X-Content-Type-Options: nosniff\r\n" + (status == 405 ? "Allow: GET\r\n" : "")
                + "Connection: close\r\n\r\n" + page)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
