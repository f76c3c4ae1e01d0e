/// An index of the domains that have Secure cookies, by cookie name. Finds the subdomains of a domain without examining
/// all domains. See ``CookieTable/hasSecureCookie(shadowedBy:at:)``.
struct SecureNames: Sendable {
    private struct Place: Sendable {
        /// The domain's bytes in reverse order. In this order, the subdomains of a domain are sorted next to each
        /// other.
        let reversed: String
        let domain: Substring
        var count: Int
    }

    /// The places of each name, sorted by ``Place/reversed``.
    private var places = ExactDictionary<[Place]>()

    mutating func insert(name: String, domain: String) {
        let reversed = SecureNames.reversed(domain)
        let index = SecureNames.firstIndex(in: places[name], from: reversed)
        // Do not keep a reference to the array. Otherwise, the change would copy the array.
        if places[name]?.dropFirst(index).first?.reversed == reversed {
            places[name]?[index].count += 1
        } else {
            places[name, default: []].insert(
                Place(reversed: reversed, domain: Substring(domain), count: 1), at: index)
        }
    }

    mutating func remove(name: String, domain: String) {
        let reversed = SecureNames.reversed(domain)
        let index = SecureNames.firstIndex(in: places[name], from: reversed)
        guard let count = places[name]?.dropFirst(index).first?.count else {
            assertionFailure("the Secure cookie is not in the index")
            return
        }
        if count > 1 {
            places[name]?[index].count = count - 1
        } else {
            places[name]?.remove(at: index)
            if places[name]?.isEmpty == true { places[name] = nil }
        }
    }

    /// Returns the subdomains of `domain`, without `domain` itself, that have a Secure cookie of this name.
    func domains(below domain: String, name: String) -> some Sequence<Substring> {
        let prefix = SecureNames.reversed(domain) + "."
        let all = places[name] ?? []
        return all[SecureNames.firstIndex(in: all, from: prefix)...].lazy
            .prefix { $0.reversed.utf8.starts(with: prefix.utf8) }.map(\.domain)
    }

    private static func reversed(_ domain: String) -> String { String(decoding: domain.utf8.reversed(), as: UTF8.self) }

    /// Returns the index of the first place that does not sort before `reversed`.
    private static func firstIndex(in places: [Place]?, from reversed: String) -> Int {
        guard let places else { return 0 }
        var range = places.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if places[middle].reversed < reversed {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return range.lowerBound
    }
}
