/* Calls every function with NULL, empty texts, invalid UTF-8, numbers out of range and closed queues. The function must
 * return an error and not crash. */
#include "check.h"
#include <math.h>
#include <nightjar.h>

static const char *bad_text[] = {NULL, "\xff\xfe", "\xc3\x28", "\xed\xa0\x80"};
static const char *bad_header[] = {"a\rb", "a\nb", "a\r\nX-Injected: 1", "\x01", "\x7f"};

static void never(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)context, (void)task, (void)res, (void)err;
  CHECK(!"called");
}

static void fails(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)context, (void)task;
  CHECK(res == NULL && nj_error_kind(err) == NJ_CONNECT);
}

static void proxies_and_sockets_are_checked_as_they_are_set(void) {
  nj_config *cfg = nj_config_new();
  CHECK(nj_config_set_proxy(cfg, "http://user:password@127.0.0.1:3128") == NJ_OK);
  CHECK(nj_config_set_proxy(cfg, "socks5h://[::1]") == NJ_OK);
  CHECK(nj_config_set_proxy(cfg, NULL) == NJ_OK);
  CHECK(nj_config_set_proxy(cfg, "ftp://h") == NJ_INVALID_URL);
  CHECK(nj_config_set_proxy(cfg, "") == NJ_INVALID_URL);
  CHECK(nj_config_set_proxy(cfg, "http://h:99999") == NJ_INVALID_URL);
  CHECK(nj_config_set_proxy(cfg, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_no_proxy(cfg, "a.test,10.0.0.0/8") == NJ_OK);
  CHECK(nj_config_set_no_proxy(cfg, NULL) == NJ_OK);
  CHECK(nj_config_set_no_proxy(cfg, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_use_environment_proxy(cfg, false) == NJ_OK);
  CHECK(nj_config_set_unix_socket(cfg, "/run/d.sock") == NJ_OK);
  CHECK(nj_config_set_unix_socket(cfg, NULL) == NJ_OK);
  CHECK(nj_config_set_unix_socket(cfg, "d.sock") == NJ_INVALID_URL);
  CHECK(nj_config_set_unix_socket(cfg, "") == NJ_INVALID_URL);
  char path[110] = {[0 ... 108] = '/'};
  CHECK(nj_config_set_unix_socket(cfg, path) == NJ_INVALID_URL);
  CHECK(nj_config_set_base_url(cfg, "unix:relative") == NJ_OK);
  nj_error *err = NULL;
  CHECK(nj_client_new(cfg, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_INVALID_URL);
  nj_error_release(err);
  nj_config_free(cfg);
}

static void null_handles_are_answered(void) {
  nj_error *err = NULL;
  CHECK(nj_error_kind(NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_error_phase(NULL) == NJ_PHASE_NONE);
  CHECK(nj_error_message(NULL) == NULL && nj_error_user_message(NULL) == NULL && nj_error_url(NULL) == NULL);
  CHECK(nj_error_http_status(NULL) == 0 && nj_error_response(NULL) == NULL && nj_error_attempts(NULL) == 0);
  CHECK(!nj_error_is_retryable(NULL) && !nj_error_may_have_been_processed(NULL) && nj_error_code(NULL) == 0);
  CHECK(nj_error_retry_after(NULL) < 0 && nj_error_retain(NULL) == NULL);
  CHECK(nj_error_curl(NULL, true) == NULL && nj_response_curl(NULL, false) == NULL);
  CHECK(nj_response_time_dns(NULL) < 0 && nj_response_time_connect(NULL) < 0 && nj_response_time_tls(NULL) < 0);
  CHECK(nj_response_peer_address(NULL) == NULL);
  CHECK(nj_config_on_request(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_response(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_store(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_redirect(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_prepared_request_method(NULL) == NULL && nj_prepared_request_url(NULL) == NULL && nj_prepared_request_header(NULL, "a") == NULL);
  CHECK(nj_prepared_request_set_header(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_proposed_redirect_status(NULL) == 0 && nj_proposed_redirect_source_url(NULL) == NULL && nj_proposed_redirect_url(NULL) == NULL);
  CHECK(nj_proposed_redirect_method(NULL) == NULL && nj_proposed_redirect_set_url(NULL, "/") == NJ_INVALID_ARGUMENT);
  nj_error_release(NULL);

  CHECK(nj_config_set_base_url(NULL, "http://h") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_path_scope(NULL, "/v1") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_header(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_user_agent(NULL, "a") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_connect_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_idle_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_total_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_body(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_connections_per_host(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_http_versions(NULL, (const char *const[]){"2", NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_idle_connection_lifetime(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ca_file(NULL, "x") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ca_pem(NULL, "x", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_client_certificate_pem(NULL, "x", 1, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_client_certificate_pkcs12(NULL, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_key_log_file(NULL, "x") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_verify_certificates(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_proxy(NULL, "http://h") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_no_proxy(NULL, "h") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_use_environment_proxy(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_unix_socket(NULL, "/s") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_resolve(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ip_family(NULL, NJ_IP_ANY) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_local_address(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_interface(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_address_filter(NULL, NULL, NULL, false) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_https_only(NULL, true, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_log(NULL, NJ_LOG_INFO, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_merge_json(NULL, "{}", 2, NULL) == NJ_INVALID_ARGUMENT);
  nj_config_free(NULL);

  CHECK(nj_client_send(NULL, NULL, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(err), "client is NULL or a text that is not valid UTF-8");
  nj_error_release(err);
  CHECK(nj_client_start(NULL, NULL, NULL, NULL, NULL, NULL) == NULL);
  nj_client_free(NULL);

  CHECK(nj_request_copy(NULL) == NULL);
  CHECK(nj_request_add_query(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_header(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_add_header(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body(NULL, "a", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_json(NULL, "1", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_stream(NULL, 1, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_head(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_body(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_progress(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_expect_status(NULL, 200, 200) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_connect_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_idle_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_total_timeout(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_max_body(NULL, 1) == NJ_INVALID_ARGUMENT);
  nj_request_free(NULL);
  CHECK(nj_request_set_body_file(NULL, "x") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_file_range(NULL, "x", 0, -1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_form(NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_add_form_field(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_compress(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_expect_continue(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_allow_body_on_get(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_form_add_text(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_form_add_bytes(NULL, "a", NULL, NULL, NULL, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_form_add_file(NULL, "a", "b", NULL, NULL) == NJ_INVALID_ARGUMENT);
  nj_form_free(NULL);

  size_t length = 7;
  CHECK(nj_response_status(NULL) == 0 && nj_response_reason(NULL) == NULL && nj_response_http_version(NULL) == 0);
  CHECK(nj_response_header(NULL, "a") == NULL && nj_response_header_count(NULL) == 0);
  CHECK(nj_response_header_name_at(NULL, 0) == NULL && nj_response_header_value_at(NULL, 0) == NULL);
  CHECK(nj_response_trailer(NULL, "a") == NULL && nj_response_body(NULL, &length) == NULL && length == 0);
  CHECK(nj_response_body(NULL, NULL) == NULL && nj_response_url(NULL) == NULL && nj_response_attempts(NULL) == 0);
  CHECK(nj_response_time_total(NULL) < 0 && nj_response_time_sent(NULL) < 0 && nj_response_time_first_byte(NULL) < 0);
  CHECK(nj_response_stream_id(NULL) == 0);
  CHECK(!nj_response_reused_connection(NULL) && nj_response_source(NULL) == NJ_SOURCE_NETWORK);
  CHECK(nj_response_retain(NULL) == NULL);
  nj_response_release(NULL);

  nj_task_cancel(NULL);
  CHECK(nj_task_is_finished(NULL) && nj_task_retain(NULL) == NULL);
  nj_task_release(NULL);

  CHECK(nj_queue_fd(NULL) == -1 && nj_queue_poll(NULL, -1) == 0);
  nj_queue_wake(NULL);
  nj_queue_free(NULL);
}

static nj_retry_action stop(void *context, nj_task *task, nj_failed_attempt *attempt) {
  (void)context, (void)task, (void)attempt;
  return NJ_RETRY_STOP;
}

static void rewind_body(void *context, nj_task *task) { (void)context, (void)task; }

static void provide(void *context, nj_token_request *request) { (void)context, (void)request; }

static void nobody(void *context) { (void)context; }

static void show(void *context, const nj_login_prompt *prompt) {
  (void)context, (void)prompt;
  CHECK(!"shown");
}

static void logged_in(void *context, const nj_error *error) {
  (void)context, (void)error;
  CHECK(!"called");
}

static void null_handles_of_logins_and_limits_are_answered(void) {
  CHECK(nj_config_set_bearer(NULL, "a") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_basic_auth(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_digest_auth(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_api_key_header(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_api_key_query(NULL, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_auth_json(NULL, "{}", 2, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_token_provider(NULL, NULL, provide, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_token_provider(NULL, "one", provide, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_on_login_required(NULL, nobody, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_retry_attempts(NULL, 3) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_retry_backoff(NULL, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_retry_max_wait(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_coalesce(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_respect_retry_after(NULL, false) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_respect_retry_after(NULL, false) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_lenient_line_endings(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(NULL, 1, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_concurrency(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(NULL, 0.5, 1, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_queued(NULL, 1) == NJ_INVALID_ARGUMENT);

  CHECK(!nj_token_request_was_rejected(NULL) && nj_token_request_retain(NULL) == NULL);
  CHECK(nj_token_request_respond(NULL, "a", 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_token_request_fail(NULL, true, "a") == NJ_INVALID_ARGUMENT);
  nj_token_request_release(NULL);
  CHECK(nj_failed_attempt_error(NULL) == NULL && nj_failed_attempt_number(NULL) == 0);
  CHECK(nj_failed_attempt_delay(NULL) < 0 && nj_failed_attempt_reason(NULL) == NULL);
  CHECK(nj_failed_attempt_set_delay(NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_task_retry(NULL, NJ_RETRY_STOP, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_login_prompt_url(NULL) == NULL && nj_login_prompt_user_code(NULL) == NULL);
  CHECK(nj_login_prompt_complete_url(NULL) == NULL);

  CHECK(nj_request_set_use_auth(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_retry_attempts(NULL, 3) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_retry(NULL, stop, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body_rewind(NULL, rewind_body) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_idempotency_key(NULL, "a") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_coalesce(NULL, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_limit_group(NULL, "a") == NJ_INVALID_ARGUMENT);

  size_t length = 7;
  CHECK(nj_response_explain(NULL) == NULL && nj_response_explain_json(NULL, NULL) == NULL);
  CHECK(nj_response_explain_json(NULL, &length) == NULL && length == 0);
  length = 7;
  CHECK(nj_error_explain(NULL) == NULL && nj_error_explain_json(NULL, &length) == NULL && length == 0);
  CHECK(nj_error_earlier_count(NULL) == 0 && nj_error_earlier(NULL, 0) == NULL);
  CHECK(nj_response_idempotency_key(NULL) == NULL && nj_error_idempotency_key(NULL) == NULL);
  length = 7;
  CHECK(nj_client_limits_json(NULL, &length) == NULL && length == 0);
  nj_text_free(NULL);

  nj_error *err = NULL;
  CHECK(nj_client_set_token(NULL, NULL, "{}", 2, &err) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(err), "client is NULL or a text that is not valid UTF-8");
  nj_error_release(err);
  CHECK(nj_client_log_out(NULL, NULL, false, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_log_in(NULL, NULL, 1, show, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_start_log_in(NULL, NULL, 1, NULL, show, logged_in, NULL, NULL) == NULL);
}

/* Invalid calls that a client with a login rejects without sending a request. */
static void logins_are_checked(void) {
  static const char auth[] = "{\"type\":\"oauth2\",\"token_url\":\"/t\",\"access_token\":\"a\"}";
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, "http://127.0.0.1:1/");
  CHECK(nj_config_set_auth_json(config, auth, sizeof auth - 1, NULL) == NJ_OK);
  CHECK(nj_config_set_auth_json(config, NULL, 3, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_auth_json(config, "{}", SIZE_MAX, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_auth_json(config, "{", 1, NULL) == NJ_DECODING);
  CHECK(nj_config_on_login_required(config, NULL, NULL) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  static const struct {
    const char *json;
    nj_status status;
  } tokens[] = {
      {"{\"access_token\":\"b\",\"refresh_token\":\"r\",\"expires_in\":3600,\"token_type\":\"bearer\"}", NJ_OK},
      {"{\"access_token\":\"two words\"}", NJ_INVALID_ARGUMENT},
      {"{\"access_token\":\"\"}", NJ_INVALID_ARGUMENT},
      {"{\"acces_token\":\"b\"}", NJ_INVALID_ARGUMENT},
      {"{\"access_token\":\"b\",\"expires_in\":-1}", NJ_INVALID_ARGUMENT},
      {"{\"access_token\":\"b\",\"expires_in\":1e300}", NJ_INVALID_ARGUMENT},
      {"{}", NJ_INVALID_ARGUMENT},
      {"[]", NJ_INVALID_ARGUMENT},
      {"{", NJ_DECODING},
      {"\xff", NJ_DECODING},
  };
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
    nj_error *err = NULL;
    CHECK(nj_client_set_token(client, NULL, tokens[i].json, strlen(tokens[i].json), &err) == tokens[i].status);
    CHECK((err == NULL) == (tokens[i].status == NJ_OK));
    nj_error_release(err);
  }
  CHECK(nj_client_set_token(client, NULL, NULL, 3, NULL) == NJ_INVALID_ARGUMENT);
  nj_queue *queue = nj_queue_new();
  double bad[] = {NAN, -INFINITY, -1, 1e300};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(nj_client_log_in(client, NULL, bad[i], show, NULL, NULL) == NJ_INVALID_ARGUMENT);
    CHECK(nj_client_start_log_in(client, NULL, bad[i], queue, show, logged_in, NULL, NULL) == NULL);
  }
  CHECK(nj_client_log_in(client, NULL, 1, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_start_log_in(client, NULL, 1, NULL, show, logged_in, NULL, NULL) == NULL);
  CHECK(nj_client_start_log_in(client, NULL, 1, queue, NULL, logged_in, NULL, NULL) == NULL);
  CHECK(nj_client_start_log_in(client, NULL, 1, queue, show, NULL, NULL, NULL) == NULL);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_OK);
  nj_queue_free(queue);
  nj_client_free(client);
  CHECK(nj_config_set_token_provider(config, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_config_set_token_provider(config, "\xff", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_token_provider(config, "one", NULL, NULL) == NJ_OK);
  client = nj_client_new(config, NULL);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_INVALID_REQUEST);
  nj_client_free(client);
  nj_config_free(config);
}

static void retries_and_limits_are_checked(void) {
  nj_config *config = nj_config_new();
  nj_request *req = nj_request_new("PUT", "/");
  int counts[] = {0, -1, 101, 1 << 30};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    CHECK(nj_config_set_retry_attempts(config, counts[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_set_retry_attempts(req, counts[i]) == NJ_INVALID_ARGUMENT);
  }
  double bad[] = {NAN, INFINITY, -INFINITY, -0.5, -1, 1e300};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(nj_config_set_retry_backoff(config, bad[i], 1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_retry_backoff(config, 1, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_retry_max_wait(config, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_rate_limit(config, 1, bad[i], 1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_circuit_breaker(config, bad[i], 1, 1, 1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_circuit_breaker(config, 0.5, 1, bad[i], 1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_circuit_breaker(config, 0.5, 1, 1, bad[i]) == NJ_INVALID_ARGUMENT);
  }
  CHECK(nj_config_set_circuit_breaker(config, 1.5, 1, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(config, 0.5, 0, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(config, 0.5, SIZE_MAX, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(config, 0.5, 1, 0, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(config, 0, 0, NAN, NAN) == NJ_OK);
  CHECK(nj_config_set_rate_limit(config, 1, 0, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(config, SIZE_MAX, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(config, 1, 1, SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(config, 1000000001, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(config, 0, NAN, SIZE_MAX) == NJ_OK);
  CHECK(nj_config_set_rate_limit(config, 10, 1, 0) == NJ_OK);
  CHECK(nj_config_set_concurrency(config, 1000001) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_concurrency(config, SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_concurrency(config, 0) == NJ_OK);
  CHECK(nj_config_set_max_queued(config, SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_queued(config, 0) == NJ_OK);

  static const char *bad_key[] = {"", "two words", "\xc3\xa9", "a\tb", "\xff"};
  for (size_t i = 0; i < sizeof bad_key / sizeof *bad_key; i++)
    CHECK(nj_request_set_idempotency_key(req, bad_key[i]) == NJ_INVALID_ARGUMENT);
  char key[300];
  memset(key, 'k', sizeof key);
  key[256] = 0;
  CHECK(nj_request_set_idempotency_key(req, key) == NJ_INVALID_ARGUMENT);
  key[255] = 0;
  CHECK(nj_request_set_idempotency_key(req, key) == NJ_OK);
  CHECK(nj_request_set_idempotency_key(req, NULL) == NJ_OK);
  CHECK(nj_idempotency_key_new(NULL, 100) == NJ_INVALID_ARGUMENT);
  CHECK(nj_idempotency_key_new(key, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_idempotency_key_new(key, NJ_IDEMPOTENCY_KEY_SIZE - 1) == NJ_INVALID_ARGUMENT && key[0] == 'k');
  CHECK(nj_idempotency_key_new(key, NJ_IDEMPOTENCY_KEY_SIZE) == NJ_OK && strlen(key) == 36);
  CHECK(nj_idempotency_key_new(key, SIZE_MAX) == NJ_OK);
  CHECK(nj_request_set_body_rewind(req, rewind_body) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_on_retry(req, NULL, NULL) == NJ_OK);
  CHECK(nj_request_set_limit_group(req, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_limit_group(req, NULL) == NJ_OK);

  nj_config_free(config);
  config = nj_config_new();
  nj_client *client = nj_client_new(config, NULL);
  nj_queue *queue = nj_queue_new();
  nj_request *slow = nj_request_new("GET", "http://127.0.0.1:1/");
  nj_request_set_retry_attempts(slow, 1);
  nj_task *task = nj_client_start(client, slow, queue, fails, NULL, NULL);
  CHECK(nj_task_retry(task, NJ_RETRY_PENDING, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_task_retry(task, (nj_retry_action)9, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_task_retry(task, NJ_RETRY_AGAIN, NAN) == NJ_INVALID_ARGUMENT);
  CHECK(nj_task_retry(task, NJ_RETRY_AGAIN, -1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_task_retry(task, NJ_RETRY_STOP, NAN) == NJ_OK); /* No decision is pending: no effect. */
  nj_task_release(task);
  while (!nj_queue_poll(queue, 10)) continue;
  char *limits = nj_client_limits_json(client, NULL);
  CHECK_TEXT(limits, "[]");
  nj_text_free(limits);
  nj_request_free(slow);
  nj_queue_free(queue);
  nj_client_free(client);
  nj_request_free(req);
  nj_config_free(config);
}

static void texts_are_checked(void) {
  nj_config *config = nj_config_new();
  nj_request *req = nj_request_new("GET", "/");
  nj_form *form = nj_form_new();
  for (size_t i = 0; i < sizeof bad_text / sizeof *bad_text; i++) {
    const char *bad = bad_text[i];
    CHECK(nj_config_set_base_url(config, bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_header(config, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_header(config, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_ca_file(config, bad) == NJ_INVALID_ARGUMENT);
    nj_status accepts_null = bad ? NJ_INVALID_ARGUMENT : NJ_OK;
    CHECK(nj_config_set_key_log_file(config, bad) == accepts_null);
    CHECK(nj_config_set_client_certificate_pem(config, "x", 1, NULL, 0, bad) == accepts_null);
    CHECK(nj_config_set_client_certificate_pkcs12(config, "x", 1, bad) == accepts_null);
    CHECK(nj_config_set_bearer(config, bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_basic_auth(config, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_basic_auth(config, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_digest_auth(config, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_digest_auth(config, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_api_key_header(config, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_api_key_header(config, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_api_key_query(config, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_api_key_query(config, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_user_agent(config, bad) == (bad ? NJ_INVALID_ARGUMENT : NJ_OK));
    CHECK(nj_request_new(bad, "/") == NULL && nj_request_new("GET", bad) == NULL);
    CHECK(nj_request_add_query(req, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_add_query(req, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_set_header(req, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_add_header(req, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_set_body_file(req, bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_set_body_file_range(req, bad, 0, -1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_add_form_field(req, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_add_form_field(req, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_form_add_text(form, bad, "x") == NJ_INVALID_ARGUMENT);
    CHECK(nj_form_add_text(form, "x", bad) == NJ_INVALID_ARGUMENT);
    CHECK(nj_form_add_bytes(form, bad, NULL, NULL, "x", 1) == NJ_INVALID_ARGUMENT);
    CHECK(nj_form_add_bytes(form, "x", bad, NULL, "x", 1) == (bad ? NJ_INVALID_ARGUMENT : NJ_OK));
    CHECK(nj_form_add_file(form, "x", bad, NULL, NULL) == NJ_INVALID_ARGUMENT);
    CHECK(nj_form_add_file(form, "x", "path", NULL, bad) == (bad ? NJ_INVALID_ARGUMENT : NJ_OK));
  }
  CHECK(nj_form_add_bytes(form, "x", NULL, NULL, NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_form_add_bytes(form, "x", NULL, NULL, "x", (size_t)-1) == NJ_INVALID_ARGUMENT);
  nj_form_free(form);
  for (size_t i = 0; i < sizeof bad_header / sizeof *bad_header; i++) {
    CHECK(nj_request_set_header(req, "X", bad_header[i]) == NJ_INVALID_REQUEST);
    CHECK(nj_request_add_header(req, bad_header[i], "x") == NJ_INVALID_REQUEST);
    CHECK(nj_config_set_header(config, "X", bad_header[i]) == NJ_INVALID_REQUEST);
    CHECK(nj_request_new(bad_header[i], "/") == NULL);
  }
  CHECK(nj_request_set_header(req, "", "x") == NJ_INVALID_REQUEST);
  CHECK(nj_request_new("", "/") == NULL);
  CHECK(nj_request_new("GE T", "/") == NULL);
  CHECK(nj_request_set_body(req, NULL, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_body(req, NULL, 0) == NJ_OK);
  CHECK(nj_request_set_body_stream(req, -2, NULL, NULL) == NJ_INVALID_ARGUMENT);
  nj_request_free(req);
  nj_config_free(config);
}

static void numbers_are_checked(void) {
  nj_config *config = nj_config_new();
  nj_request *req = nj_request_new("GET", "/");
  double bad[] = {NAN, -INFINITY, -0.5, -1, -2, 3153600001.0, 1e300};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(nj_config_set_connect_timeout(config, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_idle_timeout(config, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_total_timeout(config, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_config_set_idle_connection_lifetime(config, bad[i]) == NJ_INVALID_ARGUMENT);
    CHECK(nj_request_set_total_timeout(req, bad[i]) == NJ_INVALID_ARGUMENT);
  }
  double none[] = {NJ_NO_LIMIT, 0, INFINITY, 3153600000.0};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    CHECK(nj_config_set_connect_timeout(config, none[i]) == NJ_OK);
    CHECK(nj_config_set_idle_timeout(config, none[i]) == NJ_OK);
    CHECK(nj_config_set_total_timeout(config, none[i]) == NJ_OK);
    CHECK(nj_request_set_connect_timeout(req, none[i]) == NJ_OK);
    CHECK(nj_request_set_idle_timeout(req, none[i]) == NJ_OK);
    CHECK(nj_request_set_total_timeout(req, none[i]) == NJ_OK);
  }
  CHECK(nj_config_set_max_connections_per_host(config, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_connections_per_host(config, 65537) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_connections_per_host(config, SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_http_versions(config, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_http_versions(config, (const char *const[]){NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_http_versions(config, (const char *const[]){"2", "3", NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_max_body(config, SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_expect_status(req, 99, 200) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_expect_status(req, 300, 200) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_expect_status(req, 200, 1000) == NJ_INVALID_ARGUMENT);
  nj_request_free(req);
  nj_config_free(config);
}

static void urls_that_are_none_are_refused(void) {
  static const char *bad[] = {"", "/relative", "http://", "http:///x", "ftp://h/", "http://h:99999/", "http://h:x/",
                              "http://h/\r\nX: 1", "http://[::1", "http://h /", "://"};
  nj_client *client = nj_client_new(NULL, NULL);
  nj_queue *queue = nj_queue_new();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    nj_request *req = nj_request_new("GET", bad[i]);
    nj_error *err = NULL;
    CHECK(nj_client_send(client, req, &err) == NULL);
    CHECK(nj_error_kind(err) == NJ_INVALID_URL);
    nj_error_release(err);
    err = NULL;
    CHECK(nj_client_start(client, req, queue, never, NULL, &err) == NULL);
    CHECK(nj_error_kind(err) == NJ_INVALID_URL);
    nj_error_release(err);
    nj_request_free(req);
    nj_config *config = nj_config_new();
    nj_config_set_base_url(config, bad[i]);
    err = NULL;
    CHECK(nj_client_new(config, &err) == NULL);
    CHECK(nj_error_kind(err) == NJ_INVALID_URL);
    nj_error_release(err);
    nj_config_free(config);
  }
  nj_request *req = nj_request_new("GET", "http://127.0.0.1:1/");
  CHECK(nj_client_start(client, req, NULL, never, NULL, NULL) == NULL);
  CHECK(nj_client_start(client, req, queue, NULL, NULL, NULL) == NULL);
  nj_error *err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_CONNECT && nj_error_code(err) != 0 && !nj_error_may_have_been_processed(err));
  nj_error_release(err);
  nj_request_set_header(req, "Content-Length", "3");
  err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_INVALID_REQUEST);
  nj_error_release(err);
  nj_request_free(req);
  nj_queue_free(queue);
  nj_client_free(client);
}

static void configurations_that_cannot_work_are_refused(void) {
  nj_config *config = nj_config_new();
  nj_error *err = NULL;
  nj_config_set_ca_file(config, "/no/such/file.pem");
  CHECK(nj_client_new(config, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_TLS);
  nj_error_release(err);
  nj_config_free(config);
}

static void options_as_json_are_checked(void) {
  static const struct {
    const char *json;
    nj_status status;
  } cases[] = {
      {"{\"base_url\":\"http://h/\",\"timeout\":{\"total\":3}}", NJ_OK},
      {"{\"base_urll\":\"http://h/\"}", NJ_INVALID_ARGUMENT},
      {"{\"timeout\":{\"total\":\"3\"}}", NJ_INVALID_ARGUMENT},
      {"[]", NJ_INVALID_ARGUMENT},
      {"{", NJ_DECODING},
      {"", NJ_DECODING},
      {"\xff", NJ_DECODING},
  };
  nj_config *config = nj_config_new();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nj_error *err = NULL;
    nj_status status = nj_config_merge_json(config, cases[i].json, strlen(cases[i].json), &err);
    CHECK(status == cases[i].status);
    CHECK((err == NULL) == (status == NJ_OK));
    CHECK(status == NJ_OK || nj_error_kind(err) == status);
    nj_error_release(err);
  }
  CHECK(nj_config_merge_json(config, NULL, 3, NULL) == NJ_INVALID_ARGUMENT);
  nj_config_free(config);
}

static void names_are_known(void) {
  CHECK_TEXT(nj_status_name(NJ_OK), "ok");
  CHECK_TEXT(nj_status_name(NJ_CONNECTION_LOST), "connection_lost");
  CHECK_TEXT(nj_status_name((nj_status)12345), "unknown");
  CHECK(nj_version_number() == NJ_VERSION_MAJOR * 1000000 + NJ_VERSION_MINOR * 1000 + NJ_VERSION_PATCH);
}

int main(void) {
  null_handles_are_answered();
  proxies_and_sockets_are_checked_as_they_are_set();
  texts_are_checked();
  numbers_are_checked();
  urls_that_are_none_are_refused();
  configurations_that_cannot_work_are_refused();
  options_as_json_are_checked();
  null_handles_of_logins_and_limits_are_answered();
  logins_are_checked();
  retries_and_limits_are_checked();
  names_are_known();
  FINISH();
}
