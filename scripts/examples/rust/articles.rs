//! Uses the library from Rust without a crate: declarations, wrappers that release their handles, errors as `Result`, a
//! blocking call, and concurrent calls on a queue.
//!
//!     rustc --edition 2021 articles.rs -L PREFIX/lib -C link-arg=-Wl,-rpath,PREFIX/lib
//!     articles URL      the demo API: http://127.0.0.1:8080

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::{env, fmt, process, ptr, slice};

/// The declarations of `nightjar.h` that this program needs.
mod ffi {
    use super::{c_char, c_int, c_void};

    macro_rules! handles {
        ($($name:ident)*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
    }
    handles!(Config Client Request Response Error Queue Task);
    pub type Done = unsafe extern "C" fn(*mut c_void, *mut Task, *const Response, *const Error);

    #[link(name = "nightjar")]
    extern "C" {
        pub fn nj_status_name(status: c_int) -> *const c_char;

        pub fn nj_error_last() -> *const Error;
        pub fn nj_error_retain(error: *const Error) -> *mut Error;
        pub fn nj_error_release(error: *mut Error);
        pub fn nj_error_kind(error: *const Error) -> c_int;
        pub fn nj_error_message(error: *const Error) -> *const c_char;
        pub fn nj_error_http_status(error: *const Error) -> c_int;

        pub fn nj_config_new() -> *mut Config;
        pub fn nj_config_free(config: *mut Config);
        pub fn nj_config_set_base_url(config: *mut Config, url: *const c_char) -> c_int;

        pub fn nj_client_new(config: *const Config, error: *mut *mut Error) -> *mut Client;
        pub fn nj_client_free(client: *mut Client);
        pub fn nj_client_send(client: *mut Client, request: *const Request, error: *mut *mut Error) -> *mut Response;
        pub fn nj_client_start(
            client: *mut Client, request: *const Request, queue: *mut Queue, done: Done, context: *mut c_void,
            error: *mut *mut Error,
        ) -> *mut Task;

        pub fn nj_queue_new() -> *mut Queue;
        pub fn nj_queue_free(queue: *mut Queue);
        pub fn nj_task_wait(task: *mut Task, seconds: f64, error: *mut *mut Error) -> c_int;
        pub fn nj_task_release(task: *mut Task);

        pub fn nj_request_new(method: *const c_char, target: *const c_char) -> *mut Request;
        pub fn nj_request_free(request: *mut Request);

        pub fn nj_response_retain(response: *const Response) -> *mut Response;
        pub fn nj_response_release(response: *mut Response);
        pub fn nj_response_status(response: *const Response) -> c_int;
        pub fn nj_response_header(response: *const Response, name: *const c_char) -> *const c_char;
        pub fn nj_response_body(response: *const Response, length: *mut usize) -> *const c_char;
    }
}

/// The text of a static or borrowed C string; empty for NULL.
unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    if pointer.is_null() {
        return "";
    }
    CStr::from_ptr(pointer).to_str().unwrap_or("")
}

/// The reason of a failure.
enum Error {
    /// An argument contains NUL.
    InvalidArgument(&'static str),
    Call(CallError),
}

impl Error {
    /// The error of the function without an `out_error` that has just failed.
    fn last() -> Error {
        Error::Call(CallError(unsafe { ffi::nj_error_retain(ffi::nj_error_last()) }))
    }
}

/// Owns an `nj_error`, which is immutable.
struct CallError(*mut ffi::Error);

impl CallError {
    fn kind(&self) -> &str {
        unsafe { text(ffi::nj_status_name(ffi::nj_error_kind(self.0))) }
    }

    fn http_status(&self) -> i32 {
        unsafe { ffi::nj_error_http_status(self.0) }
    }
}

impl Drop for CallError {
    fn drop(&mut self) {
        unsafe { ffi::nj_error_release(self.0) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::InvalidArgument(what) => write!(formatter, "{} is invalid", what),
            Error::Call(error) => formatter.write_str(unsafe { text(ffi::nj_error_message(error.0)) }),
        }
    }
}

fn c_text(value: &str, what: &'static str) -> Result<CString, Error> {
    CString::new(value).map_err(|_| Error::InvalidArgument(what))
}

struct Client(*mut ffi::Client);

impl Client {
    fn new(base_url: &str) -> Result<Client, Error> {
        let base_url = c_text(base_url, "the base URL")?;
        unsafe {
            let config = ffi::nj_config_new();
            let mut error = ptr::null_mut();
            if ffi::nj_config_set_base_url(config, base_url.as_ptr()) != 0 {
                ffi::nj_config_free(config);
                return Err(Error::last());
            }
            let client = ffi::nj_client_new(config, &mut error);
            ffi::nj_config_free(config);
            if client.is_null() { Err(Error::Call(CallError(error))) } else { Ok(Client(client)) }
        }
    }

    /// Blocks until the response has arrived.
    fn send(&self, request: &Request) -> Result<Response, Error> {
        let mut error = ptr::null_mut();
        let response = unsafe { ffi::nj_client_send(self.0, request.0, &mut error) };
        if response.is_null() { Err(Error::Call(CallError(error))) } else { Ok(Response(response)) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        unsafe { ffi::nj_client_free(self.0) }
    }
}

struct Request(*mut ffi::Request);

impl Request {
    fn get(target: &str) -> Result<Request, Error> {
        let target = c_text(target, "the target")?;
        let request = unsafe { ffi::nj_request_new(b"GET\0".as_ptr().cast(), target.as_ptr()) };
        if request.is_null() { Err(Error::last()) } else { Ok(Request(request)) }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        unsafe { ffi::nj_request_free(self.0) }
    }
}

/// Owns an `nj_response`. The texts and bytes that it returns are borrowed from it.
struct Response(*mut ffi::Response);

impl Response {
    fn status(&self) -> i32 {
        unsafe { ffi::nj_response_status(self.0) }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let name = CString::new(name).ok()?;
        let value = unsafe { ffi::nj_response_header(self.0, name.as_ptr()) };
        if value.is_null() { None } else { Some(unsafe { text(value) }) }
    }

    fn body(&self) -> &[u8] {
        let mut length = 0;
        unsafe {
            let bytes = ffi::nj_response_body(self.0, &mut length);
            if bytes.is_null() { &[] } else { slice::from_raw_parts(bytes.cast(), length) }
        }
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        unsafe { ffi::nj_response_release(self.0) }
    }
}

type Completion = Box<dyn FnOnce(Result<Response, Error>)>;

/// Runs completions. The pointer makes the type neither `Send` nor `Sync`, so completions run on the thread that has started
/// their calls and may use its values.
struct Queue(*mut ffi::Queue);

impl Queue {
    fn new() -> Queue {
        Queue(unsafe { ffi::nj_queue_new() })
    }

    /// Starts a call. `done` runs exactly once: in `wait` of a task, or when the queue is dropped.
    fn start(
        &self, client: &Client, request: &Request, done: impl FnOnce(Result<Response, Error>) + 'static,
    ) -> Result<Task, Error> {
        let done: *mut Completion = Box::into_raw(Box::new(Box::new(done)));
        let mut error = ptr::null_mut();
        unsafe {
            let task = ffi::nj_client_start(client.0, request.0, self.0, complete, done.cast(), &mut error);
            if task.is_null() {
                drop(Box::from_raw(done));
                return Err(Error::Call(CallError(error)));
            }
            Ok(Task(task))
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        unsafe { ffi::nj_queue_free(self.0) }
    }
}

/// A call on a queue. Dropping the task does not cancel the call.
struct Task(*mut ffi::Task);

impl Task {
    /// Runs the completions of the queue until that of this task has run.
    fn wait(&self) -> Result<(), Error> {
        let mut error = ptr::null_mut();
        let is_done = unsafe { ffi::nj_task_wait(self.0, 0.0, &mut error) } == 0; // 0: no limit
        if is_done { Ok(()) } else { Err(Error::Call(CallError(error))) }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        unsafe { ffi::nj_task_release(self.0) }
    }
}

unsafe extern "C" fn complete(
    context: *mut c_void, _task: *mut ffi::Task, response: *const ffi::Response, error: *const ffi::Error,
) {
    let done = Box::from_raw(context as *mut Completion);
    let result = if response.is_null() {
        Err(Error::Call(CallError(ffi::nj_error_retain(error))))
    } else {
        Ok(Response(ffi::nj_response_retain(response)))
    };
    // A panic must not unwind through the library.
    if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
        process::abort();
    }
}

fn run(url: &str) -> Result<(), Error> {
    let client = Client::new(url)?;

    let article = client.send(&Request::get("/v1/articles/1")?)?;
    let kind = article.header("content-type").unwrap_or("no type");
    println!("{} {}, {} bytes", article.status(), kind, article.body().len());

    match client.send(&Request::get("/v1/articles/999999")?) {
        Err(Error::Call(error)) => println!("{}, {}", error.kind(), error.http_status()),
        Err(error) => return Err(error),
        Ok(_) => println!("found"),
    }

    let queue = Queue::new();
    let mut calls = Vec::new();
    for id in 2..=5 {
        let request = Request::get(&format!("/v1/articles/{}", id))?;
        let result = Rc::new(RefCell::new(None));
        let place = Rc::clone(&result);
        let task = queue.start(&client, &request, move |done| *place.borrow_mut() = Some(done))?;
        calls.push((id, task, result));
    }
    for (id, task, result) in calls {
        task.wait()?;
        if let Some(done) = result.take() {
            println!("article {}: {}", id, done?.status());
        }
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: {} URL", arguments[0]);
        process::exit(2);
    }
    if let Err(error) = run(&arguments[1]) {
        eprintln!("{}", error);
        process::exit(1);
    }
}
