extension AddressFilter {
    /// The addresses of a host to which the client does not connect. See ``Decision``.
    public struct Denied: Sendable, Equatable {
        /// The part of the client that has denied the addresses.
        public enum Source: String, Sendable {
            /// The rules of the address filter.
            case addressFilter = "address_filter"
            /// The callback that decides about addresses.
            case onAddresses = "on_addresses"
        }

        /// A denied address.
        public struct Entry: Sendable, Equatable {
            public let address: IPAddress
            /// The class or the network for which the address is denied. Nil if the callback has denied it.
            public let reason: String?
        }

        public let host: String
        public let source: Source
        /// The number of addresses about which ``source`` has decided.
        public let candidateCount: Int
        /// The number of denied addresses.
        public private(set) var count = 0
        /// The denied addresses in the order of the lookup, at most 64.
        public private(set) var entries: [Entry] = []

        package init(by source: Source, host: String, of candidateCount: Int) {
            self.source = source
            self.host = host
            self.candidateCount = candidateCount
        }

        package mutating func add(_ address: IPAddress, because reason: String?) {
            count += 1
            if entries.count < Denied.maximumEntries { entries.append(Entry(address: address, reason: reason)) }
        }

        private static let maximumEntries = 64
    }
}

extension AddressFilter.Denied {
    var sentence: String {
        let list = entries.map { entry in "\(entry.address)" + (entry.reason.map { " (\($0))" } ?? "") }
        let rest = count > entries.count ? ", ..." : ""
        return "\(source.rawValue) denied \(count) of \(candidateCount) addresses of \(host): "
            + list.joined(separator: ", ") + rest
    }

    var json: JSONValue {
        .array(
            entries.map { entry in
                .object(
                    [.init("address", .string("\(entry.address)"))]
                        + (entry.reason.map { [.init("because", .string($0))] } ?? []))
            })
    }
}
