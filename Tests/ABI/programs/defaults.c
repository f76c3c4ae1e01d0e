/* Every default, range and sentinel that nightjar.h documents, and what handles do in the child of a fork. */
#include "check.h"
#include <math.h>
#include <nightjar.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CENTURY 3153600000.0

static const char *url;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static nj_config *mocked(const char *routes) {
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_base_url(config, "http://api.test/") == NJ_OK);
  CHECK(nj_config_set_mock(config, routes, strlen(routes), &error) == NJ_OK);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  return config;
}

static nj_client *client_of(nj_config *config) {
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  CHECK(client != NULL && error == NULL);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  nj_config_free(config);
  return client;
}

/* The status of a call, or the negative kind of its error. */
static int result(nj_client *client, nj_request *request) {
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  CHECK((response == NULL) != (error == NULL));
  int status = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  nj_response_release(response);
  nj_error_release(error);
  return status;
}

static int get(nj_client *client, const char *target) {
  nj_request *request = nj_request_new("GET", target);
  int status = result(client, request);
  nj_request_free(request);
  return status;
}

/* --- Getters of NULL --- */

static void getters_of_null_return_none(void) {
  size_t length = 7;
#define NO_LENGTH (length == 0 && (length = 7) == 7)
  CHECK(nj_error_kind(NULL) == NJ_INVALID_ARGUMENT && nj_error_phase(NULL) == NJ_PHASE_NONE);
  CHECK(!nj_error_message(NULL) && !nj_error_user_message(NULL) && !nj_error_url(NULL) && !nj_error_response(NULL));
  CHECK(nj_error_http_status(NULL) == 0 && nj_error_attempts(NULL) == 0 && nj_error_code(NULL) == 0);
  CHECK(nj_error_retry_after(NULL) == -1 && nj_error_batch_index(NULL) == -1);
  CHECK(!nj_error_is_retryable(NULL) && !nj_error_may_have_been_processed(NULL));
  CHECK(nj_error_earlier_count(NULL) == 0 && !nj_error_earlier(NULL, 0) && !nj_error_explain(NULL));
  CHECK(!nj_error_explain_json(NULL, &length) && NO_LENGTH);
  CHECK(!nj_error_idempotency_key(NULL) && !nj_error_curl(NULL, true) && !nj_error_retain(NULL));
  CHECK(!nj_error_details_title(NULL) && !nj_error_details_message(NULL) && !nj_error_details_detail(NULL));
  CHECK(!nj_error_details_code(NULL) && !nj_error_details_type(NULL) && nj_error_details_field_count(NULL) == 0);
  CHECK(!nj_error_details_field_name_at(NULL, 0) && !nj_error_details_field_message_at(NULL, 0));

  CHECK(nj_queue_fd(NULL) == -1 && nj_queue_poll(NULL, -1) == 0);
  nj_queue_wake(NULL);

  CHECK(nj_response_status(NULL) == 0 && nj_response_http_version(NULL) == 0 && nj_response_attempts(NULL) == 0);
  CHECK(!nj_response_reason(NULL) && !nj_response_url(NULL) && !nj_response_header(NULL, "a"));
  CHECK(nj_response_header_count(NULL) == 0 && !nj_response_header_name_at(NULL, 0));
  CHECK(!nj_response_header_value_at(NULL, 0) && !nj_response_trailer(NULL, "a"));
  CHECK(nj_response_trailer_count(NULL) == 0 && !nj_response_trailer_name_at(NULL, 0));
  CHECK(!nj_response_trailer_value_at(NULL, 0) && nj_task_call_id(NULL) == 0);
  CHECK(!nj_response_body(NULL, &length) && NO_LENGTH);
  CHECK(!nj_response_text(NULL, &length) && NO_LENGTH);
  CHECK(nj_response_source(NULL) == NJ_SOURCE_NETWORK && !nj_response_is_being_refreshed(NULL));
  CHECK(nj_response_redirect_count(NULL) == 0 && nj_response_redirect_status_at(NULL, 0) == 0);
  CHECK(!nj_response_redirect_url_at(NULL, 0) && !nj_response_explain(NULL));
  CHECK(!nj_response_explain_json(NULL, &length) && NO_LENGTH);
  CHECK(!nj_response_idempotency_key(NULL) && !nj_response_curl(NULL, true) && !nj_response_peer_address(NULL));
  CHECK(nj_response_time_total(NULL) == -1 && nj_response_time_sent(NULL) == -1);
  CHECK(nj_response_time_first_byte(NULL) == -1 && nj_response_time_dns(NULL) == -1);
  CHECK(nj_response_time_connect(NULL) == -1 && nj_response_time_tls(NULL) == -1);
  CHECK(!nj_response_reused_connection(NULL) && nj_response_json_type(NULL, "") == NJ_JSON_NONE);
  CHECK(!nj_response_json_key_at(NULL, "", 0, &length) && NO_LENGTH);
  CHECK(!nj_response_retain(NULL));

  CHECK(!nj_task_retain(NULL) && nj_task_is_finished(NULL));
  CHECK(!nj_batch_retain(NULL) && nj_batch_is_finished(NULL));
  CHECK(!nj_client_cookies(NULL) && !nj_client_cache(NULL) && !nj_client_catalog(NULL));
  CHECK(nj_client_mock_uses(NULL, NULL) == 0);
  CHECK(!nj_client_limits_json(NULL, &length) && NO_LENGTH);

  unsigned char digest[32];
  CHECK(nj_sha256(NULL, 1, digest) == NJ_INVALID_ARGUMENT && nj_sha256("a", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_hmac_sha256(NULL, 1, "a", 1, digest) == NJ_INVALID_ARGUMENT);
  CHECK(nj_hmac_sha256("a", 1, NULL, 1, digest) == NJ_INVALID_ARGUMENT);
  CHECK(nj_hmac_sha256("a", 1, "a", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_sha256(NULL, 0, digest) == NJ_OK && digest[0] == 0xe3 && digest[31] == 0x55);
  CHECK(nj_hmac_sha256(NULL, 0, NULL, 0, digest) == NJ_OK && digest[0] == 0xb6 && digest[31] == 0xad);
  CHECK(nj_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest) == NJ_OK && digest[0] == 0x5b);
  CHECK(digest[31] == 0x43); /* RFC 4231 section 4.3 */

  CHECK(nj_prepared_request_call_id(NULL) == 0 && nj_prepared_request_header_count(NULL) == 0);
  CHECK(!nj_prepared_request_header_name_at(NULL, 0) && !nj_prepared_request_header_value_at(NULL, 0));
  CHECK(!nj_prepared_request_body(NULL, &length) && NO_LENGTH && !nj_prepared_request_body_sha256(NULL));
  CHECK(!nj_prepared_request_method(NULL) && !nj_prepared_request_url(NULL) && !nj_prepared_request_header(NULL, "a"));
  CHECK(nj_proposed_redirect_status(NULL) == 0 && !nj_proposed_redirect_source_url(NULL) && !nj_proposed_redirect_url(NULL) && !nj_proposed_redirect_method(NULL));
  CHECK(!nj_failed_attempt_error(NULL) && nj_failed_attempt_number(NULL) == 0);
  CHECK(nj_failed_attempt_delay(NULL) == -1 && !nj_failed_attempt_reason(NULL));
  CHECK(!nj_login_prompt_url(NULL) && !nj_login_prompt_user_code(NULL) && !nj_login_prompt_complete_url(NULL));
  CHECK(!nj_token_request_retain(NULL) && !nj_token_request_was_rejected(NULL));

  CHECK(!nj_cookies_list(NULL) && nj_cookie_list_count(NULL) == 0 && nj_cookies_delete(NULL, NULL, NULL, NULL) == 0);
  CHECK(!nj_cookie_list_name_at(NULL, 0) && !nj_cookie_list_value_at(NULL, 0) && !nj_cookie_list_domain_at(NULL, 0));
  CHECK(!nj_cookie_list_path_at(NULL, 0) && nj_cookie_list_expires_at(NULL, 0) == 0);
  CHECK(!nj_cookie_list_secure_at(NULL, 0) && !nj_cookie_list_http_only_at(NULL, 0));
  CHECK(!nj_cookie_list_same_site_at(NULL, 0));
  for (int i = 0; i <= 9; i++) CHECK(nj_cache_statistics(NULL, (nj_cache_statistic)i) == -1);

  CHECK(nj_catalog_count(NULL) == 0 && !nj_catalog_name_at(NULL, 0) && !nj_catalog_endpoint_json(NULL, "a", NULL));
  CHECK(!nj_catalog_json(NULL, NULL) && !nj_request_copy(NULL));
  CHECK(!nj_paginator_state(NULL) && !nj_paginator_explanation(NULL));
  CHECK(nj_page_number(NULL) == 0 && nj_page_count(NULL) == 0 && !nj_page_response(NULL) && !nj_page_retain(NULL));
  CHECK(!nj_page_item(NULL, 0, &length) && NO_LENGTH);
  CHECK(!nj_page_state(NULL, 0));

  CHECK(nj_script_call_count(NULL) == 0 && nj_script_call_kind(NULL, 0) == NJ_VALUE_NIL);
  CHECK(!nj_script_call_boolean(NULL, 0) && nj_script_call_integer(NULL, 0) == 0);
  CHECK(nj_script_call_number(NULL, 0) == 0 && !nj_script_call_string(NULL, 0, &length) && NO_LENGTH);
  CHECK(!nj_cookies_new((nj_cookie_policy)2) && !nj_pagination_new((nj_pagination_style)8));
}

static void release_functions_ignore_null(void) {
  nj_text_free(NULL), nj_error_release(NULL), nj_queue_free(NULL), nj_config_free(NULL), nj_client_free(NULL);
  nj_request_free(NULL), nj_form_free(NULL), nj_task_release(NULL), nj_task_cancel(NULL), nj_batch_release(NULL);
  nj_batch_cancel(NULL), nj_response_release(NULL), nj_cookies_free(NULL), nj_cookies_clear(NULL);
  nj_cookie_list_free(NULL), nj_cache_free(NULL), nj_catalog_free(NULL), nj_pagination_free(NULL);
  nj_paginator_free(NULL), nj_paginator_cancel(NULL), nj_paginator_refresh(NULL), nj_page_release(NULL);
  nj_token_request_release(NULL), nj_script_free(NULL), nj_script_interrupt(NULL), nj_client_mock_reset(NULL);
}

/* --- Ranges --- */

static void durations_have_their_ranges(void) {
  nj_config *config = nj_config_new();
  nj_request *request = nj_request_new("GET", "/");
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
  static const double good[] = {0, 0.001, 1, CENTURY}, bad[] = {NAN, -INFINITY, -1e-9, -1, CENTURY + 1, 1e300};
  for (size_t i = 0; i < sizeof good / sizeof *good + sizeof bad / sizeof *bad; i++) {
    bool fits = i < sizeof good / sizeof *good;
    double seconds = fits ? good[i] : bad[i - sizeof good / sizeof *good];
    nj_status expected = fits ? NJ_OK : NJ_INVALID_ARGUMENT;
    nj_script *script = nj_script_new(NULL);
    CHECK(nj_config_set_connect_timeout(config, seconds) == expected);
    CHECK(nj_config_set_idle_timeout(config, seconds) == expected);
    CHECK(nj_config_set_total_timeout(config, seconds) == expected);
    CHECK(nj_config_set_idle_connection_lifetime(config, seconds) == expected);
    CHECK(nj_config_set_retry_backoff(config, seconds, 1) == expected);
    CHECK(nj_config_set_retry_backoff(config, 1, seconds) == expected);
    CHECK(nj_config_set_retry_max_wait(config, seconds) == expected);
    CHECK(nj_config_set_circuit_breaker(config, 0.5, 1, 1, seconds) == expected);
    CHECK(nj_request_set_connect_timeout(request, seconds) == expected);
    CHECK(nj_request_set_idle_timeout(request, seconds) == expected);
    CHECK(nj_request_set_total_timeout(request, seconds) == expected);
    CHECK(nj_pagination_set_total_timeout(pagination, seconds) == expected);
    CHECK(nj_script_set_time_limit(script, seconds) == expected);
    nj_script_free(script);
    /* An empty period is invalid. */
    if (seconds == 0) expected = NJ_INVALID_ARGUMENT;
    CHECK(nj_config_set_rate_limit(config, 1, seconds, 0) == expected);
    CHECK(nj_config_set_circuit_breaker(config, 0.5, 1, seconds, 1) == expected);
  }
  /* INFINITY means NJ_NO_LIMIT where a limit is optional. */
  nj_script *script = nj_script_new(NULL);
  CHECK(nj_config_set_connect_timeout(config, INFINITY) == NJ_OK);
  CHECK(nj_config_set_idle_timeout(config, INFINITY) == NJ_OK);
  CHECK(nj_config_set_total_timeout(config, INFINITY) == NJ_OK);
  CHECK(nj_request_set_connect_timeout(request, INFINITY) == NJ_OK);
  CHECK(nj_request_set_idle_timeout(request, INFINITY) == NJ_OK);
  CHECK(nj_request_set_total_timeout(request, INFINITY) == NJ_OK);
  CHECK(nj_pagination_set_total_timeout(pagination, INFINITY) == NJ_OK);
  CHECK(nj_script_set_time_limit(script, INFINITY) == NJ_OK);
  CHECK(nj_config_set_idle_connection_lifetime(config, INFINITY) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_retry_backoff(config, INFINITY, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_retry_max_wait(config, INFINITY) == NJ_INVALID_ARGUMENT);
  nj_script_free(script);
  nj_pagination_free(pagination);
  nj_request_free(request);
  nj_config_free(config);
}

static void numbers_have_their_ranges(void) {
  nj_config *config = nj_config_new();
  nj_request *request = nj_request_new("GET", "/");
#define RANGE(set, lowest, highest)                                             \
  do {                                                                          \
    CHECK(set(lowest) == NJ_OK && set(highest) == NJ_OK);                       \
    CHECK(set((highest) + 1) == NJ_INVALID_ARGUMENT);                           \
    CHECK(set((lowest)-1) == NJ_INVALID_ARGUMENT);                              \
  } while (0)
#define MAX_BODY(n) nj_config_set_max_body(config, (size_t)(n))
#define REQUEST_MAX_BODY(n) nj_request_set_max_body(request, (size_t)(n))
#define CONNECTIONS(n) nj_config_set_max_connections_per_host(config, (size_t)(n))
#define REDIRECTS(n) nj_config_set_max_redirects(config, (int)(n))
#define REQUEST_REDIRECTS(n) nj_request_set_max_redirects(request, (int)(n))
#define ATTEMPTS(n) nj_config_set_retry_attempts(config, (int)(n))
#define REQUEST_ATTEMPTS(n) nj_request_set_retry_attempts(request, (int)(n))
#define CONCURRENCY(n) nj_config_set_concurrency(config, (size_t)(n))
#define WAITING(n) nj_config_set_max_queued(config, (size_t)(n))
#define CALLS(n) nj_config_set_circuit_breaker(config, 0.5, (size_t)(n), 1, 1)
#define REQUESTS(n) nj_config_set_rate_limit(config, (size_t)(n), 1, 0)
#define BURST(n) nj_config_set_rate_limit(config, 1, 1, (size_t)(n))
  RANGE(MAX_BODY, 0, INT64_C(2147483648));
  RANGE(REQUEST_MAX_BODY, 0, INT64_C(2147483648));
  RANGE(CONNECTIONS, 1, 65536);
  RANGE(REDIRECTS, 0, 100);
  RANGE(REQUEST_REDIRECTS, 0, 100);
  RANGE(ATTEMPTS, 1, 100);
  RANGE(REQUEST_ATTEMPTS, 1, 100);
  RANGE(CONCURRENCY, 0, 1000000);
  RANGE(WAITING, 0, 10000000);
  RANGE(CALLS, 1, 1000000);
  RANGE(REQUESTS, 0, 1000000000);
  RANGE(BURST, 0, 1000000000);
  CHECK(MAX_BODY(SIZE_MAX) == NJ_INVALID_ARGUMENT && REQUEST_MAX_BODY(SIZE_MAX) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_circuit_breaker(config, 1, 1, 1, 0) == NJ_OK);
  CHECK(nj_config_set_circuit_breaker(config, 0, 0, -1, NAN) == NJ_OK);
  static const double rates[] = {-0.1, 1.1, NAN, INFINITY};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    CHECK(nj_config_set_circuit_breaker(config, rates[i], 1, 1, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_rate_limit(config, 0, -1, SIZE_MAX) == NJ_OK);

  CHECK(nj_request_expect_status(request, 100, 999) == NJ_OK && nj_request_expect_status(request, 99, 200) != NJ_OK);
  CHECK(nj_request_expect_status(request, 200, 199) != NJ_OK && nj_request_expect_status(request, 100, 1000) != NJ_OK);
  for (int i = -1; i <= 7; i++) {
    CHECK(nj_config_set_cache_policy(config, (nj_cache_policy)i) == (i >= 0 && i <= 5 ? NJ_OK : NJ_INVALID_ARGUMENT));
    CHECK(nj_request_set_cache_policy(request, (nj_cache_policy)i) == (i >= 0 && i <= 6 ? NJ_OK : NJ_INVALID_ARGUMENT));
  }
  static const struct {
    const char *json;
    nj_status status;
  } sizes[] = {{"{\"max_body\":0}", NJ_OK},
               {"{\"max_body\":2147483648}", NJ_OK},
               {"{\"max_body\":\"2GB\"}", NJ_OK},
               {"{\"max_body\":2147483649}", NJ_INVALID_ARGUMENT},
               {"{\"max_body\":\"3GB\"}", NJ_INVALID_ARGUMENT},
               {"{\"max_body\":-1}", NJ_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK(nj_config_merge_json(config, sizes[i].json, strlen(sizes[i].json), NULL) == sizes[i].status);
    CHECK(nj_request_merge_json(request, sizes[i].json, strlen(sizes[i].json), NULL) == sizes[i].status);
  }
  char key[NJ_IDEMPOTENCY_KEY_SIZE];
  CHECK(nj_idempotency_key_new(key, sizeof key - 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_idempotency_key_new(key, sizeof key) == NJ_OK && strlen(key) == sizeof key - 1);
  CHECK(nj_idempotency_key_new(NULL, 100) == NJ_INVALID_ARGUMENT);
  char long_key[257];
  memset(long_key, 'k', sizeof long_key - 1), long_key[256] = 0;
  CHECK(nj_request_set_idempotent(request, true) == NJ_OK && nj_request_set_idempotent(request, false) == NJ_OK);
  CHECK(nj_request_set_idempotency_key(request, long_key) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_idempotency_key(request, long_key + 1) == NJ_OK);
  CHECK(nj_request_set_idempotency_key(request, "") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_idempotency_key(request, "a b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_idempotency_key(request, NULL) == NJ_OK);
  nj_error *error = NULL;
  CHECK(!nj_cache_open(1, "/tmp/never", 0, &error) && nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  nj_cache *cache = nj_cache_new(0), *large = nj_cache_new(SIZE_MAX);
  CHECK(cache && large && nj_cache_statistics(cache, NJ_CACHE_STATISTIC_HITS) == 0);
  CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_DISK_BYTES) == 0);
  CHECK(nj_cache_statistics(cache, (nj_cache_statistic)9) == -1);
  CHECK(nj_cache_flush(cache) == NJ_OK);
  nj_cache_free(cache), nj_cache_free(large);
  nj_request_free(request);
  nj_config_free(config);
}

/* NULL resets an optional value, and is rejected elsewhere. */
static void null_is_a_value_only_where_it_says(void) {
  nj_config *config = nj_config_new();
  nj_request *request = nj_request_new("GET", "/");
  CHECK(nj_config_set_path_scope(config, NULL) == NJ_OK && nj_config_set_user_agent(config, NULL) == NJ_OK);
  CHECK(nj_config_set_proxy(config, NULL) == NJ_OK && nj_config_set_no_proxy(config, NULL) == NJ_OK);
  CHECK(nj_config_set_unix_socket(config, NULL) == NJ_OK && nj_config_on_request(config, NULL, NULL) == NJ_OK);
  CHECK(nj_config_on_store(config, NULL, NULL) == NJ_OK);
  CHECK(nj_config_on_response(config, NULL, NULL) == NJ_OK && nj_config_set_cookies(config, NULL) == NJ_OK);
  CHECK(nj_config_set_cache(config, NULL) == NJ_OK && nj_config_set_login_cookies(config, NULL) == NJ_OK);
  CHECK(nj_config_set_catalog(config, NULL) == NJ_OK && nj_config_set_mock(config, NULL, 0, NULL) == NJ_OK);
  CHECK(nj_config_set_cassette(config, NULL, (nj_cassette_mode)9) == NJ_OK);
  CHECK(nj_config_set_network_profile(config, NULL, 0) == NJ_OK);
  CHECK(nj_config_set_token_provider(config, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_config_set_token_provider(config, "a", NULL, NULL) == NJ_OK);
  CHECK(nj_config_on_login_required(config, NULL, NULL) == NJ_OK);
  CHECK(nj_request_set_limit_group(request, NULL) == NJ_OK && nj_request_set_body_form(request, NULL, NULL) == NJ_OK);
  CHECK(nj_request_on_head(request, NULL, NULL) == NJ_OK && nj_request_on_body(request, NULL, NULL) == NJ_OK);
  CHECK(nj_request_on_progress(request, NULL, NULL) == NJ_OK && nj_request_on_redirect(request, NULL, NULL) == NJ_OK);
  CHECK(nj_request_on_retry(request, NULL, NULL) == NJ_OK && nj_request_on_refresh(request, NULL, NULL, NULL) == NJ_OK);
  CHECK(nj_request_set_schema(request, NULL, 0, NULL) == NJ_OK);
  CHECK(nj_request_set_body_rewind(request, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_argument(request, "a", "b") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_base_url(config, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ca_file(config, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ca_pem(config, NULL, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_ca_pem(config, "x", (size_t)-1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_client_certificate_pem(config, NULL, 0, "x", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_client_certificate_pem(config, "x", 1, "x", ((size_t)16 << 20) + 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_client_certificate_pkcs12(config, NULL, 0, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_key_log_file(config, NULL) == NJ_OK);
  CHECK(nj_config_set_bearer(config, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_cassette(config, "", NJ_CASSETTE_AUTO) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_network_profile(config, "5g", 0) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  nj_config_free(config);
}

/* --- Defaults --- */

static const char routes[] =
    "[{\"method\":\"GET\",\"path\":\"/slow\",\"response\":{\"status\":200,\"delay\":0.2}},"
    "{\"path\":\"/forever\",\"response\":{\"status\":200,\"delay\":100000}},"
    "{\"method\":\"GET\",\"path\":\"/busy\",\"response\":503},"
    "{\"path\":\"/loop\",\"query\":{\"n\":true},\"responses\":["
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=1\"}},{\"status\":302,\"headers\":{\"Location\":\"/loop?n=2\"}},"
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=3\"}},{\"status\":302,\"headers\":{\"Location\":\"/loop?n=4\"}},"
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=5\"}},{\"status\":302,\"headers\":{\"Location\":\"/loop?n=6\"}},"
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=7\"}},{\"status\":302,\"headers\":{\"Location\":\"/loop?n=8\"}},"
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=9\"}},{\"status\":302,\"headers\":{\"Location\":\"/loop?n=10\"}},"
    "{\"status\":302,\"headers\":{\"Location\":\"/loop?n=11\"}},{\"status\":200}]},"
    "{\"path\":\"/304\",\"response\":304},{\"path\":\"/204\",\"response\":204},{\"path\":\"/201\",\"response\":201},"
    "{\"path\":\"/303\",\"response\":303},{\"path\":\"/404\",\"response\":404},"
    "{\"path\":\"/ten\",\"response\":{\"status\":200,\"body\":\"0123456789\"}},"
    "{\"path\":\"/token\",\"method\":\"POST\",\"response\":{\"json\":{\"access_token\":\"a\",\"token_type\":\"Bearer\"}}},"
    "{\"path\":\"/list\",\"response\":{\"json\":[{\"id\":1},{\"id\":2}]}}]";

static void a_timeout_of_zero_is_no_limit(void) {
  nj_config *config = mocked(routes);
  CHECK(nj_config_set_connect_timeout(config, 0) == NJ_OK && nj_config_set_idle_timeout(config, 0) == NJ_OK);
  CHECK(nj_config_set_total_timeout(config, NJ_NO_LIMIT) == NJ_OK);
  nj_client *client = client_of(config);
  CHECK(get(client, "/slow") == 200);
  nj_request *request = nj_request_new("GET", "/slow");
  CHECK(nj_request_set_total_timeout(request, 0.05) == NJ_OK);
  nj_error *error = NULL;
  CHECK(!nj_client_send(client, request, &error) && nj_error_kind(error) == NJ_TIMEOUT);
  CHECK(nj_error_phase(error) == NJ_PHASE_TOTAL && nj_error_is_retryable(error));
  nj_error_release(error);
  CHECK(nj_request_set_total_timeout(request, 0) == NJ_OK && nj_request_set_idle_timeout(request, 0) == NJ_OK);
  CHECK(nj_request_set_connect_timeout(request, 0) == NJ_OK && result(client, request) == 200);
  CHECK(nj_request_merge_json(request, "{\"timeout\":0}", 13, NULL) == NJ_OK && result(client, request) == 200);
  nj_request_free(request);

  request = nj_request_new("GET", "/list");
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
  CHECK(nj_pagination_set_total_timeout(pagination, 0) == NJ_OK);
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  nj_page *page = NULL;
  CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_FOUND && nj_page_count(page) == 2);
  char *all = nj_page_state(page, SIZE_MAX), *two = nj_page_state(page, 2);
  CHECK(all && two && strcmp(all, two) == 0);
  nj_text_free(all), nj_text_free(two);
  CHECK(!nj_page_item(page, 2, NULL) && nj_page_number(page) == 1);
  nj_page_release(page);
  CHECK(nj_paginator_next_page(paginator, NULL, NULL) == NJ_NEXT_FAILED);
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
  nj_client_free(client);
}

static void show(void *context, const nj_login_prompt *prompt) { (void)context, (void)prompt; }

static void logged_in(void *context, const nj_error *error) {
  CHECK(error == NULL);
  *(int *)context += 1;
}

static void a_login_of_zero_seconds_has_no_limit(void) {
  nj_config *config = mocked(routes);
  static const char auth[] = "{\"type\":\"oauth2\",\"token_url\":\"/token\",\"client_id\":\"a\",\"client_secret\":\"b\","
                             "\"grant\":\"client_credentials\"}";
  CHECK(nj_config_set_auth_json(config, auth, sizeof auth - 1, NULL) == NJ_OK);
  nj_client *client = client_of(config);
  nj_error *error = NULL;
  CHECK(nj_client_log_in(client, NULL, NJ_NO_LIMIT, show, NULL, &error) == NJ_OK);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(nj_client_log_in(client, NULL, INFINITY, show, NULL, NULL) == NJ_OK);
  CHECK(nj_client_log_in(client, NULL, -1, show, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_log_in(client, "none", 1, show, NULL, NULL) == NJ_INVALID_REQUEST);
  nj_queue *queue = nj_queue_new();
  int count = 0;
  nj_task *task = nj_client_start_log_in(client, NULL, 0, queue, show, logged_in, &count, NULL);
  while (count == 0 && nj_queue_poll(queue, 10) > 0) continue;
  CHECK(count == 1 && nj_task_is_finished(task));
  /* A login is not a call. */
  CHECK(nj_task_retry(task, NJ_RETRY_STOP, 0) == NJ_INVALID_ARGUMENT);
  nj_task_release(task);
  nj_queue_free(queue);
  nj_client_free(client);
}

static void clients_have_the_documented_defaults(void) {
  nj_config *config = mocked(routes);
  CHECK(nj_config_set_retry_backoff(config, 0, 0) == NJ_OK);
  nj_client *client = client_of(config);
  CHECK(!nj_client_cookies(client) && !nj_client_cache(client) && !nj_client_catalog(client));
  /* The default is three attempts. */
  nj_request *request = nj_request_new("GET", "/busy");
  nj_error *error = NULL;
  CHECK(!nj_client_send(client, request, &error) && nj_error_kind(error) == NJ_SERVER);
  CHECK(nj_error_attempts(error) == 3 && nj_error_earlier_count(error) == 2 && nj_error_http_status(error) == 503);
  CHECK(nj_error_retry_after(error) == -1 && nj_error_batch_index(error) == -1 && !nj_error_idempotency_key(error));
  CHECK(nj_error_code(error) == 0 && nj_error_response(error));
  CHECK(nj_error_earlier(error, 1) && !nj_error_earlier(error, 2) && nj_error_details_field_count(error) == 0);
  CHECK(!nj_error_details_field_name_at(error, 0) && !nj_error_details_title(error));
  nj_error_release(error);
  /* Only the number of attempts changes. */
  CHECK(nj_request_set_retry_attempts(request, 2) == NJ_OK);
  error = NULL;
  double before = now();
  CHECK(!nj_client_send(client, request, &error) && nj_error_attempts(error) == 2 && now() - before < 0.4);
  nj_error_release(error);
  nj_request_free(request);
  CHECK(nj_client_mock_uses(client, "GET /busy") == 5 && nj_client_mock_uses(client, "nothing") == 0);
  /* The default is ten redirects. */
  CHECK(get(client, "/loop?n=0") == -NJ_PROTOCOL);
  request = nj_request_new("GET", "/loop?n=0");
  nj_client_mock_reset(client);
  CHECK(nj_request_set_max_redirects(request, 11) == NJ_OK && result(client, request) == 200);
  nj_client_mock_reset(client);
  CHECK(nj_request_set_max_redirects(request, 0) == NJ_OK && result(client, request) == -NJ_CLIENT);
  CHECK(nj_request_expect_status(request, 302, 302) == NJ_OK && result(client, request) == 302);
  nj_request_free(request);
  /* Expected statuses. */
  CHECK(get(client, "/201") == 201 && get(client, "/204") == 204 && get(client, "/304") == 304);
  CHECK(get(client, "/303") == -NJ_CLIENT && get(client, "/404") == -NJ_NOT_FOUND);
  CHECK(get(client, "/none") == -NJ_INVALID_REQUEST);
  /* Bodies. */
  request = nj_request_new("GET", "/ten");
  CHECK(nj_request_set_max_body(request, 10) == NJ_OK && result(client, request) == 200);
  CHECK(nj_request_set_max_body(request, 9) == NJ_OK && result(client, request) == -NJ_TOO_LARGE);
  CHECK(nj_request_set_max_body(request, 0) == NJ_OK && result(client, request) == -NJ_TOO_LARGE);
  CHECK(nj_request_set_body(request, "x", 1) == NJ_OK && result(client, request) == -NJ_INVALID_REQUEST);
  nj_request_free(request);
  request = nj_request_new("GET", "/204");
  CHECK(nj_request_set_max_body(request, 0) == NJ_OK && result(client, request) == 204);
  /* The attributes of a call without retries, redirects and cache. */
  nj_response *response = nj_client_send(client, request, NULL);
  CHECK(nj_response_source(response) == NJ_SOURCE_NETWORK && nj_response_attempts(response) == 1);
  CHECK(nj_response_time_total(response) >= 0 && nj_response_time_dns(response) == -1);
  CHECK(nj_response_time_tls(response) == -1 && !nj_response_reused_connection(response));
  CHECK(!nj_response_idempotency_key(response) && nj_response_redirect_count(response) == 0);
  size_t length = 7;
  CHECK(nj_response_body(response, &length) && length == 0 && nj_response_text(response, &length) && length == 0);
  CHECK(nj_response_json_type(response, "") == NJ_JSON_NONE && !nj_response_header(response, "None"));
  CHECK(!nj_response_header_name_at(response, nj_response_header_count(response)));
  CHECK(!nj_response_redirect_url_at(response, 0) && nj_response_redirect_status_at(response, 0) == 0);
  nj_response_release(response);
  nj_request_free(request);
  char *limits = nj_client_limits_json(client, &length);
  CHECK_TEXT(limits, "[]");
  nj_text_free(limits);
  /* Calls are not coalesced, so each request is sent. */
  nj_client_mock_reset(client);
  const nj_request *two[2];
  request = nj_request_new("GET", "/slow");
  two[0] = two[1] = request;
  nj_response *responses[2];
  CHECK(nj_client_send_batch(client, two, 2, NJ_BATCH_CONCURRENCY, false, responses, NULL, NULL) == NJ_OK);
  CHECK(nj_client_mock_uses(client, "GET /slow") == 2);
  nj_response_release(responses[0]), nj_response_release(responses[1]);
  CHECK(nj_client_send_batch(client, two, 2, 0, false, responses, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_send_batch(client, NULL, 0, 1, false, NULL, NULL, NULL) == NJ_OK);
  nj_request_free(request);
  nj_error *unverified = NULL;
  CHECK(nj_client_mock_verify(client, &unverified) == NJ_INVALID_REQUEST);
  nj_error_release(unverified);
  nj_client_free(client);

  client = client_of(nj_config_new());
  CHECK(nj_client_mock_uses(client, NULL) == 0 && nj_client_mock_verify(client, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(get(client, "/relative") == -NJ_INVALID_URL);
  request = nj_request_new("GET", "http://api.test/");
  CHECK(!nj_client_cache_get(client, request, &error) && nj_error_kind(error) == NJ_INVALID_REQUEST);
  nj_error_release(error);
  nj_request_free(request);
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_INVALID_REQUEST);
  nj_client_free(client);
}

static void counted(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)task, (void)response;
  int *counts = context;
  counts[error ? nj_error_kind(error) == NJ_RATE_LIMITED ? 1 : 2 : 0]++;
}

static void a_thousand_calls_wait_for_a_limit(void) {
  nj_config *config = mocked(routes);
  CHECK(nj_config_set_concurrency(config, 1) == NJ_OK);
  nj_client *client = client_of(config);
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/forever");
  CHECK(nj_request_set_idle_timeout(request, NJ_NO_LIMIT) == NJ_OK);
  CHECK(nj_request_set_total_timeout(request, NJ_NO_LIMIT) == NJ_OK);
  int counts[3] = {0, 0, 0};
  for (int i = 0; i < 1003; i++) nj_task_release(nj_client_start(client, request, queue, counted, counts, NULL));
  double end = now() + 120;
  while (counts[1] < 2 && now() < end) nj_queue_poll(queue, 1);
  CHECK(counts[1] == 2 && counts[2] == 0);
  nj_client_free(client);
  nj_queue_free(queue);
  nj_request_free(request);
}

static void the_demo_shows_the_other_defaults(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  nj_client *client = client_of(config);
  nj_request *request = nj_request_new("GET", "/echo");
  nj_response *response = nj_client_send(client, request, NULL);
  const char *body = nj_response_body(response, NULL);
  CHECK(body && strstr(body, "nightjar/0.1.0"));
  CHECK(nj_response_http_version(response) == expected_http_version() && nj_response_peer_address(response));
  CHECK(nj_response_time_sent(response) >= 0 && nj_response_time_first_byte(response) >= 0);
  nj_response_release(response);
  nj_request_free(request);
  /* The default limit of a body is 64 MiB. */
  CHECK(get(client, "/bytes/67108864") == 200 && get(client, "/bytes/67108865") == -NJ_TOO_LARGE);
  nj_client_free(client);
}

/* --- Queues --- */

static void queues_poll_as_long_as_they_say(void) {
  nj_queue *queue = nj_queue_new();
  double before = now();
  CHECK(nj_queue_poll(queue, 0) == 0 && nj_queue_poll(queue, NAN) == 0 && now() - before < 0.5);
  before = now();
  CHECK(nj_queue_poll(queue, 0.05) == 0 && now() - before >= 0.045);
  static const double endless[] = {-1, -INFINITY, INFINITY, 1e300};
  for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
    nj_queue_wake(queue);
    CHECK(nj_queue_poll(queue, endless[i]) == 1);
  }
  CHECK(nj_queue_fd(queue) >= 0);
  nj_queue_free(queue);
}

/* --- Scripts --- */

static void look(void *context, nj_script_call *call) {
  (void)context;
  CHECK(nj_script_call_count(call) == 6);
  static const nj_value_kind kinds[] = {NJ_VALUE_NIL,    NJ_VALUE_BOOLEAN, NJ_VALUE_INTEGER, NJ_VALUE_NUMBER,
                                        NJ_VALUE_STRING, NJ_VALUE_OTHER,   NJ_VALUE_NIL};
  for (size_t i = 0; i < 7; i++) {
    size_t length = 7;
    CHECK(nj_script_call_kind(call, i) == kinds[i]);
    CHECK(nj_script_call_boolean(call, i) == (i == 1));
    CHECK(nj_script_call_integer(call, i) == (i == 2 ? 7 : 0));
    CHECK(nj_script_call_number(call, i) == (i == 2 ? 7 : i == 3 ? 7.5 : 0));
    CHECK((nj_script_call_string(call, i, &length) != NULL) == (i == 4) && length == (i == 4 ? 1u : 0u));
  }
  CHECK(nj_script_call_kind(call, SIZE_MAX) == NJ_VALUE_NIL);
  nj_script_call_return_string(call, NULL, 0);
  nj_script_call_return_string(call, NULL, 1);
}

static void script_done(void *context, nj_task *task, const char *results, size_t length, const nj_error *error) {
  (void)context, (void)task, (void)results, (void)length, (void)error;
}

static nj_status run(nj_script *script, const char *source) {
  return nj_script_run(script, source, strlen(source), NULL, NULL, NULL, NULL);
}

static void scripts_have_the_documented_defaults(void) {
  nj_script *script = nj_script_new(NULL);
  CHECK(nj_script_register(script, "look", look, NULL, NULL) == NJ_OK);
  CHECK(run(script, "local a, b = look(nil, true, 7, 7.5, '7', {}) assert(a == '' and b == nil)") == NJ_OK);
  /* By default, a script has 256 MiB and is not sandboxed. */
  CHECK(run(script, "assert(io and os)") == NJ_OK);
  CHECK(run(script, "s = string.rep('x', 100 << 20) s = nil collectgarbage()") == NJ_OK);
  CHECK(run(script, "s = string.rep('x', 300 << 20)") == NJ_SCRIPT);
  CHECK(nj_script_set_memory_limit(script, 0) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_time_limit(script, 1) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_set_sandboxed(script, true) == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_run_file(script, "/no/such/file.lua", NULL, NULL, NULL) == NJ_SCRIPT);
  CHECK(nj_script_run(script, NULL, 0, NULL, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  nj_script_free(script);

  /* 0 means no limit. */
  script = nj_script_new(NULL);
  CHECK(nj_script_set_memory_limit(script, 0) == NJ_OK && nj_script_set_instruction_limit(script, 0) == NJ_OK);
  CHECK(nj_script_set_burst_limit(script, 0) == NJ_OK && nj_script_set_time_limit(script, NJ_NO_LIMIT) == NJ_OK);
  CHECK(run(script, "local s = string.rep('x', 300 << 20) for i = 1, 100000 do s = i end") == NJ_OK);
  nj_script_free(script);
  script = nj_script_new(NULL);
  CHECK(nj_script_set_instruction_limit(script, 10000) == NJ_OK);
  CHECK(nj_script_set_memory_limit(script, SIZE_MAX) == NJ_OK);
  CHECK(run(script, "while true do end") == NJ_SCRIPT);
  nj_script_free(script);
  script = nj_script_new(NULL);
  CHECK(nj_script_set_burst_limit(script, 10000) == NJ_OK && run(script, "while true do end") == NJ_SCRIPT);
  nj_script_free(script);
  script = nj_script_new(NULL);
  CHECK(nj_script_set_time_limit(script, 0.05) == NJ_OK && run(script, "while true do end") == NJ_SCRIPT);
  nj_script_free(script);
  script = nj_script_new(NULL);
  CHECK(nj_script_allow_origin(script, "http://a.test/") == NJ_OK && run(script, "") == NJ_INVALID_ARGUMENT);
  CHECK(nj_script_allow_origin(script, "a.test") == NJ_INVALID_URL);
  nj_script_free(script);
}

/* --- Fork --- */

static void never(void *context, nj_task *task, const nj_response *response, const nj_error *error) {
  (void)context, (void)task, (void)response;
  CHECK(error != NULL);
}

static void batch_ended(void *context, nj_batch *batch, const nj_error *error) { (void)context, (void)batch, (void)error; }

static void page_came(void *context, nj_paginator *paginator, nj_page *page, const nj_error *error) {
  (void)context, (void)paginator, (void)page, (void)error;
}

static void log_line(void *context, nj_log_level level, const char *message) { (void)context, (void)level, (void)message; }

static void after_fork_old_handles_fail(void) {
  nj_cookies *cookies = nj_cookies_new(NJ_COOKIES_ALL);
  nj_cache *cache = nj_cache_new(1 << 20);
  nj_config *config = mocked(routes);
  CHECK(nj_config_set_cookies(config, cookies) == NJ_OK && nj_config_set_cache(config, cache) == NJ_OK);
  CHECK(nj_cookies_set(cookies, "http://api.test/", "a=b", NULL) == NJ_OK);
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_queue *queue = nj_queue_new();
  nj_request *request = nj_request_new("GET", "/forever");
  nj_request *list = nj_request_new("GET", "/list");
  nj_task *task = nj_client_start(client, request, queue, never, NULL, NULL);
  const nj_request *requests[] = {request};
  nj_batch *batch = nj_client_start_batch(client, requests, 1, 1, true, queue, NULL, batch_ended, NULL, NULL);
  nj_paginator *paginator = nj_paginator_new(client, list, NULL, NULL, NULL);
  CHECK(nj_paginator_next_item(paginator, NULL, NULL, NULL) == NJ_NEXT_FOUND);
  nj_script *script = nj_script_new(client), *unused = nj_script_new(NULL);
  CHECK(run(script, "x = 1") == NJ_OK);
  nj_response *response = nj_client_send(client, list, NULL);
  nj_catalog *catalog = nj_catalog_new();
  nj_cookie_list *snapshot = nj_cookies_list(cookies);
  CHECK(nj_queue_fd(queue) >= 0);

  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    checks_failed = 0;
    nj_response *out[1];
    /* clients */
    CHECK(!nj_client_send(client, request, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(!nj_client_start(client, request, queue, never, NULL, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_client_send_batch(client, requests, 1, 1, false, out, NULL, NULL) == NJ_FORKED && !out[0]);
    CHECK(!nj_client_start_batch(client, requests, 1, 1, true, queue, NULL, batch_ended, NULL, &error));
    CHECK(nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(!nj_client_cache_get(client, list, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_client_cache_put(client, list, 200, NULL, NULL, 0, NULL) == NJ_FORKED);
    CHECK(!nj_client_load_catalog(client, "url:/list", &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_client_mock_uses(client, NULL) == 0 && nj_client_mock_verify(client, NULL) == NJ_FORKED);
    nj_client_mock_reset(client);
    CHECK(!nj_client_cookies(client) && !nj_client_cache(client) && !nj_client_catalog(client));
    char *limits = nj_client_limits_json(client, NULL);
    CHECK_TEXT(limits, "[]");
    nj_text_free(limits);
    CHECK(!nj_paginator_new(client, list, NULL, NULL, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    /* tasks and batches */
    nj_task_cancel(task);
    nj_batch_cancel(batch);
    CHECK(nj_batch_is_finished(batch) && nj_task_is_finished(task) && nj_task_retry(task, NJ_RETRY_STOP, 0) == NJ_FORKED);
    /* queues, including those that are used with objects of the child */
    CHECK(nj_queue_poll(queue, -1) == 0 && nj_queue_fd(queue) == -1);
    nj_queue_wake(queue);
    CHECK(nj_config_set_log(config, NJ_LOG_INFO, queue, log_line, NULL) == NJ_FORKED);
    nj_config *own_config = mocked(routes);
    nj_client *own = client_of(own_config);
    CHECK(!nj_client_start(own, request, queue, never, NULL, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(get(own, "/ten") == 200);
    nj_client_free(own);
    /* jars and caches */
    size_t skipped = 7;
    CHECK(nj_cookies_set(cookies, "http://api.test/", "c=d", NULL) == NJ_FORKED);
    CHECK(nj_cookies_flush(cookies, NULL) == NJ_FORKED && nj_cookies_delete(cookies, NULL, NULL, NULL) == 0);
    CHECK(nj_cookies_import(cookies, "/dev/null", &skipped, NULL) == NJ_FORKED && skipped == 7);
    CHECK(nj_cookies_export(cookies, "/tmp/never", NULL) == NJ_FORKED && !nj_cookies_list(cookies));
    nj_cookies_clear(cookies);
    CHECK(nj_cache_flush(cache) == NJ_FORKED && nj_cache_clear(cache, NULL, NULL) == NJ_FORKED);
    CHECK(nj_cache_remove(cache, "http://api.test/", NULL, NULL) == NJ_FORKED);
    CHECK(nj_cache_remove_prefix(cache, "http://api.test/", NULL, NULL) == NJ_FORKED);
    CHECK(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_HITS) == -1);
    CHECK(!nj_client_new(config, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_config_set_cookies(config, NULL) == NJ_OK);
    CHECK(!nj_client_new(config, &error) && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_config_set_cache(config, NULL) == NJ_OK);
    own = nj_client_new(config, NULL);
    CHECK(own && get(own, "/ten") == 200);
    nj_client_free(own);
    /* paginators */
    nj_page *page = NULL;
    CHECK(nj_paginator_next_item(paginator, NULL, NULL, &error) == NJ_NEXT_FAILED && nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_FAILED && !page);
    CHECK(nj_paginator_start_next_page(paginator, queue, page_came, NULL) == NJ_FORKED);
    CHECK(nj_paginator_set_next_url(paginator, NULL) == NJ_FORKED && nj_paginator_set_next_query(paginator, NULL) == NJ_FORKED);
    CHECK(!nj_paginator_state(paginator) && !nj_paginator_explanation(paginator));
    nj_paginator_refresh(paginator);
    nj_paginator_cancel(paginator);
    /* scripts, used or not */
    for (int i = 0; i < 2; i++) {
      nj_script *one = i ? unused : script;
      CHECK(run(one, "x = 2") == NJ_FORKED && nj_script_run_file(one, "/dev/null", NULL, NULL, NULL) == NJ_FORKED);
      CHECK(nj_script_invoke(one, "type", "[1]", 3, NULL, NULL, NULL) == NJ_FORKED);
      CHECK(nj_script_set_json(one, "x", "1", 1, NULL) == NJ_FORKED);
      CHECK(!nj_script_get_json(one, "x", NULL, &error) && nj_error_kind(error) == NJ_FORKED);
      nj_error_release(error);
      nj_queue *of_child = nj_queue_new();
      CHECK(!nj_script_start_run(one, "", 0, NULL, of_child, script_done, NULL, &error));
      CHECK(nj_error_kind(error) == NJ_FORKED);
      nj_error_release(error);
      nj_queue_free(of_child);
      CHECK(nj_script_register(one, "look", look, NULL, NULL) == NJ_FORKED);
      CHECK(nj_script_set_boolean(one, "b", true) == NJ_FORKED && nj_script_set_integer(one, "i", 1) == NJ_FORKED);
      CHECK(nj_script_set_number(one, "n", 1) == NJ_FORKED && nj_script_set_string(one, "s", "", 0) == NJ_FORKED);
      CHECK(nj_script_set_sandboxed(one, true) == NJ_FORKED && nj_script_set_memory_limit(one, 0) == NJ_FORKED);
      CHECK(nj_script_set_instruction_limit(one, 0) == NJ_FORKED && nj_script_set_burst_limit(one, 0) == NJ_FORKED);
      CHECK(nj_script_set_time_limit(one, 0) == NJ_FORKED && nj_script_set_path_scope(one, "/") == NJ_FORKED);
      CHECK(nj_script_allow_origin(one, "http://a.test/") == NJ_FORKED);
      nj_script_interrupt(one);
    }
    nj_script *mine = nj_script_new(NULL);
    CHECK(run(mine, "x = 1") == NJ_OK);
    nj_script_free(mine);
    /* values */
    size_t length = 0;
    CHECK(nj_response_status(response) == 200 && nj_response_body(response, &length) && length > 0);
    CHECK(nj_response_json_count(response, "", &length, NULL) == NJ_OK && length == 2);
    CHECK(nj_request_set_header(request, "A", "b") == NJ_OK && nj_catalog_count(catalog) == 0);
    CHECK(nj_cookie_list_count(snapshot) == 1);
    /* Every handle can be freed. */
    nj_paginator_free(paginator), nj_task_release(task), nj_batch_release(batch), nj_client_free(client), nj_queue_free(queue);
    nj_cookies_free(cookies), nj_cache_free(cache), nj_script_free(unused);
    nj_response_release(response), nj_catalog_free(catalog), nj_cookie_list_free(snapshot);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", checks_failed ? "exit 1" : "exit 0", (char *)NULL);
    _exit(2);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);

  nj_paginator_free(paginator), nj_task_release(task), nj_batch_release(batch), nj_client_free(client), nj_queue_free(queue);
  nj_script_free(script), nj_script_free(unused);
  nj_cookies_free(cookies), nj_cache_free(cache), nj_response_release(response), nj_catalog_free(catalog);
  nj_cookie_list_free(snapshot), nj_request_free(request), nj_request_free(list), nj_config_free(config);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  url = argv[1];
  getters_of_null_return_none();
  release_functions_ignore_null();
  durations_have_their_ranges();
  numbers_have_their_ranges();
  null_is_a_value_only_where_it_says();
  a_timeout_of_zero_is_no_limit();
  a_login_of_zero_seconds_has_no_limit();
  clients_have_the_documented_defaults();
  a_thousand_calls_wait_for_a_limit();
  the_demo_shows_the_other_defaults();
  queues_poll_as_long_as_they_say();
  scripts_have_the_documented_defaults();
  after_fork_old_handles_fail();
  FINISH();
}
