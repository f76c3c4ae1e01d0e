import CNightjar
import Nightjar
import NightjarHandles

/// A multipart form that C fills part by part.
final class FormBox {
    var parts: [MultipartForm.Part] = []
}

private func add(
    _ form: OpaquePointer?, _ part: () throws(NightjarError) -> MultipartForm.Part
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<FormBox>.borrow(form), "form")
        box.parts.append(try part())
    }
}

@_cdecl("nj_form_new") @implementation
public func nj_form_new() -> OpaquePointer? { Handle.make(FormBox()) }

@_cdecl("nj_form_free") @implementation
public func nj_form_free(_ form: OpaquePointer?) {
    _ = Handle<FormBox>.take(form)
}

@_cdecl("nj_form_add_text") @implementation
public func nj_form_add_text(
    _ form: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    add(form) { () throws(NightjarError) in .init(try required(text(name), "name"), try required(text(value), "text")) }
}

@_cdecl("nj_form_add_bytes") @implementation
public func nj_form_add_bytes(
    _ form: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ filename: UnsafePointer<CChar>?,
    _ contentType: UnsafePointer<CChar>?, _ bytes: UnsafeRawPointer?, _ length: Int
) -> nj_status {
    add(form) { () throws(NightjarError) in
        var part = MultipartForm.Part(
            try required(text(name), "name"), .bytes(try NightjarABI.bytes(bytes, length)))
        part.filename = try optional(filename, "filename")
        part.contentType = try optional(contentType, "content_type")
        return part
    }
}

@_cdecl("nj_form_add_file") @implementation
public func nj_form_add_file(
    _ form: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?,
    _ filename: UnsafePointer<CChar>?, _ contentType: UnsafePointer<CChar>?
) -> nj_status {
    add(form) { () throws(NightjarError) in
        let content = MultipartForm.Content.file(path: try required(text(path), "path"), length: nil)
        var part = MultipartForm.Part(try required(text(name), "name"), content)
        if let filename = try optional(filename, "filename") { part.filename = filename }
        part.contentType = try optional(contentType, "content_type")
        return part
    }
}
