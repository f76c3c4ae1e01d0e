import NightjarHTTP
import NightjarTransport

extension Authentication.Challenge.Response {
    private struct Password {
        var user: String?
        var password: String?

        static let options = OptionTable<Password>([
            Option(name: "user") { value, path, members throws(NightjarError) in members.user = try value.text(path) },
            Option(name: "password") { value, path, members throws(NightjarError) in
                members.password = try value.text(path)
            },
        ])
    }

    /// Reads the response of a script: `{ user, password }`, or a client certificate as `{ file, key, password }` or
    /// `{ pkcs12, password }`.
    package init(option value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let members) = value, members.contains(where: { $0.name == "user" }) else {
            self = .certificate(try TransportConfiguration.TLS.ClientCertificate(option: value, path))
            return
        }
        let read = try Password.options.applied(value, at: path, to: Password())
        guard let user = read.user, let password = read.password else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must have both \"user\" and \"password\"")
        }
        self = .password(user: user, password: password)
    }
}
