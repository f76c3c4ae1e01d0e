import NightjarHTTP

extension Request {
    /// Applies the options of a JSON object; other settings are kept. C's `nj_request_merge_json` and the options of a
    /// call in Lua use this form. In Lua, query, headers and body are read separately.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name or a wrong type. The
    ///   request is then unchanged.
    public mutating func merge(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Request.options.applied(JSONValue(parsing: json), to: self)
    }

    public mutating func merge(json: String) throws(NightjarError) {
        self = try Request.options.applied(JSONValue(parsing: json), to: self)
    }

    private static func connectivityOption(_ name: String) -> Option<Request> {
        Option(name: name) { value, path, request throws(NightjarError) in
            try ConnectivityChanges.options.apply(.object([.init(name, value)]), at: "", to: &request.connectivity)
        }
    }

    static let options = OptionTable<Request>(
        [
            Option(name: "headers") { value, path, request throws(NightjarError) in
                try request.headers.read(value, path)
            },
            Option(name: "expect") { value, path, request throws(NightjarError) in
                guard case .array(let items) = value else {
                    return request.expectedStatuses = [StatusRange(try value.count(path, in: 100...999))]
                }
                request.expectedStatuses = []
                for (index, item) in items.enumerated() {
                    let status = try item.count("\(path)[\(index + 1)]", in: 100...999)
                    request.expectedStatuses.append(StatusRange(status))
                }
            },
            Option(name: "timeout") { value, path, request throws(NightjarError) in
                try request.timeouts.read(value, path)
            },
            Option(name: "max_body") { value, path, request throws(NightjarError) in
                request.maximumBody = try value.size(path, atMost: Configuration.largestBodyLimit)
            },
            Option(name: "schema") { value, path, request throws(NightjarError) in
                do throws(NightjarError) {
                    request.schema = try JSONSchema(value)
                } catch {
                    throw NightjarError(.invalidArgument, "option \(quoted(path)): \(error.message)")
                }
            },
            Option(name: "limit_group") { value, path, request throws(NightjarError) in
                request.limitGroup = try value.text(path)
            },
            Option(name: "invalidates") { value, path, request throws(NightjarError) in
                request.invalidates = try value.texts(path)
            },
            Option(name: "retry") { value, path, request throws(NightjarError) in
                var changes = RetryChanges()
                try changes.read(value, path)
                request.retry = changes
            },
            Request.connectivityOption("wait_for_connectivity"),
            Request.connectivityOption("allow_metered"),
            Request.connectivityOption("allow_constrained"),
            Option(name: "respect_retry_after") { value, path, request throws(NightjarError) in
                request.respectsRetryAfter = try value.flag(path)
            },
            Option(name: "idempotent") { value, path, request throws(NightjarError) in
                request.isIdempotent = try value.flag(path)
            },
            Option(name: "idempotency_key") { value, path, request throws(NightjarError) in
                switch value {
                case .bool(let flag): request.idempotencyKey = flag ? .generated : .none
                case .string(let text):
                    guard let key = IdempotencyKey(text) else {
                        throw NightjarError(
                            .invalidArgument,
                            "option \(quoted(path)) must be 1 to 255 printable ASCII characters without spaces")
                    }
                    request.idempotencyKey = .key(key)
                default: throw .mismatch(path, expected: "true, false or a string", value)
                }
            },
            Option(name: "cache") { value, path, request throws(NightjarError) in
                try request.readCache(value, path)
            },
            Option(name: "cache_partition") { value, path, request throws(NightjarError) in
                request.cachePartition = try value.text(path)
            },
            Option(name: "coalesce") { value, path, request throws(NightjarError) in
                request.coalesces = try value.flag(path)
            },
            Option(name: "auth") { value, path, request throws(NightjarError) in
                try request.readAuth(value, path)
            },
            Option(name: "redirect") { value, path, request throws(NightjarError) in
                var settings = RedirectSettings()
                try settings.read(value, path)
                request.redirect = settings
            },
            Option(name: "graphql") { value, path, request throws(NightjarError) in
                try request.readGraphQL(value, path)
            },
            Option(name: "decompress") { value, path, request throws(NightjarError) in
                request.decompresses = try value.flag(path)
            },
            Option(name: "compress") { value, path, request throws(NightjarError) in
                request.compresses = try value.flag(path)
            },
            Option(name: "expect_continue") { value, path, request throws(NightjarError) in
                request.expectsContinue = try value.flag(path)
            },
            Option(name: "allow_body_on_get") { value, path, request throws(NightjarError) in
                request.allowsBodyOnGet = try value.flag(path)
            },
            Option(name: "cookies") { value, path, request throws(NightjarError) in
                request.usesCookies = try value.flag(path)
            },
        ])
}
