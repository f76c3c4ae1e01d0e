/* Typed reading of JSON responses, texts, schemas and error bodies, with prepared responses. */
#include "check.h"
#include <arpa/inet.h>
#include <limits.h>
#include <nightjar.h>
#include <pthread.h>
#include <unistd.h>

/* --- A loopback server: the path selects the response --- */

static const struct response {
  const char *path, *status, *type, *body;
} responses[] = {
    {"/doc", "200 OK", "application/json",
     "{\"id\":7,\"big\":18446744073709551615,\"low\":-9223372036854775808,\"three\":3.0,\"half\":3.5,\"yes\":true,"
     "\"none\":null,\"name\":\"n\\u0000\xC3\xA9\",\"list\":[1,\"b\",{\"x\":[]}],\"a/b~\":\"odd\"}"},
    {"/text", "200 OK", "text/plain; charset=ISO-8859-1", "na\xEFve"},
    {"/html", "200 OK", "text/html", "<html>"},
    {"/empty", "200 OK", "application/json", ""},
    {"/problem", "422 Unprocessable", "application/problem+json",
     "{\"type\":\"https://h/p\",\"title\":\"Not valid\",\"detail\":\"one field\",\"code\":12,"
     "\"errors\":[{\"field\":\"title\",\"message\":\"is empty\"},\"all of it\"]}"},
    {"/plain", "500 Broken", "text/plain", "no JSON"},
};

static void response(int peer) {
  char head[4096];
  size_t used = 0;
  while (used < sizeof head - 1) {
    ssize_t got = read(peer, head + used, sizeof head - 1 - used);
    if (got <= 0) return;
    used += (size_t)got;
    head[used] = 0;
    if (strstr(head, "\r\n\r\n")) break;
  }
  for (size_t at = 0; at < sizeof responses / sizeof *responses; at++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "GET %s HTTP/1.1\r\n", responses[at].path);
    if (strncmp(head, wanted, strlen(wanted)) != 0) continue;
    dprintf(peer, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
            responses[at].status, responses[at].type, strlen(responses[at].body), responses[at].body);
  }
}

static void *serve(void *listener) {
  for (int peer; (peer = accept(*(int *)listener, NULL, NULL)) >= 0; close(peer)) response(peer);
  return NULL;
}

/* --- Checks --- */

static nj_client *client;

static nj_response *get(const char *path) {
  nj_request *req = nj_request_new("GET", path);
  nj_error *err = NULL;
  nj_response *res = nj_client_send(client, req, &err);
  if (!res) fprintf(stderr, "%s: %s\n", path, nj_error_message(err));
  nj_error_release(err);
  nj_request_free(req);
  return res;
}

/* The getter fails with NJ_DECODING and this message; `call` has `&err` as its last argument. */
#define CHECK_MISMATCH(call, text)                \
  do {                                            \
    nj_error *err = NULL;                         \
    CHECK((call) == NJ_DECODING);                 \
    CHECK(nj_error_kind(err) == NJ_DECODING);     \
    CHECK_TEXT(nj_error_message(err), text);      \
    CHECK(nj_error_response(err) != NULL);        \
    nj_error_release(err);                           \
  } while (0)

#define WRONG "the JSON is not as expected: "

static void reads_what_is_there(void) {
  nj_response *res = get("/doc");
  int64_t number = 0;
  uint64_t count = 0;
  double real = 0;
  bool flag = false;
  size_t length = 0;
  const char *text = NULL;
  CHECK(nj_response_json_int64(res, "/id", &number, NULL) == NJ_OK && number == 7);
  CHECK(nj_response_json_int64(res, "/low", &number, NULL) == NJ_OK && number == INT64_MIN);
  CHECK(nj_response_json_int64(res, "/three", &number, NULL) == NJ_OK && number == 3);
  CHECK(nj_response_json_uint64(res, "/big", &count, NULL) == NJ_OK && count == UINT64_MAX);
  CHECK(nj_response_json_double(res, "/half", &real, NULL) == NJ_OK && real == 3.5);
  CHECK(nj_response_json_double(res, "/id", &real, NULL) == NJ_OK && real == 7);
  CHECK(nj_response_json_bool(res, "/yes", &flag, NULL) == NJ_OK && flag);
  CHECK(nj_response_json_string(res, "/name", &text, &length, NULL) == NJ_OK);
  CHECK(length == 4 && text && memcmp(text, "n\0\xC3\xA9", 5) == 0);
  const char *again = NULL;
  CHECK(nj_response_json_string(res, "/name", &again, NULL, NULL) == NJ_OK && again == text);
  CHECK(nj_response_json_string(res, "/list/1", &text, NULL, NULL) == NJ_OK);
  CHECK_TEXT(text, "b");
  CHECK(nj_response_json_string(res, "/a~1b~0", &text, NULL, NULL) == NJ_OK);
  CHECK_TEXT(text, "odd");
  CHECK(nj_response_json_text(res, "/list", &text, &length, NULL) == NJ_OK && length == strlen(text));
  CHECK_TEXT(text, "[1,\"b\",{\"x\":[]}]");
  CHECK(nj_response_json_count(res, "/list", &length, NULL) == NJ_OK && length == 3);
  CHECK(nj_response_json_count(res, "", &length, NULL) == NJ_OK && length == 10);
  CHECK_TEXT(nj_response_json_key_at(res, "", 0, &length), "id");
  CHECK(length == 2);
  CHECK(nj_response_json_key_at(res, "", 10, &length) == NULL && length == 0);
  CHECK(nj_response_json_key_at(res, "/list", 0, NULL) == NULL);
  nj_response_release(res);
}

static void knows_the_types(void) {
  nj_response *res = get("/doc");
  static const struct {
    const char *pointer;
    nj_json_type type;
  } types[] = {{"", NJ_JSON_OBJECT},      {"/id", NJ_JSON_INTEGER},  {"/big", NJ_JSON_INTEGER}, {"/half", NJ_JSON_NUMBER},
               {"/yes", NJ_JSON_BOOLEAN}, {"/none", NJ_JSON_NULL},   {"/name", NJ_JSON_STRING}, {"/list", NJ_JSON_ARRAY},
               {"/nowhere", NJ_JSON_NONE}, {"no pointer", NJ_JSON_NONE}};
  for (size_t at = 0; at < sizeof types / sizeof *types; at++) {
    CHECK(nj_response_json_type(res, types[at].pointer) == types[at].type);
  }
  CHECK(nj_response_json_type(res, NULL) == NJ_JSON_NONE);
  CHECK(nj_response_json_type(NULL, "") == NJ_JSON_NONE);
  nj_response_release(res);
}

static void tells_path_expected_and_found(void) {
  nj_response *res = get("/doc");
  int64_t number = 41;
  uint64_t count = 41;
  size_t length = 41;
  double real = 41;
  bool flag = true;
  const char *text = "as before";
  CHECK_MISMATCH(nj_response_json_int64(res, "/half", &number, &err),
                 WRONG "at \"/half\": expected an integer, found a number with a fraction");
  CHECK_MISMATCH(nj_response_json_int64(res, "/big", &number, &err),
                 WRONG "at \"/big\": expected an integer from -9223372036854775808 to 9223372036854775807, "
                       "found one out of range");
  CHECK_MISMATCH(nj_response_json_uint64(res, "/low", &count, &err),
                 WRONG "at \"/low\": expected an integer from 0 to 18446744073709551615, found one out of range");
  CHECK_MISMATCH(nj_response_json_double(res, "/name", &real, &err),
                 WRONG "at \"/name\": expected a number, found a string");
  CHECK_MISMATCH(nj_response_json_bool(res, "/id", &flag, &err),
                 WRONG "at \"/id\": expected a boolean, found an integer");
  CHECK_MISMATCH(nj_response_json_string(res, "/none", &text, &length, &err),
                 WRONG "at \"/none\": expected a string, found null");
  CHECK_MISMATCH(nj_response_json_string(res, "/list/9", &text, &length, &err),
                 WRONG "at \"/list/9\": expected a string, found nothing");
  CHECK_MISMATCH(nj_response_json_count(res, "/id", &length, &err),
                 WRONG "at \"/id\": expected an array or an object, found an integer");
  CHECK(number == 41 && count == 41 && length == 41 && real == 41 && flag);
  CHECK_TEXT(text, "as before");
  nj_response_release(res);

  res = get("/empty");
  CHECK_MISMATCH(nj_response_json_int64(res, "/id", &number, &err), "the response has no body, but JSON was expected");
  nj_response_release(res);
  res = get("/html");
  nj_error *err = NULL;
  CHECK(nj_response_json_int64(res, "/id", &number, &err) == NJ_DECODING);
  CHECK(strstr(nj_error_message(err), "(its Content-Type is \"text/html\")") != NULL);
  CHECK(nj_response_json_type(res, "") == NJ_JSON_NONE);
  nj_error_release(err);
  nj_response_release(res);
}

static void refuses_misuse(void) {
  nj_response *res = get("/doc");
  int64_t number;
  nj_error *err = NULL;
  CHECK(nj_response_json_int64(NULL, "", &number, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_response_json_int64(res, NULL, &number, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_response_json_int64(res, "/id", NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_response_json_int64(res, "\xFF", &number, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_response_json_int64(res, "id", &number, &err) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(err), "the JSON Pointer \"id\" must be empty or begin with /, as in \"/items/0\"");
  nj_error_release(err);
  CHECK(nj_response_json_string(res, "/name", NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_response_json_key_at(NULL, "", 0, NULL) == NULL);
  CHECK(nj_response_json_key_at(res, "", SIZE_MAX, NULL) == NULL);
  CHECK(nj_response_text(NULL, NULL) == NULL);
  nj_response_release(res);
}

static void gives_text_by_its_charset(void) {
  nj_response *res = get("/text");
  size_t length = 0;
  CHECK_TEXT(nj_response_text(res, &length), "na\xC3\xAFve");
  CHECK(length == 6);
  CHECK(nj_response_text(res, NULL) == nj_response_text(res, NULL));
  nj_response_release(res);
}

static void checks_a_schema(void) {
  static const char good[] = "{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":{\"type\":\"integer\"}}}";
  static const char other[] = "{\"properties\":{\"list\":{\"items\":{\"type\":\"string\"}}}}";
  nj_request *req = nj_request_new("GET", "/doc");
  nj_error *err = NULL;
  CHECK(nj_request_set_schema(req, good, strlen(good), &err) == NJ_OK);
  nj_response *res = nj_client_send(client, req, &err);
  CHECK(res != NULL);
  nj_response_release(res);
  CHECK(nj_request_set_schema(req, other, strlen(other), &err) == NJ_OK);
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK(nj_error_kind(err) == NJ_DECODING && nj_error_http_status(err) == 200);
  CHECK_TEXT(nj_error_message(err), WRONG "at \"/list/0\": expected a string, found an integer");
  int64_t id = 0;
  CHECK(nj_response_json_int64(nj_error_response(err), "/id", &id, NULL) == NJ_OK && id == 7);
  nj_error_release(err);
  err = NULL;
  CHECK(nj_request_set_schema(req, "{\"typ\":1}", 9, &err) == NJ_INVALID_ARGUMENT);
  CHECK(strstr(nj_error_message(err), "typ") != NULL);
  nj_error_release(err);
  CHECK(nj_request_set_schema(req, "{", 1, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_schema(NULL, good, strlen(good), NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_schema(req, NULL, 0, NULL) == NJ_OK);
  res = nj_client_send(client, req, NULL);
  CHECK(res != NULL);
  nj_response_release(res);
  nj_request_free(req);
}

static void tells_what_the_server_says(void) {
  nj_request *req = nj_request_new("GET", "/problem");
  nj_error *err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK_TEXT(nj_error_message(err), "GET returned 422 Unprocessable: "
                                    "\"Not valid: one field (12); title: is empty, all of it\"");
  CHECK_TEXT(nj_error_details_title(err), "Not valid");
  CHECK_TEXT(nj_error_details_detail(err), "one field");
  CHECK_TEXT(nj_error_details_code(err), "12");
  CHECK_TEXT(nj_error_details_type(err), "https://h/p");
  CHECK(nj_error_details_message(err) == NULL);
  CHECK(nj_error_details_field_count(err) == 2);
  CHECK_TEXT(nj_error_details_field_name_at(err, 0), "title");
  CHECK_TEXT(nj_error_details_field_message_at(err, 0), "is empty");
  CHECK(nj_error_details_field_name_at(err, 1) == NULL);
  CHECK_TEXT(nj_error_details_field_message_at(err, 1), "all of it");
  CHECK(nj_error_details_field_message_at(err, 2) == NULL);
  nj_error_release(err);
  nj_request_free(req);

  req = nj_request_new("GET", "/plain");
  err = NULL;
  CHECK(nj_client_send(client, req, &err) == NULL);
  CHECK_TEXT(nj_error_message(err), "GET returned 500 Broken: \"no JSON\"");
  CHECK(nj_error_details_title(err) == NULL && nj_error_details_field_count(err) == 0);
  nj_error_release(err);
  nj_request_free(req);
  CHECK(nj_error_details_title(NULL) == NULL && nj_error_details_field_count(NULL) == 0);
}

/* Many threads read one response. It is parsed once, and each string has one address. */
static void *read_much(void *response) {
  const char *first = NULL;
  for (int round = 0; round < 200; round++) {
    const char *text = NULL;
    int64_t number = 0;
    CHECK(nj_response_json_string(response, "/name", &text, NULL, NULL) == NJ_OK);
    CHECK(nj_response_json_int64(response, "/id", &number, NULL) == NJ_OK && number == 7);
    CHECK(nj_response_json_key_at(response, "", 3, NULL) != NULL);
    if (first == NULL) first = text;
    CHECK(text == first);
  }
  return NULL;
}

static void is_read_by_many_threads(void) {
  nj_response *res = get("/doc");
  pthread_t threads[4];
  for (int at = 0; at < 4; at++) pthread_create(&threads[at], NULL, read_much, res);
  for (int at = 0; at < 4; at++) pthread_join(threads[at], NULL);
  nj_response_release(res);
}

int main(void) {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0) return 1;
  getsockname(listener, (struct sockaddr *)&address, &size);
  pthread_t server;
  pthread_create(&server, NULL, serve, &listener);

  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  CHECK(client != NULL);
  reads_what_is_there();
  knows_the_types();
  tells_path_expected_and_found();
  refuses_misuse();
  gives_text_by_its_charset();
  checks_a_schema();
  tells_what_the_server_says();
  is_read_by_many_threads();
  nj_client_free(client);

  shutdown(listener, SHUT_RDWR);
  pthread_join(server, NULL);
  close(listener);
  FINISH();
}
