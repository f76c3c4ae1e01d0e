import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

/// The file operations of modules/lua/fs.lua, by name. They run on a worker thread, which may wait for the file system.
/// The thread blocks all signals, so no system call is interrupted.
enum FileWork {
    typealias Work = @Sendable () throws(NightjarError) -> WorkValue

    /// Returns the operation with this name.
    ///
    /// - Returns: nil if the name is unknown or the arguments do not match the operation.
    static func named(_ name: String, _ arguments: [ScriptValue], _ temporaries: Temporaries) -> Work? {
        func bytes(_ index: Int) -> [UInt8]? {
            if index < arguments.count, case .string(let bytes) = arguments[index] { bytes } else { nil }
        }
        func flag(_ index: Int) -> Bool { index < arguments.count && arguments[index] == .boolean(true) }
        func number(_ index: Int) -> Int? {
            if index < arguments.count, case .integer(let number) = arguments[index] { Int(number) } else { nil }
        }
        if name == "temporary" {
            guard let folder = bytes(1), let prefix = bytes(2), let suffix = bytes(3) else { return nil }
            let isFolder = flag(0)
            return { () throws(NightjarError) in
                let made = try temporaries.make(
                    isFolder: isFolder, in: FilePath(folder), prefix: prefix, suffix: suffix)
                return .resource(made, .string(made.path.bytes))
            }
        }
        guard let path = bytes(0).map(FilePath.init) else { return nil }
        switch name {
        case "read":
            guard let limit = number(1) else { return nil }
            return { () throws(NightjarError) in try path.read(limit: limit) }
        case "write":
            guard let text = bytes(1) else { return nil }
            let isAtomic = flag(2)
            let mode = number(3).map { mode_t(truncatingIfNeeded: $0) }
            return { () throws(NightjarError) in
                .one(.boolean(try path.write(text, isAtomic: isAtomic, mode: mode)))
            }
        case "append":
            guard let text = bytes(1) else { return nil }
            return { () throws(NightjarError) in .one(.boolean(try path.append(text))) }
        case "stat":
            let follows = flag(1)
            return { () throws(NightjarError) in try path.status(follows: follows).map { .many($0.values) } ?? .nothing
            }
        case "list": return { () throws(NightjarError) in .many(try path.list()) }
        case "mkdir":
            let withParents = flag(1)
            return { () throws(NightjarError) in
                try path.makeFolder(withParents: withParents)
                return .nothing
            }
        case "remove":
            let isRecursive = flag(1)
            return { () throws(NightjarError) in .one(.boolean(try path.remove(isRecursive: isRecursive))) }
        case "copy":
            guard let other = bytes(1).map(FilePath.init) else { return nil }
            return { () throws(NightjarError) in .one(.boolean(try path.copy(to: other))) }
        case "rename":
            guard let other = bytes(1).map(FilePath.init) else { return nil }
            return { () throws(NightjarError) in
                try path.rename(to: other)
                return .nothing
            }
        case "open": return { () throws(NightjarError) in try path.openSource() }
        case "sink": return { () throws(NightjarError) in try path.openSink() }
        default: return nil
        }
    }
}

@_cdecl("njl_work_start") @implementation
public func njl_work_start(
    _ engine: OpaquePointer?, _ name: njl_bytes, _ arguments: UnsafePointer<njl_value>?, _ count: Int,
    _ wait: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        let name = String(decoding: name.buffer, as: UTF8.self)
        let values = UnsafeBufferPointer(start: arguments, count: count).map(ScriptValue.init)
        guard let engine = Handle<Engine>.borrow(engine), let wait,
            let work = FileWork.named(name, values, engine.temporaries) ?? engine.transferWork.named(name, values)
                ?? engine.graphQLWork.named(name, values)
                ?? engine.outboxWork.named(name, values)
        else {
            throw NightjarError(
                .invalidArgument, "the operation \(quoted(name)) does not exist or has invalid arguments")
        }
        return Handle<Future>.make(try engine.work(for: wait, work))
    }
}

@_cdecl("njl_resource_read") @implementation
public func njl_resource_read(
    _ engine: OpaquePointer?, _ resource: OpaquePointer?, _ most: Int64, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let wait,
            let file = Handle<Resource>.borrow(resource) as? OpenFile
        else { throw NightjarError(.invalidArgument, "the argument is not an open file") }
        let most = Int(clamping: max(1, min(most, OpenFile.largestRead)))
        return Handle<Future>.make(
            try engine.work(for: wait) { () throws(NightjarError) in
                let bytes = try file.read(most)
                return bytes.isEmpty ? .nothing : .one(.string(bytes))
            })
    }
}

@_cdecl("njl_resource_take_descriptor") @implementation
public func njl_resource_take_descriptor(_ resource: OpaquePointer?) -> Int32 {
    (Handle<Resource>.borrow(resource) as? OpenStream)?.take() ?? -1
}

@_cdecl("njl_resource_release") @implementation
public func njl_resource_release(_ resource: OpaquePointer?) {
    Handle<Resource>.borrow(resource)?.close()
    Handle<Resource>.release(resource)
}

// MARK: Results of work

@_cdecl("njl_work_is_list") @implementation
public func njl_work_is_list(_ future: OpaquePointer?) -> Bool {
    if case .many = Handle<Future>.borrow(future)?.value { true } else { false }
}

@_cdecl("njl_work_count") @implementation
public func njl_work_count(_ future: OpaquePointer?) -> Int {
    if case .many(let values) = Handle<Future>.borrow(future)?.value { values.count } else { 1 }
}

@_cdecl("njl_work_value") @implementation
public func njl_work_value(_ future: OpaquePointer?, _ index: Int, _ value: UnsafeMutablePointer<njl_value>?) -> Bool {
    let found: ScriptValue? =
        switch Handle<Future>.borrow(future)?.value {
        case .many(let values): values.indices.contains(index) ? values[index] : nil
        case .one(let one), .resource(_, let one): index == 0 ? one : nil
        case .nothing, nil: nil
        }
    // The pointer stays valid because the outcome keeps the buffer.
    guard let found else { return false }
    value?.pointee = found.withC { $0 }
    return true
}

@_cdecl("njl_work_has_resource") @implementation
public func njl_work_has_resource(_ future: OpaquePointer?) -> Bool {
    if case .resource = Handle<Future>.borrow(future)?.value { true } else { false }
}

@_cdecl("njl_work_take_resource") @implementation
public func njl_work_take_resource(_ future: OpaquePointer?) -> OpaquePointer? {
    guard let future = Handle<Future>.borrow(future), case .resource(let resource, _) = future.value else {
        return nil
    }
    future.value = .nothing
    return Handle<Resource>.make(resource)
}

extension ScriptValue {
    /// Copies the value.
    init(_ value: njl_value) {
        switch value.kind {
        case NJL_BOOLEAN: self = .boolean(value.boolean)
        case NJL_INTEGER: self = .integer(value.integer)
        case NJL_NUMBER: self = .number(value.number)
        case NJL_STRING: self = .string(Array(value.bytes.buffer))
        default: self = .none
        }
    }
}
