/// What the statuses mean to a cache. RFC 9110 section 15.
enum StatusRules {
    /// Good for a guess where the server has not said for how long. Section 15.1, without 206, which is not stored.
    static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Never stored under the URL alone: interim answers, parts, what depends on conditions, ranges or expectations of its
    /// request, what is a proxy's own, and what RFC 6585 forbids. 401 and 407 are of a credential, which may be renewed while
    /// they would still be fresh.
    static func isNeverStored(_ status: Int) -> Bool {
        switch status {
        case ..<200, 206, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511: true
        default: false
        }
    }

    /// What it asks of a cache is known and done here: for must-understand. RFC 9111 section 5.2.2.3.
    static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...205, 300...303, 307, 308, 400...406, 408...411, 413...415, 421, 422, 426, 451, 500...505: true
        default: false
        }
    }
}
