import NightjarHTTP

/// The records of stores that the host program implements. They are not encrypted, because the host protects them.
extension StoredLogin {
    /// Returns the record of this login. Nil if it would be larger than ``largestRecord``.
    package var record: [UInt8]? { LoginRecord.encode(self, key: nil, place: "") }

    /// Reads a record.
    ///
    /// - Parameter store: The name of the store in messages.
    /// - Throws: `storage` if the record is damaged or is not a login.
    package init(record: [UInt8], in store: some TokenStore) throws(NightjarError) {
        do throws(LoginRecord.Failure) {
            self = try LoginRecord.decode(record, key: nil, place: "")
        } catch {
            throw store.failure(error.fileReason)
        }
    }

    /// The maximum size of a record in bytes.
    package static var largestRecord: Int { LoginRecord.largestSize }
}
