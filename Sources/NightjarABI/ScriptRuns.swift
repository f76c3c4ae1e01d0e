import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarLua

/// Returns the chunk that a program runs.
private func chunk(
    _ source: UnsafePointer<CChar>?, _ length: Int, _ name: UnsafePointer<CChar>?
) throws(NightjarError) -> ScriptChunk {
    let source = try required(source, "source")
    guard length >= 0 else {
        throw NightjarError(.invalidArgument, "length must be at most SSIZE_MAX; was a negative number passed?")
    }
    let name = name == nil ? "script" : try required(text(name), "name")
    return ScriptChunk(Array(UnsafeRawBufferPointer(start: source, count: length)), name: name)
}

/// Returns the function that a program calls.
private func function(
    _ name: UnsafePointer<CChar>?, _ arguments: UnsafePointer<CChar>?, _ length: Int
) throws(NightjarError) -> ScriptChunk {
    let name = try required(text(name), "function")
    let isEmpty = arguments == nil && length == 0
    let arguments = isEmpty ? UnsafeRawBufferPointer(start: nil, count: 0) : try document(arguments, length)
    return try ScriptChunk(function: name, arguments: arguments)
}

// MARK: Blocking

/// Runs a chunk and stores its results, if the program requests them.
private func run(
    _ script: OpaquePointer?, _ outResults: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
    _ outLength: UnsafeMutablePointer<Int>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?,
    _ chunk: () throws(NightjarError) -> ScriptChunk
) -> nj_status {
    outResults?.pointee = nil
    outLength?.pointee = 0
    return use(script, outError) { script throws(NightjarError) in
        let results = try script.execute(try chunk(), wantsResults: outResults != nil)
        outLength?.pointee = results?.count ?? 0
        outResults?.pointee = results?.take()
    }
}

@_cdecl("nj_script_run") @implementation
public func nj_script_run(
    _ script: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ length: Int, _ name: UnsafePointer<CChar>?,
    _ outResults: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    run(script, outResults, outLength, outError) { () throws(NightjarError) in try chunk(source, length, name) }
}

@_cdecl("nj_script_run_file") @implementation
public func nj_script_run_file(
    _ script: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ outResults: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    run(script, outResults, outLength, outError) { () throws(NightjarError) in
        ScriptChunk(file: try required(text(path), "path"))
    }
}

@_cdecl("nj_script_invoke") @implementation
public func nj_script_invoke(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ arguments: UnsafePointer<CChar>?, _ length: Int,
    _ outResults: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    run(script, outResults, outLength, outError) { () throws(NightjarError) in try function(name, arguments, length) }
}

// MARK: On a queue

/// Starts a run whose end is reported to `done`.
private func start(
    _ script: OpaquePointer?, _ queue: OpaquePointer?, _ done: nj_script_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?, _ chunk: () throws(NightjarError) -> ScriptChunk
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let script = try required(Handle<ScriptBox>.borrow(script), "script").prepared()
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        let task: ClientWork = try script.start(try chunk(), on: queue) { task, result in
            switch result {
            case .success(let results):
                withExtendedLifetime(results) {
                    done(context.pointer, Handle.lend(task), results.pointer, results.count, nil)
                }
            case .failure(let error):
                let failure = ErrorBox(error)
                withExtendedLifetime(failure) {
                    done(context.pointer, Handle.lend(task), nil, 0, Handle.lend(failure))
                }
            }
        }
        return Handle.make(task)
    }
}

@_cdecl("nj_script_start_run") @implementation
public func nj_script_start_run(
    _ script: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ length: Int, _ name: UnsafePointer<CChar>?,
    _ queue: OpaquePointer?, _ done: nj_script_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    start(script, queue, done, context, outError) { () throws(NightjarError) in try chunk(source, length, name) }
}

@_cdecl("nj_script_start_invoke") @implementation
public func nj_script_start_invoke(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ arguments: UnsafePointer<CChar>?, _ length: Int,
    _ queue: OpaquePointer?, _ done: nj_script_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    start(script, queue, done, context, outError) { () throws(NightjarError) in try function(name, arguments, length) }
}
