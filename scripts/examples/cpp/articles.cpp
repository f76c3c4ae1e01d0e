/* Uses the library from C++17: owners that release handles, errors as exceptions, a future, a callback, and a streamed body.
 *
 *   g++ -std=c++17 articles.cpp -o articles $(pkg-config --cflags --libs nightjar) -pthread
 *   articles URL      the demo API: http://127.0.0.1:8080 */
#include <nightjar.h>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// An owner calls `release` once, also if an exception is thrown.
template <auto release>
struct Releaser {
  template <class Handle>
  void operator()(Handle *handle) const noexcept { release(handle); }
};
template <class Handle, auto release>
using Owner = std::unique_ptr<Handle, Releaser<release>>;

using ConfigHandle = Owner<nj_config, nj_config_free>;
using ClientHandle = Owner<nj_client, nj_client_free>;
using QueueHandle = Owner<nj_queue, nj_queue_free>;
using RequestHandle = Owner<nj_request, nj_request_free>;
using ResponseHandle = Owner<nj_response, nj_response_release>;
using TaskHandle = Owner<nj_task, nj_task_release>;
using ErrorHandle = Owner<nj_error, nj_error_release>;

// The reason of a failure. It copies what a program needs, so that the handle does not outlive the callback.
class Error : public std::runtime_error {
 public:
  explicit Error(const nj_error *error)
      : std::runtime_error(nj_error_message(error)),
        kind(nj_error_kind(error)),
        http_status(nj_error_http_status(error)),
        is_retryable(nj_error_is_retryable(error)) {}

  nj_status kind;
  int http_status = 0;
  bool is_retryable = false;
};

// Checks a function without an `out_error`, such as a setter.
void check(bool has_succeeded) {
  if (!has_succeeded) throw Error(nj_error_last());
}

[[noreturn]] void fail(nj_error *error) {
  ErrorHandle owner(error);
  throw Error(error);
}

class Response {
 public:
  // Takes the ownership of `response`.
  explicit Response(nj_response *response) : response_(response) {}

  int status() const { return nj_response_status(response_.get()); }
  // The views are valid as long as the response.
  std::string_view header(const char *name) const {
    const char *value = nj_response_header(response_.get(), name);
    return value ? value : std::string_view();
  }
  std::string_view body() const {
    size_t length = 0;
    const char *bytes = nj_response_body(response_.get(), &length);
    return bytes ? std::string_view(bytes, length) : std::string_view();
  }
  std::string_view text_at(const char *pointer) const {
    const char *text = nullptr;
    nj_error *error = nullptr;
    if (nj_response_json_string(response_.get(), pointer, &text, nullptr, &error) != NJ_OK) fail(error);
    return text;
  }
  int64_t integer_at(const char *pointer) const {
    int64_t value = 0;
    nj_error *error = nullptr;
    if (nj_response_json_int64(response_.get(), pointer, &value, &error) != NJ_OK) fail(error);
    return value;
  }

 private:
  ResponseHandle response_;
};

// A source writes the next part of a body to the buffer and returns its length, or 0 at the end.
using Source = std::function<size_t(char *buffer, size_t capacity)>;

class Request {
 public:
  Request(const char *method, const std::string &target) : request_(nj_request_new(method, target.c_str())) {
    check(request_ != nullptr);
  }

  Request &header(const char *name, const char *value) {
    check(nj_request_set_header(request_.get(), name, value) == NJ_OK);
    return *this;
  }
  // The request must outlive its calls, because they read from the source.
  Request &body(Source source) {
    source_ = std::make_unique<Source>(std::move(source));
    check(nj_request_set_body_stream(request_.get(), -1, read, source_.get()) == NJ_OK);
    return *this;
  }
  const nj_request *get() const { return request_.get(); }

 private:
  // No exception may leave a callback.
  static int64_t read(void *context, nj_task *, void *buffer, size_t capacity) noexcept try {
    return static_cast<int64_t>((*static_cast<Source *>(context))(static_cast<char *>(buffer), capacity));
  } catch (...) {
    return NJ_READ_FAILED;
  }

  RequestHandle request_;
  std::unique_ptr<Source> source_;
};

// Runs the callbacks of the task's queue on this thread until the task has ended.
void wait(const TaskHandle &task) {
  nj_error *error = nullptr;
  if (nj_task_wait(task.get(), NJ_NO_LIMIT, &error) != NJ_OK) fail(error);
}

class Client {
 public:
  explicit Client(const std::string &base_url) {
    ConfigHandle config(nj_config_new());
    check(nj_config_set_base_url(config.get(), base_url.c_str()) == NJ_OK);
    nj_error *error = nullptr;
    client_.reset(nj_client_new(config.get(), &error));
    if (!client_) fail(error);
  }

  // Blocks until the response has arrived.
  Response send(const Request &request) {
    nj_error *error = nullptr;
    nj_response *response = nj_client_send(client_.get(), request.get(), &error);
    if (!response) fail(error);
    return Response(response);
  }

  // Returns at once. `done` must not throw.
  using Done = std::function<void(const nj_response *response, const nj_error *error)>;
  TaskHandle start(const Request &request, const QueueHandle &queue, Done done) {
    auto context = std::make_unique<Done>(std::move(done));
    nj_error *error = nullptr;
    TaskHandle task(nj_client_start(client_.get(), request.get(), queue.get(), complete, context.get(), &error));
    if (!task) fail(error);
    // `complete` is called exactly once and deletes the context.
    static_cast<void>(context.release());
    return task;
  }

  // Returns at once. `get` of the future waits for the call, and meanwhile runs the callbacks of the queue.
  std::future<Response> start(const Request &request, const QueueHandle &queue) {
    auto promise = std::make_shared<std::promise<Response>>();
    TaskHandle task = start(request, queue, [promise](const nj_response *response, const nj_error *error) {
      if (response) promise->set_value(Response(nj_response_retain(response)));
      else promise->set_exception(std::make_exception_ptr(Error(error)));
    });
    return std::async(std::launch::deferred, [task = std::move(task), promise] {
      wait(task);
      return promise->get_future().get();
    });
  }

 private:
  static void complete(void *context, nj_task *, const nj_response *response, const nj_error *error) noexcept {
    std::unique_ptr<Done> done(static_cast<Done *>(context));
    (*done)(response, error);
  }

  ClientHandle client_;
};

void run(const std::string &url) {
  QueueHandle queue(nj_queue_new()); // freeing the queue cancels and completes the remaining calls
  Client client(url);

  Response article = client.send(Request("GET", "/v1/articles/1").header("Accept", "application/json"));
  std::string_view type = article.header("content-type"), title = article.text_at("/title");
  std::printf("%d %.*s: %.*s\n", article.status(), static_cast<int>(type.size()), type.data(),
              static_cast<int>(title.size()), title.data());

  try {
    client.send(Request("GET", "/v1/articles/999999"));
  } catch (const Error &error) {
    std::printf("%s, %d, %s\n", nj_status_name(error.kind), error.http_status,
                error.is_retryable ? "retryable" : "not retryable");
  }

  std::vector<std::future<Response>> futures;
  for (int id = 2; id <= 4; id++) {
    futures.push_back(client.start(Request("GET", "/v1/articles/" + std::to_string(id)), queue));
  }
  for (auto &future : futures) {
    std::printf("article %lld in a future\n", static_cast<long long>(future.get().integer_at("/id")));
  }

  int status = 0;
  wait(client.start(Request("GET", "/v1/articles/5"), queue, [&status](const nj_response *response, const nj_error *) {
    status = nj_response_status(response);
  }));
  std::printf("%d in a callback\n", status);

  int line = 0;
  Request upload("POST", "/echo");
  upload.header("Content-Type", "text/plain").body([&line](char *buffer, size_t capacity) -> size_t {
    if (line == 100) return 0;
    return static_cast<size_t>(std::snprintf(buffer, capacity, "line %d\n", ++line));
  });
  Response echo = client.start(upload, queue).get();
  std::printf("%d lines sent, %lld bytes received\n", line, static_cast<long long>(echo.integer_at("/body_bytes")));
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s URL\n", argv[0]);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
