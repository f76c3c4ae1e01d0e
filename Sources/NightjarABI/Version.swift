import CNightjar
import Nightjar
import NightjarHTTP

private let version = CString(Version.string)

@_cdecl("nj_version") @implementation
public func nj_version() -> UnsafePointer<CChar>! { version.pointer }

@_cdecl("nj_version_number") @implementation
public func nj_version_number() -> UInt32 {
    UInt32(Version.major * 1_000_000 + Version.minor * 1000 + Version.patch)
}

private let statusNames: [Int32: CString] = {
    var names = Dictionary(uniqueKeysWithValues: ErrorKind.allCases.map { ($0.rawValue, CString($0.name)) })
    names[0] = CString("ok")
    return names
}()
private let unknownStatus = CString("unknown")

@_cdecl("nj_status_name") @implementation
public func nj_status_name(_ status: nj_status) -> UnsafePointer<CChar>! {
    (statusNames[Int32(bitPattern: status.rawValue)] ?? unknownStatus).pointer
}
