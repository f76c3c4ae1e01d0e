import NightjarHTTP
import NightjarStorage

/// The option `store` of a login: `"memory"`, `"file:PATH"`, `"sqlite:PATH"`, `"keyring:SERVICE"`,
/// `"host:KEY"`, or a table `{file= | sqlite= | keyring=, account=, key_file= | key_env=}`.
struct StoreChoice {
    private enum Place {
        case memory
        case file(String)
        case sqlite(String)
        case keyring(String)
        /// A store that the program implements.
        case host(String)
    }

    private var place = Place.memory
    private var account: String?
    private var key: EncryptionKey?

    static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> StoreChoice {
        var choice = StoreChoice()
        if case .object = value {
            try options.apply(value, at: path, to: &choice)
            return choice
        }
        let text = try value.text(path)
        let kind = text.prefix { $0 != ":" }
        let rest = String(text.dropFirst(kind.count + 1))
        switch (kind, rest.isEmpty) {
        case ("memory", true): choice.place = .memory
        case ("file", false): choice.place = .file(rest)
        case ("sqlite", false): choice.place = .sqlite(rest)
        case ("keyring", false): choice.place = .keyring(rest)
        case ("host", false): choice.place = .host(rest)
        default:
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is \(quoted(text)); it must be \"memory\", or \"file:\", \"sqlite:\", "
                    + "\"keyring:\" or \"host:\" followed by a path or a name")
        }
        return choice
    }

    private static let options = OptionTable<StoreChoice>([
        Option(name: "file") { value, path, choice throws(NightjarError) in choice.place = .file(try value.text(path))
        },
        Option(name: "sqlite") { value, path, choice throws(NightjarError) in
            choice.place = .sqlite(try value.text(path))
        },
        Option(name: "keyring") { value, path, choice throws(NightjarError) in
            choice.place = .keyring(try value.text(path))
        },
        Option(name: "account") { value, path, choice throws(NightjarError) in
            choice.account = try value.text(path)
        },
        Option(name: "key_file") { value, path, choice throws(NightjarError) in
            choice.key = try EncryptionKey(file: try value.text(path))
        },
        Option(name: "key_env") { value, path, choice throws(NightjarError) in
            choice.key = try EncryptionKey(variable: try value.text(path))
        },
    ])

    /// Returns the credential store. Nil: the token is kept in the client's memory.
    ///
    /// - Parameter standard: The account, if the option `account` is not set. Used by stores that hold several logins.
    func open(account standard: String) throws(NightjarError) -> (any TokenStore)? {
        switch place {
        case .memory:
            guard key == nil else {
                throw NightjarError(
                    .invalidArgument,
                    "a memory store cannot be encrypted; "
                        + "remove key_file and key_env")
            }
            return nil
        case .file(let path): return FileTokenStore(path: path, key: key)
        case .sqlite(let path): return SQLiteTokenStore(path: path, account: account ?? standard, key: key)
        case .keyring(let service):
            guard key == nil else {
                throw NightjarError(
                    .invalidArgument,
                    "the keyring encrypts its content "
                        + "itself; remove key_file and key_env")
            }
            return SecretServiceTokenStore(service: service, account: account ?? standard)
        case .host(let key): return HostTokenStore(key: key)
        }
    }
}
