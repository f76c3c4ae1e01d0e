import NightjarAPI
import NightjarCrypto
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// A file with the schema of a GraphQL service, so that programs do not request the schema each time they start.
package struct GraphQLSchemaFile: Sendable {
    private let file: PrivateFile
    /// Whether the schema is returned although the file cannot be accessed.
    private let isOptional: Bool

    package init(_ path: String) { self.init(path, isOptional: false) }

    private init(_ path: String, isOptional: Bool) {
        file = PrivateFile(path, "schema file")
        self.isOptional = isOptional
    }

    /// The file for an endpoint: `nightjar/graphql` in the user's cache directory. Nil if neither XDG_CACHE_HOME nor HOME is
    /// an absolute path.
    ///
    /// - Parameter key: See ``Client/key(of:)``.
    package static func standard(for key: String) -> GraphQLSchemaFile? {
        CacheStorage.standardFolder.map { GraphQLSchemaFile("\($0)/graphql/\(key).json", isOptional: true) }
    }

    /// Reads the schema.
    ///
    /// - Returns: nil if there is no file, if it was written `maximumAge` ago or earlier, or if its content is invalid.
    /// - Throws: `storage` if the file cannot be read.
    package func read(maximumAge: Duration) throws(NightjarError) -> GraphQLSchema? {
        var status = stat()
        guard stat(file.path, &status) == 0 else { return nil }
        let age = Int64(time(nil)) - Int64(status.st_mtim.tv_sec)
        guard age >= 0, .seconds(age) < maximumAge, let content = try content() else { return nil }
        return content.withUnsafeBytes { try? GraphQLSchema(introspection: JSONValue(parsing: $0)) }
    }

    private func content() throws(NightjarError) -> [UInt8]? {
        do throws(NightjarError) {
            return try file.read(atMost: GraphQLSchemaFile.maximumLength)
        } catch {
            if isOptional { return nil }
            throw error
        }
    }

    /// Replaces the file, which is accessible only to its owner. Creates its folder.
    ///
    /// - Throws: `storage`, unless it is the standard file.
    package func write(_ content: [UInt8]) throws(NightjarError) {
        file.makeFolder()
        do throws(NightjarError) {
            try file.replace(with: content)
        } catch {
            if !isOptional { throw error }
        }
    }

    /// The maximum length of a schema in bytes. The schema of GitHub's API has 4 MB.
    private static let maximumLength = 64 << 20
}

extension Client {
    /// Returns a text that identifies the URL of a request: its SHA-256 digest in hexadecimal digits.
    package func key(of request: Request) throws(NightjarError) -> String {
        let url = try url(of: request)
        let digits = Array("0123456789abcdef".utf8)
        let text = Digest.sha256(Array((url.origin.description + url.target).utf8)).flatMap { byte in
            [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
