/// The stored responses that a response to an unsafe request invalidates. RFC 9111 section 4.4.
public enum Invalidation {
    /// Returns the URLs whose stored responses are invalidated: the request's URL, and the URLs of the same origin in
    /// Location and Content-Location. At most ``largestCount``.
    ///
    /// - Returns: an empty list for a safe method or an error response.
    public static func urls(_ method: Method, _ url: RequestURL, _ head: ResponseHead) -> [RequestURL] {
        guard !method.isSafe, 200..<400 ~= head.status else { return [] }
        var urls = [url.withoutUserInfo]
        for index in 0..<head.headers.count {
            head.headers.withBytes(at: index) { name, value in
                guard
                    name.count == 8 && ASCII.isCaseless(name, "location")
                        || name.count == 16 && ASCII.isCaseless(name, "content-location"),
                    let named = try? Location(value, base: url).url.withoutUserInfo, named.origin == url.origin,
                    !urls.contains(named), urls.count < largestCount
                else { return }
                urls.append(named)
            }
        }
        return urls
    }

    /// The maximum number of URLs per response.
    private static let largestCount = 8

    /// Returns true if the response clears the cache of the origin: `Clear-Site-Data: "cache"` or `"*"`. Clear Site
    /// Data section 3.1.
    public static func clearsOrigin(_ head: ResponseHead) -> Bool {
        var isCleared = false
        head.headers.forEach("clear-site-data") { value in
            EntityTag.forEach(in: value) { type in
                isCleared = isCleared || type.elementsEqual("\"cache\"".utf8) || type.elementsEqual("\"*\"".utf8)
            }
        }
        return isCleared
    }
}

extension ResponseHead {
    /// Returns true if the only Content-Location field contains the URL of the request. The body is then the
    /// representation that a GET would return. RFC 9110 section 8.7.
    func isRepresentation(of url: RequestURL) -> Bool {
        var isSame = true
        var count = 0
        headers.forEach("content-location") { value in
            count += 1
            let named = try? Location(value, base: url).url
            isSame = isSame && named?.cacheAddress == url.cacheAddress
        }
        return isSame && count == 1
    }
}
