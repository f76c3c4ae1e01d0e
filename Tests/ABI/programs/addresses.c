/* The addresses of connections: resolve, the version of IP, the local address, the address filter; and https_only.
 * Leak-checked under valgrind.
 *
 *   addresses URL      the demo API, at 127.0.0.1
 */
#include "check.h"
#include <nightjar.h>

static const char *const none[] = {NULL};
static const char *const public_only[] = {"non_public", NULL};

static nj_config *config_of(void) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_use_environment_proxy(config, false) == NJ_OK);
  CHECK(nj_config_set_retry_attempts(config, 1) == NJ_OK);
  return config;
}

/* Sends a GET request and frees the configuration. Returns the status, or the negative kind of the error. `message` is a
 * part of the error's message. */
static int get(nj_config *config, const char *url, const char *message) {
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  nj_response *response = NULL;
  if (client) {
    nj_request *request = nj_request_new("GET", url);
    response = nj_client_send(client, request, &error);
    nj_request_free(request);
  }
  int result = response ? nj_response_status(response) : -(int)nj_error_kind(error);
  if (message) CHECK(error && strstr(nj_error_message(error), message));
  nj_response_release(response);
  nj_error_release(error);
  nj_client_free(client);
  return result;
}

static void entries(const char *port) {
  char url[64], other_url[64], entry[64], any[64];
  snprintf(url, sizeof url, "http://nowhere.test:%s/echo", port);
  snprintf(other_url, sizeof other_url, "http://other.test:%s/echo", port);
  snprintf(entry, sizeof entry, "nowhere.test:%s:127.0.0.1", port);
  snprintf(any, sizeof any, "*:%s:127.0.0.1", port);
  nj_config *config = config_of();
  CHECK(nj_config_set_resolve(config, (const char *[]){entry, NULL}) == NJ_OK);
  CHECK(nj_config_set_resolve(config, (const char *[]){"nowhere.test", NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(get(config, url, NULL) == 200);
  config = config_of();
  CHECK(nj_config_set_resolve(config, (const char *[]){any, NULL}) == NJ_OK);
  CHECK(get(config, other_url, NULL) == 200);
  config = config_of();
  CHECK(nj_config_set_resolve(config, NULL) == NJ_OK && nj_config_set_resolve(config, none) == NJ_OK);
  nj_config_free(config);
}

static void local_end(const char *url) {
  nj_config *config = config_of();
  CHECK(nj_config_set_ip_family(config, NJ_IP_V4) == NJ_OK);
  CHECK(nj_config_set_ip_family(config, (nj_ip_family)5) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_local_address(config, "127.0.0.2") == NJ_OK);
  CHECK(nj_config_set_local_address(config, "lo") == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_interface(config, "lo") == NJ_OK);
  CHECK(get(config, url, NULL) == 200);

  config = config_of();
  CHECK(nj_config_set_ip_family(config, NJ_IP_V6) == NJ_OK);
  CHECK(get(config, url, "the host has no IPv6 address, and ip_family is ipv6") == -NJ_DNS);

  config = config_of();
  CHECK(nj_config_set_ip_family(config, NJ_IP_V6) == NJ_OK);
  CHECK(nj_config_set_local_address(config, "127.0.0.2") == NJ_OK);
  CHECK(get(config, url, "local_address is an IPv4 address, but ip_family is ipv6") == -NJ_INVALID_ARGUMENT);

  config = config_of();
  CHECK(nj_config_set_interface(config, "nightjar-none") == NJ_OK);
  CHECK(get(config, url, "binding a connection to the interface \"nightjar-none\" failed") == -NJ_CONNECT);

  config = config_of();
  CHECK(nj_config_set_ip_family(config, NJ_IP_V6) == NJ_OK && nj_config_set_ip_family(config, NJ_IP_ANY) == NJ_OK);
  CHECK(nj_config_set_local_address(config, "::1") == NJ_OK && nj_config_set_local_address(config, NULL) == NJ_OK);
  CHECK(nj_config_set_interface(config, "x") == NJ_OK && nj_config_set_interface(config, NULL) == NJ_OK);
  CHECK(get(config, url, NULL) == 200);
}

static void filter(const char *url) {
  nj_config *config = config_of();
  CHECK(nj_config_set_address_filter(config, public_only, NULL, false) == NJ_OK);
  CHECK(get(config, url, "address_filter denies its address (loopback)") == -NJ_INVALID_REQUEST);

  config = config_of();
  CHECK(nj_config_set_address_filter(config, public_only, (const char *[]){"127.0.0.0/8", NULL}, false) == NJ_OK);
  CHECK(nj_config_set_address_filter(config, (const char *[]){"local", NULL}, NULL, false) == NJ_INVALID_ARGUMENT);
  CHECK(nj_config_set_address_filter(config, none, (const char *[]){"/8", NULL}, false) == NJ_INVALID_ARGUMENT);
  CHECK(get(config, url, NULL) == 200);

  config = config_of();
  CHECK(nj_config_set_address_filter(config, public_only, NULL, true) == NJ_OK);
  CHECK(nj_config_set_address_filter(config, NULL, NULL, false) == NJ_OK);
  CHECK(get(config, url, NULL) == 200);

  config = config_of();
  CHECK(nj_config_set_address_filter(config, public_only, NULL, false) == NJ_OK);
  CHECK(nj_config_set_proxy(config, "http://127.0.0.1:9") == NJ_OK);
  CHECK(get(config, "http://example.com/", "address_filter cannot check the address") == -NJ_INVALID_REQUEST);

  config = config_of();
  CHECK(nj_config_set_address_filter(config, public_only, NULL, false) == NJ_OK);
  CHECK(nj_config_set_unix_socket(config, "/run/d.sock") == NJ_OK);
  CHECK(get(config, url, "unix_socket and address_filter cannot be used together") == -NJ_INVALID_ARGUMENT);
}

/* The explanation of a call names the denied addresses, also if the call succeeds with another address. */
static void explanation(const char *port) {
  char url[64], entry[64];
  snprintf(url, sizeof url, "http://mixed.test:%s/echo", port);
  snprintf(entry, sizeof entry, "mixed.test:%s:10.0.0.1,127.0.0.1", port);
  for (int allows = 0; allows < 2; allows++) {
    nj_config *config = config_of();
    CHECK(nj_config_set_resolve(config, (const char *[]){entry, NULL}) == NJ_OK);
    const char *allow[] = {allows ? "127.0.0.1" : NULL, NULL};
    CHECK(nj_config_set_address_filter(config, public_only, allow, false) == NJ_OK);
    nj_client *client = nj_client_new(config, NULL);
    nj_config_free(config);
    nj_request *request = nj_request_new("GET", url);
    nj_error *error = NULL;
    nj_response *response = nj_client_send(client, request, &error);
    CHECK((response != NULL) == allows && (error == NULL) == allows);
    const char *json = response ? nj_response_explain_json(response, NULL) : nj_error_explain_json(error, NULL);
    CHECK(json && strstr(json, "\"decision\":\"addresses_denied\""));
    CHECK(strstr(json, "\"host\":\"mixed.test\",\"by\":\"address_filter\",\"candidates\":2"));
    CHECK(strstr(json, "{\"address\":\"10.0.0.1\",\"because\":\"private\"}"));
    CHECK((strstr(json, "{\"address\":\"127.0.0.1\",\"because\":\"loopback\"}") == NULL) == allows);
    const char *text = response ? nj_response_explain(response) : nj_error_explain(error);
    CHECK(strstr(text, allows ? "address_filter denied 1 of 2 addresses of mixed.test: 10.0.0.1 (private)"
                              : "address_filter denied 2 of 2 addresses of mixed.test: 10.0.0.1 (private), 127.0.0.1"));
    nj_response_release(response);
    nj_error_release(error);
    nj_request_free(request);
    nj_client_free(client);
  }
}

static void https_only(const char *url) {
  nj_config *config = config_of();
  CHECK(nj_config_set_https_only(config, true, NULL) == NJ_OK);
  CHECK(get(config, url, "because https_only is set") == -NJ_INVALID_REQUEST);
  config = config_of();
  CHECK(nj_config_set_https_only(config, true, (const char *[]){"127.0.0.1", "*.internal", NULL}) == NJ_OK);
  CHECK(nj_config_set_https_only(config, true, (const char *[]){"a b", NULL}) == NJ_INVALID_ARGUMENT);
  CHECK(get(config, url, NULL) == 200);
  config = config_of();
  CHECK(nj_config_set_https_only(config, true, NULL) == NJ_OK);
  CHECK(nj_config_set_https_only(config, false, none) == NJ_OK);
  CHECK(get(config, url, NULL) == 200);
}

int main(int count, char **words) {
  CHECK(count == 2);
  char url[128];
  snprintf(url, sizeof url, "%s/echo", words[1]);
  const char *port = strrchr(words[1], ':') + 1;
  char digits[8];
  snprintf(digits, sizeof digits, "%.*s", (int)strspn(port, "0123456789"), port);
  entries(digits);
  local_end(url);
  filter(url);
  explanation(digits);
  https_only(url);
  FINISH();
}
