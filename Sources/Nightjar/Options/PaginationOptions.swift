import NightjarHTTP

extension Pagination {
    /// Reads the name of a style, `true` to detect the style, or a table `{style=, items=, item=, next=, key=,
    /// param=, body_param=, size_param=, size=, first=, header=, next_header=, request_header=, more=, total=, prefetch=,
    /// max_pages=, max_items=, allow_origins=}`. Items, item, next, key, body_param, more and total are JSON Pointers (RFC 6901).
    ///
    /// - Throws: `invalid_argument` for an unknown name (with the nearest known name) or a wrong type.
    public init(options value: JSONValue) throws(NightjarError) { try self.init(value, "") }

    /// Applies the options of a JSON object; other settings are kept.
    ///
    /// - Throws: `decoding` if the text is not JSON; otherwise as ``init(options:)``. The settings are then unchanged.
    public mutating func merge(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Pagination.options.applied(JSONValue(parsing: json), to: self)
    }

    public mutating func merge(json: String) throws(NightjarError) {
        self = try Pagination.options.applied(JSONValue(parsing: json), to: self)
    }

    init(_ value: JSONValue, _ path: String) throws(NightjarError) {
        self.init()
        switch value {
        case .bool(true): return
        case .string: style = try Pagination.style(value, path)
        default: try Pagination.options.apply(value, at: path, to: &self)
        }
    }

    private static func style(_ value: JSONValue, _ path: String) throws(NightjarError) -> Style {
        Style(rawValue: try value.word(path, Style.allCases.map(\.rawValue))) ?? .guess
    }

    private static let options = OptionTable<Pagination>([
        Option(name: "style") { value, path, pages throws(NightjarError) in pages.style = try style(value, path) },
        Option(name: "items") { value, path, pages throws(NightjarError) in pages.items = try value.pointer(path) },
        Option(name: "next") { value, path, pages throws(NightjarError) in pages.next = try value.pointer(path) },
        Option(name: "item") { value, path, pages throws(NightjarError) in pages.item = try value.pointer(path) },
        Option(name: "key") { value, path, pages throws(NightjarError) in pages.key = try value.pointer(path) },
        Option(name: "param") { value, path, pages throws(NightjarError) in pages.parameter = try value.text(path) },
        Option(name: "body_param") { value, path, pages throws(NightjarError) in
            pages.bodyParameter = try value.pointer(path)
        },
        Option(name: "size_param") { value, path, pages throws(NightjarError) in
            pages.sizeParameter = try value.text(path)
        },
        Option(name: "size") { value, path, pages throws(NightjarError) in
            pages.size = try value.count(path, in: 1...10_000_000)
        },
        Option(name: "first") { value, path, pages throws(NightjarError) in
            pages.first = try value.count(path, in: 0...Pagination.largestFirst)
        },
        Option(name: "header") { value, path, pages throws(NightjarError) in pages.header = try value.text(path) },
        Option(name: "next_header") { value, path, pages throws(NightjarError) in
            pages.nextHeader = try value.text(path)
        },
        Option(name: "request_header") { value, path, pages throws(NightjarError) in
            pages.requestHeader = try value.text(path)
        },
        Option(name: "more") { value, path, pages throws(NightjarError) in pages.more = try value.pointer(path) },
        Option(name: "total") { value, path, pages throws(NightjarError) in pages.total = try value.pointer(path) },
        Option(name: "prefetch") { value, path, pages throws(NightjarError) in
            pages.prefetch = try value.count(path, in: 0...Pagination.largestPrefetch)
        },
        Option(name: "max_pages") { value, path, pages throws(NightjarError) in
            pages.maximumPages = try value.count(path, in: 1...Int.max)
        },
        Option(name: "max_items") { value, path, pages throws(NightjarError) in
            pages.maximumItems = try value.count(path, in: 1...Int.max)
        },
        Option(name: "allow_origins") { value, path, pages throws(NightjarError) in
            pages.allowedOrigins = try value.texts(path)
        },
    ])
}
