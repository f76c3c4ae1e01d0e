/// What the statuses mean to a cache. RFC 9110 section 15.
enum StatusRules {
    /// A response with this status may be given a heuristic lifetime. Section 15.1.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Never stored under the URL alone: interim answers, what depends on conditions, ranges or expectations of its
    /// request, what is a proxy's own, and what RFC 6585 forbids. 401 and 407 are of a credential, which may be renewed while
    /// they would still be fresh.
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511: true
        default: false
        }
    }

    /// What it asks of a cache is known and done here: for must-understand. RFC 9111 section 5.2.2.3.
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 307, 308, 400...406, 408...411, 413...415, 421, 422, 426, 451, 500...505: true
        default: false
        }
    }

    /// A response with this status describes the resource as it is now, so a stored response to the same request no longer
    /// holds, even if the new response is not stored. The other statuses are about the request, its credentials, a proxy, a
    /// portal or a failure.
    static func supersedesStored(_ status: Int) -> Bool {
        switch status {
        case 200...205, 207..<300, 300, 301, 308, 403, 404, 405, 410, 414, 451: true
        default: false
        }
    }
}
