/// The rules of a cache for status codes. RFC 9110 section 15.
enum StatusRules {
    /// Returns true if a response with this status may have a heuristic lifetime. Section 15.1.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Returns true for statuses that are never stored.
    ///
    /// These are interim responses, responses that depend on conditions, ranges or expectations of the request, and
    /// statuses that RFC 6585 forbids to store. Responses with 401 and 407 depend on a credential that may be
    /// refreshed.
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511: true
        default: false
        }
    }

    /// Returns true if this cache implements the caching requirements of the status, for must-understand. RFC 9111
    /// section 5.2.2.3.
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 307, 308, 400...406, 408...411, 413...415, 421, 422, 426, 451, 500...505: true
        default: false
        }
    }

    /// Returns true if a response with this status describes the current state of the resource.
    ///
    /// Such a response supersedes a stored response even if it is not stored itself. Other statuses describe, for
    /// example, a part of the resource, the request, its credentials, a proxy, a captive portal or a failure.
    static func supersedesStored(_ status: Int) -> Bool {
        switch status {
        case 200...205, 207..<300, 300, 301, 308, 403, 404, 405, 410, 414, 451: true
        default: false
        }
    }
}
