import CLua
import Nightjar
import NightjarHandles

// Parsing and formatting of times for scripts.

extension Timestamp {
    fileprivate init?(_ moment: njl_timestamp) {
        self.init(secondsSince1970: moment.seconds, nanoseconds: moment.nanoseconds)
    }
}

private func store(_ moment: Timestamp?, to result: UnsafeMutablePointer<njl_timestamp>?) -> Bool {
    guard let moment else { return false }
    result?.pointee = njl_timestamp(seconds: moment.seconds, nanoseconds: moment.nanoseconds)
    return true
}

@_cdecl("njl_timestamp_of") @implementation
public func njl_timestamp_of(_ seconds: Double, _ moment: UnsafeMutablePointer<njl_timestamp>?) -> Bool {
    store(Timestamp(secondsSince1970: seconds), to: moment)
}

@_cdecl("njl_timestamp_parse") @implementation
public func njl_timestamp_parse(
    _ text: njl_bytes, _ form: njl_timestamp_form, _ now: Int64, _ moment: UnsafeMutablePointer<njl_timestamp>?
) -> Bool {
    switch form {
    case NJL_HTTP_DATE:
        store(Timestamp(httpDate: text.buffer, now: Timestamp(secondsSince1970: now) ?? .epoch), to: moment)
    default: store(String(validating: text.buffer, as: UTF8.self).flatMap(Timestamp.init(iso8601:)), to: moment)
    }
}

@_cdecl("njl_timestamp_format") @implementation
public func njl_timestamp_format(
    _ moment: njl_timestamp, _ form: njl_timestamp_form, _ minutesEast: Int32, _ digits: Int32
) -> OpaquePointer? {
    guard let moment = Timestamp(moment) else { return nil }
    let text =
        form == NJL_HTTP_DATE
        ? moment.httpDate
        : moment.iso8601(minutesEast: Int(minutesEast), fractionDigits: digits < 0 ? nil : Int(digits))
    return text.map { Handle.make(BorrowedText($0)) }
}
