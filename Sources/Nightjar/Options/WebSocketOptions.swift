import NightjarAPI
import NightjarHTTP

extension WebSocketSettings {
    /// Reads a table `{protocols=, compress=, max_message=, pieces=, max_queued=, ping=, pong_timeout=,
    /// close_timeout=, reconnect=, reconnect_codes=, reconnect_attempts=, keep_unsent=, graphql=}`.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Self.options.applied(JSONValue(parsing: json), to: WebSocketSettings())
        try check()
    }

    private static let options = OptionTable<WebSocketSettings>([
        Option(name: "protocols") { value, path, settings throws(NightjarError) in
            settings.protocols = try value.texts(path)
        },
        Option(name: "compress") { value, path, settings throws(NightjarError) in
            settings.compresses = try value.flag(path)
        },
        Option(name: "max_message") { value, path, settings throws(NightjarError) in
            settings.maximumMessage = try value.count(path, in: messageSizes)
        },
        Option(name: "pieces") { value, path, settings throws(NightjarError) in
            settings.deliversPieces = try value.flag(path)
        },
        Option(name: "max_queued") { value, path, settings throws(NightjarError) in
            settings.maximumQueued = try value.count(path, in: messageSizes)
        },
        Option(name: "ping") { value, path, settings throws(NightjarError) in
            settings.pingInterval = try value.duration(path)
        },
        Option(name: "pong_timeout") { value, path, settings throws(NightjarError) in
            settings.pongTimeout = try value.duration(path)
        },
        Option(name: "close_timeout") { value, path, settings throws(NightjarError) in
            settings.closeTimeout = try value.duration(path)
        },
        Option(name: "reconnect") { value, path, settings throws(NightjarError) in
            settings.reconnects = try value.flag(path)
        },
        Option(name: "reconnect_codes") { value, path, settings throws(NightjarError) in
            settings.reconnectCodes = []
            if value.isEmptyTable { return }
            guard case .array(let codes) = value else {
                throw .mismatch(path, expected: "an array of close codes", value)
            }
            for code in codes { settings.reconnectCodes.insert(try code.count(path, in: closeCodes)) }
        },
        Option(name: "reconnect_attempts") { value, path, settings throws(NightjarError) in
            settings.reconnectAttempts = try value.count(path, in: 0...1_000_000)
        },
        Option(name: "graphql") { value, path, settings throws(NightjarError) in
            settings.subprotocol = try GraphQLSubscription(try GraphQLContent(options: value, path))
        },
        Option(name: "keep_unsent") { value, path, settings throws(NightjarError) in
            settings.keepsUnsent = try value.flag(path)
        },
    ])
}
