import NightjarHTTP

extension UploadSettings {
    /// Reads a table `{id=, protocol=, resume=, checksum=, chunk_size=, creation_with_upload=, restart=, max_rate=, attempts=,
    /// retry_delay=, metadata=, type=}`. `checksum` is an algorithm, or an algorithm and a digest.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Self.options.applied(JSONValue(parsing: json), to: UploadSettings())
        try check()
    }

    static let options = OptionTable<UploadSettings>([
        Option(name: "id") { value, path, settings throws(NightjarError) in
            settings.id = try value.text(path)
        },
        Option(name: "protocol") { value, path, settings throws(NightjarError) in
            let text = try value.text(path)
            guard let chosen = UploadProtocol(rawValue: text) else {
                let known = UploadProtocol.allCases.map { quoted($0.rawValue) }.joined(separator: ", ")
                throw NightjarError(
                    .invalidArgument, "option \(quoted(path)) must be one of \(known), got \(quoted(text))")
            }
            settings.uploadProtocol = chosen
        },
        Option(name: "resume") { value, path, settings throws(NightjarError) in
            settings.resumeState = try value.text(path)
        },
        Option(name: "checksum") { value, path, settings throws(NightjarError) in
            let text = try value.text(path)
            if let algorithm = Checksum.Algorithm(rawValue: text) {
                settings.digest = .algorithm(algorithm)
            } else {
                settings.digest = .value(try Checksum(text))
            }
        },
        Option(name: "chunk_size") { value, path, settings throws(NightjarError) in
            settings.chunkSize = try value.count(path, in: chunkSizes)
        },
        Option(name: "creation_with_upload") { value, path, settings throws(NightjarError) in
            settings.createsWithData = try value.flag(path)
        },
        Option(name: "restart") { value, path, settings throws(NightjarError) in
            settings.restarts = try value.flag(path)
        },
        Option(name: "max_rate") { value, path, settings throws(NightjarError) in
            settings.maximumRate = try value.count(path, in: TransferSettings.rates)
        },
        Option(name: "attempts") { value, path, settings throws(NightjarError) in
            settings.attempts = try value.count(path, in: TransferSettings.attemptCounts)
        },
        Option(name: "retry_delay") { value, path, settings throws(NightjarError) in
            settings.retryDelay = try value.duration(path)
        },
        Option(name: "metadata") { value, path, settings throws(NightjarError) in
            guard case .object(let members) = value else { throw .mismatch(path, expected: "an object", value) }
            settings.metadata = []
            for member in members {
                settings.metadata.append((member.name, try member.value.text("\(path).\(member.name)")))
            }
        },
        Option(name: "type") { value, path, settings throws(NightjarError) in
            settings.contentType = try value.text(path)
        },
    ])
}
