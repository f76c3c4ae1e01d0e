import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// The server's error details as C strings.
final class DetailsBox: Sendable {
    let title: CString?
    let message: CString?
    let detail: CString?
    let code: CString?
    let type: CString?
    let fields: [(name: CString?, message: CString)]

    init(_ details: ErrorBody) {
        title = details.title.map(CString.init)
        message = details.message.map(CString.init)
        detail = details.detail.map(CString.init)
        code = details.code.map(CString.init)
        type = details.type.map(CString.init)
        fields = details.fields.map { ($0.name.map(CString.init), CString($0.message)) }
    }
}

private func details(_ error: OpaquePointer?) -> DetailsBox? { Handle<ErrorBox>.borrow(error)?.details }

@_cdecl("nj_error_details_title") @implementation
public func nj_error_details_title(_ error: OpaquePointer?) -> UnsafePointer<CChar>? { details(error)?.title?.pointer }

@_cdecl("nj_error_details_message") @implementation
public func nj_error_details_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    details(error)?.message?.pointer
}

@_cdecl("nj_error_details_detail") @implementation
public func nj_error_details_detail(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    details(error)?.detail?.pointer
}

@_cdecl("nj_error_details_code") @implementation
public func nj_error_details_code(_ error: OpaquePointer?) -> UnsafePointer<CChar>? { details(error)?.code?.pointer }

@_cdecl("nj_error_details_type") @implementation
public func nj_error_details_type(_ error: OpaquePointer?) -> UnsafePointer<CChar>? { details(error)?.type?.pointer }

@_cdecl("nj_error_details_field_count") @implementation
public func nj_error_details_field_count(_ error: OpaquePointer?) -> Int { details(error)?.fields.count ?? 0 }

@_cdecl("nj_error_details_field_name_at") @implementation
public func nj_error_details_field_name_at(_ error: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let fields = details(error)?.fields, fields.indices.contains(index) else { return nil }
    return fields[index].name?.pointer
}

@_cdecl("nj_error_details_field_message_at") @implementation
public func nj_error_details_field_message_at(_ error: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let fields = details(error)?.fields, fields.indices.contains(index) else { return nil }
    return fields[index].message.pointer
}
