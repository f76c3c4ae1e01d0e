/// The rules of a cache for status codes. RFC 9110 section 15.
enum StatusRules {
    /// True if a response with this status may be given a heuristic lifetime. Section 15.1.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// True for statuses that are never stored: interim responses, responses that depend on conditions, ranges or
    /// expectations of their request, responses of a proxy, and statuses for which RFC 6585 forbids it. 401 and 407
    /// depend on a credential that may be refreshed while they would still be fresh.
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511: true
        default: false
        }
    }

    /// True if this cache implements the caching requirements of the status, for must-understand. RFC 9111 section
    /// 5.2.2.3.
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 307, 308, 400...406, 408...411, 413...415, 421, 422, 426, 451, 500...505: true
        default: false
        }
    }

    /// True if a response with this status describes the current state of the resource. It then supersedes a stored
    /// response even if it is not stored itself. Other statuses concern the request, its credentials, a proxy, a
    /// captive portal or a failure.
    static func supersedesStored(_ status: Int) -> Bool {
        switch status {
        case 200...205, 207..<300, 300, 301, 308, 403, 404, 405, 410, 414, 451: true
        default: false
        }
    }
}
