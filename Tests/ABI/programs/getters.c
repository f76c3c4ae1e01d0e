/* The getters of configurations and requests return what the setters set, the documented defaults, and none for NULL.
   nj_error_last returns the errors of functions without an out_error. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>

static void texts_of_a_configuration(void) {
  nj_config *config = nj_config_new();
  CHECK(!nj_config_base_url(config) && !nj_config_path_scope(config));
  CHECK_TEXT(nj_config_user_agent(config), "nightjar/0.1.0");
  CHECK(!nj_config_header(config, "X-A") && !nj_config_unix_socket(config) && !nj_config_local_address(config));
  CHECK(!nj_config_interface(config) && !nj_config_shared_loop(config) && !nj_config_journal(config));
  CHECK(nj_config_set_base_url(config, "http://a.test/v1/") == NJ_OK);
  CHECK(nj_config_set_path_scope(config, "/v1") == NJ_OK);
  CHECK(nj_config_set_user_agent(config, "app/1") == NJ_OK);
  CHECK(nj_config_header_count(config) == 0 && !nj_config_header_name_at(config, 0) && !nj_config_ca_file(config));
  CHECK(nj_config_set_header(config, "X-A", "one") == NJ_OK);
  CHECK(nj_config_set_header(config, "X-C", "three") == NJ_OK);
  CHECK(nj_config_set_ca_file(config, "/etc/ca.pem") == NJ_OK);
  CHECK(nj_config_set_unix_socket(config, "/run/a.sock") == NJ_OK);
  CHECK(nj_config_set_local_address(config, "0:0::1") == NJ_OK);
  CHECK(nj_config_set_interface(config, "lo") == NJ_OK);
  CHECK(nj_config_set_shared_loop(config, "tenants") == NJ_OK);
  CHECK(nj_config_set_journal(config, "/tmp/j") == NJ_OK);
  CHECK(nj_config_set_journal(config, "\xff") == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_config_base_url(config), "http://a.test/v1/");
  CHECK_TEXT(nj_config_path_scope(config), "/v1");
  CHECK_TEXT(nj_config_user_agent(config), "app/1");
  CHECK_TEXT(nj_config_header(config, "x-a"), "one");
  CHECK_TEXT(nj_config_unix_socket(config), "/run/a.sock");
  CHECK_TEXT(nj_config_local_address(config), "::1");
  CHECK_TEXT(nj_config_interface(config), "lo");
  CHECK_TEXT(nj_config_shared_loop(config), "tenants");
  CHECK_TEXT(nj_config_journal(config), "/tmp/j");
  CHECK_TEXT(nj_config_ca_file(config), "/etc/ca.pem");
  CHECK(nj_config_header_count(config) == 2 && !nj_config_header_value_at(config, 2));
  CHECK(!nj_config_header_name_at(config, SIZE_MAX) && !nj_config_header_name_at(NULL, 0));
  CHECK_TEXT(nj_config_header_name_at(config, 1), "X-C");
  CHECK_TEXT(nj_config_header_value_at(config, 1), "three");
  CHECK(!nj_config_header(config, "X-B") && !nj_config_header(config, NULL) && !nj_config_header(config, "\xff"));
  /* A text stays valid until the configuration changes. */
  const char *first = nj_config_base_url(config);
  CHECK(nj_config_base_url(config) == first && nj_config_user_agent(config) != NULL);
  CHECK_TEXT(first, "http://a.test/v1/");
  nj_config_free(config);
}

static void numbers_of_a_configuration(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_connect_timeout(config) == 5 && nj_config_idle_timeout(config) == 30);
  CHECK(nj_config_total_timeout(config) == 300 && nj_config_idle_connection_lifetime(config) == 60);
  CHECK(nj_config_max_body(config) == (size_t)64 << 20 && nj_config_max_connections_per_host(config) == 64);
  CHECK(nj_config_max_redirects(config) == 10 && nj_config_retry_attempts(config) == 3);
  CHECK(nj_config_decompress(config) && !nj_config_coalesce(config) && !nj_config_ephemeral(config));
  CHECK(nj_config_verify_certificates(config) && nj_config_ip_family(config) == NJ_IP_ANY);
  CHECK(!nj_config_https_only(config) && !nj_config_allow_downgrade(config));
  CHECK(nj_config_set_ip_family(config, NJ_IP_V6) == NJ_OK && nj_config_ip_family(config) == NJ_IP_V6);
  CHECK(nj_config_set_https_only(config, true, NULL) == NJ_OK && nj_config_https_only(config));
  CHECK(nj_config_set_allow_downgrade(config, true) == NJ_OK && nj_config_allow_downgrade(config));
  CHECK(!nj_config_https_only(NULL) && !nj_config_allow_downgrade(NULL) && nj_config_ip_family(NULL) == NJ_IP_ANY);
  static const char options[] =
    "{\"timeout\":{\"connect\":1.5,\"idle\":2,\"total\":3},\"idle_connection_lifetime\":4,\"max_body\":5,"
    "\"max_connections_per_host\":6,\"redirect\":false,\"retry\":7,\"decompress\":false,\"coalesce\":true,"
    "\"ephemeral\":true,\"tls\":{\"verify\":false}}";
  nj_error *error = NULL;
  CHECK(nj_config_merge_json(config, options, sizeof options - 1, &error) == NJ_OK);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  CHECK(nj_config_connect_timeout(config) == 1.5 && nj_config_idle_timeout(config) == 2);
  CHECK(nj_config_total_timeout(config) == 3 && nj_config_idle_connection_lifetime(config) == 4);
  CHECK(nj_config_max_body(config) == 5 && nj_config_max_connections_per_host(config) == 6);
  CHECK(nj_config_max_redirects(config) == 0 && nj_config_retry_attempts(config) == 7);
  CHECK(!nj_config_decompress(config) && nj_config_coalesce(config) && nj_config_ephemeral(config));
  CHECK(!nj_config_verify_certificates(config));
  CHECK(nj_config_set_connect_timeout(config, NJ_NO_LIMIT) == NJ_OK && nj_config_connect_timeout(config) == NJ_NO_LIMIT);
  nj_config_free(config);
}

static void requests(void) {
  nj_request *request = nj_request_new("PATCH", "/v1/articles/{id}");
  size_t length = 7;
  CHECK_TEXT(nj_request_method(request), "PATCH");
  CHECK_TEXT(nj_request_target(request), "/v1/articles/{id}");
  CHECK(nj_request_header_count(request) == 0 && !nj_request_header_name_at(request, 0));
  CHECK(nj_request_body(request, &length) == NULL && length == 0);
  CHECK(nj_request_connect_timeout(request) == -1 && nj_request_idle_timeout(request) == -1);
  CHECK(nj_request_total_timeout(request) == -1);
  CHECK(nj_request_set_header(request, "X-A", "one") == NJ_OK && nj_request_add_header(request, "x-a", "two") == NJ_OK);
  CHECK_TEXT(nj_request_header(request, "X-a"), "one");
  CHECK(nj_request_header_count(request) == 2 && !nj_request_header(request, "X-B") && !nj_request_header(request, NULL));
  CHECK_TEXT(nj_request_header_name_at(request, 1), "x-a");
  CHECK_TEXT(nj_request_header_value_at(request, 1), "two");
  CHECK(!nj_request_header_name_at(request, 2) && !nj_request_header_value_at(request, (size_t)-1));
  CHECK(nj_request_set_body(request, "a\0b", 3) == NJ_OK);
  const char *body = nj_request_body(request, &length);
  CHECK(body && length == 3 && memcmp(body, "a\0b", 3) == 0 && nj_request_body(request, NULL) == body);
  CHECK(nj_request_set_body_file(request, "/etc/passwd") == NJ_OK && !nj_request_body(request, &length) && length == 0);
  CHECK(nj_request_set_total_timeout(request, 2.5) == NJ_OK && nj_request_total_timeout(request) == 2.5);
  CHECK(nj_request_set_idle_timeout(request, NJ_NO_LIMIT) == NJ_OK && nj_request_idle_timeout(request) == 0);
  nj_request *copy = nj_request_copy(request);
  nj_request_free(request);
  CHECK_TEXT(nj_request_target(copy), "/v1/articles/{id}");
  CHECK_TEXT(nj_request_header(copy, "x-a"), "one");
  nj_request_free(copy);
}

static void null_has_no_values(void) {
  size_t length = 7;
  CHECK(!nj_config_base_url(NULL) && !nj_config_path_scope(NULL) && !nj_config_user_agent(NULL));
  CHECK(!nj_config_header(NULL, "a") && !nj_config_unix_socket(NULL) && !nj_config_local_address(NULL));
  CHECK(!nj_config_interface(NULL) && !nj_config_shared_loop(NULL) && !nj_config_journal(NULL));
  CHECK(nj_config_connect_timeout(NULL) == -1 && nj_config_idle_timeout(NULL) == -1);
  CHECK(nj_config_total_timeout(NULL) == -1 && nj_config_idle_connection_lifetime(NULL) == -1);
  CHECK(nj_config_max_body(NULL) == 0 && nj_config_max_connections_per_host(NULL) == 0);
  CHECK(nj_config_max_redirects(NULL) == 0 && nj_config_retry_attempts(NULL) == 0);
  CHECK(!nj_config_decompress(NULL) && !nj_config_coalesce(NULL) && !nj_config_ephemeral(NULL));
  CHECK(!nj_config_verify_certificates(NULL));
  CHECK(!nj_request_method(NULL) && !nj_request_target(NULL) && !nj_request_header(NULL, "a"));
  CHECK(nj_request_header_count(NULL) == 0 && !nj_request_header_name_at(NULL, 0) && !nj_request_header_value_at(NULL, 0));
  CHECK(!nj_request_body(NULL, &length) && length == 0 && !nj_request_body(NULL, NULL));
  CHECK(nj_request_connect_timeout(NULL) == -1 && nj_request_idle_timeout(NULL) == -1);
  CHECK(nj_request_total_timeout(NULL) == -1);
}

static void *fails_alone(void *context) {
  (void)context;
  CHECK(nj_error_last() == NULL); /* Other threads have failed. */
  CHECK(nj_request_new("G T", "/") == NULL);
  CHECK_TEXT(nj_error_message(nj_error_last()), "\"G T\" is not a method: it must be a token, such as GET");
  return NULL;
}

static void errors_of_setters(void) {
  CHECK(nj_error_last() == NULL);
  nj_config *config = nj_config_new();
  CHECK(nj_cookies_new((nj_cookie_policy)77) == NULL);
  CHECK_TEXT(nj_error_message(nj_error_last()), "policy is not a value of nj_cookie_policy");
  CHECK(nj_pagination_new((nj_pagination_style)77) == NULL);
  CHECK_TEXT(nj_error_message(nj_error_last()), "style is not a value of nj_pagination_style");
  CHECK(nj_config_set_retry_attempts(config, 101) == NJ_INVALID_ARGUMENT);
  const nj_error *error = nj_error_last();
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "the number of attempts must be between 1 and 100, got 101");
  CHECK(nj_config_set_retry_attempts(config, 5) == NJ_OK && nj_error_last() == error);
  nj_error *kept = nj_error_retain(error);
  CHECK(nj_config_set_base_url(NULL, "http://a.test") == NJ_INVALID_ARGUMENT && nj_error_last() != error);
  CHECK_TEXT(nj_error_message(kept), "the number of attempts must be between 1 and 100, got 101");
  nj_error_release(kept);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fails_alone, NULL) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(nj_error_kind(nj_error_last()) == NJ_INVALID_ARGUMENT);
  nj_config_free(config);
}

int main(void) {
  errors_of_setters();
  texts_of_a_configuration();
  numbers_of_a_configuration();
  requests();
  null_has_no_values();
  FINISH();
}
