import CNightjar
import Nightjar
import NightjarHandles

/// The prompt of an interactive login as C strings.
final class LoginPromptBox: Sendable {
    let url: CString
    let userCode: CString?
    let completeURL: CString?

    init(_ prompt: LoginPrompt) {
        switch prompt {
        case .device(let code, let page, let complete):
            (url, userCode, completeURL) = (CString(page), CString(code), complete.map(CString.init))
        case .browser(let page): (url, userCode, completeURL) = (CString(page), nil, nil)
        }
    }
}

/// Returns a closure that calls the C callback of a login with its prompt.
private func promptHandler(
    _ prompt: @escaping nj_login_prompt_fn, _ context: CallbackContext
) -> @Sendable (LoginPrompt) -> Void {
    { shown in
        let box = LoginPromptBox(shown)
        withExtendedLifetime(box) { prompt(context.pointer, Handle.lend(box)) }
    }
}

/// Calls the `done` callback of a login or a logout.
func report(_ result: Result<Void, NightjarError>, to done: nj_login_done_fn, _ context: CallbackContext) {
    switch result {
    case .success: done(context.pointer, nil)
    case .failure(let error):
        let box = ErrorBox(error)
        withExtendedLifetime(box) { done(context.pointer, Handle.lend(box)) }
    }
}

@_cdecl("nj_client_log_in") @implementation
public func nj_client_log_in(
    _ client: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ seconds: Double, _ prompt: nj_login_prompt_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let prompt = promptHandler(try required(prompt, "prompt"), CallbackContext(pointer: context))
        let scheme = try optional(scheme, "scheme")
        try client.logInBlocking(scheme: scheme, within: try limit(seconds), prompt: prompt)
    }
}

@_cdecl("nj_client_start_log_in") @implementation
public func nj_client_start_log_in(
    _ client: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ seconds: Double, _ queue: OpaquePointer?,
    _ prompt: nj_login_prompt_fn?, _ done: nj_login_done_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let queue = try requiredQueue(queue)
        let context = CallbackContext(pointer: context)
        let prompt = promptHandler(try required(prompt, "prompt"), context)
        let done = try required(done, "done")
        let scheme = try optional(scheme, "scheme")
        let task = try client.logIn(scheme: scheme, on: queue, within: try limit(seconds), prompt: prompt) {
            report($0, to: done, context)
        }
        return Handle.make(task)
    }
}

@_cdecl("nj_login_prompt_url") @implementation
public func nj_login_prompt_url(_ prompt: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<LoginPromptBox>.borrow(prompt)?.url.pointer
}

@_cdecl("nj_login_prompt_user_code") @implementation
public func nj_login_prompt_user_code(_ prompt: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<LoginPromptBox>.borrow(prompt)?.userCode?.pointer
}

@_cdecl("nj_login_prompt_complete_url") @implementation
public func nj_login_prompt_complete_url(_ prompt: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<LoginPromptBox>.borrow(prompt)?.completeURL?.pointer
}
