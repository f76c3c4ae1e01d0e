/* Endpoints from C: endpoints DEMO_URL FOLDER. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <unistd.h>

static const char *url, *folder;

static const char article[] = "{\"path\": \"/v1/articles/{id}\", \"parameters\": {\"id\": \"integer\"}, \"summary\": \"One\"}";
static const char echo[] =
    "{\"path\": \"/echo\", \"method\": \"POST\", \"parameters\": {\"page\": {\"type\": \"integer\", \"default\": 1},"
    " \"tags\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"X-Trace\": {\"in\": \"header\"}},"
    " \"body\": {\"schema\": {\"type\": \"object\", \"required\": [\"title\"]}, \"required\": false}}";
static const char strict[] = "{\"path\": \"/v1/articles/1\", \"response\": {\"required\": [\"nothing\"]}}";

static nj_catalog *catalog_of_all(void) {
  nj_catalog *catalog = nj_catalog_new();
  CHECK(nj_catalog_add_json(catalog, "article", article, strlen(article), NULL) == NJ_OK);
  CHECK(nj_catalog_add_json(catalog, "echo", echo, strlen(echo), NULL) == NJ_OK);
  CHECK(nj_catalog_add_json(catalog, "strict", strict, strlen(strict), NULL) == NJ_OK);
  return catalog;
}

static nj_client *client_with(const char *options, nj_catalog *catalog) {
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_catalog(config, catalog) == NJ_OK);
  CHECK(nj_config_merge_json(config, options, strlen(options), NULL) == NJ_OK);
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(client != NULL);
  nj_config_free(config);
  return client;
}

/* Checks the error of a request, and frees the request. */
static void refused(nj_client *client, nj_request *request, const char *message) {
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  CHECK_TEXT(nj_error_message(error), message);
  nj_error_release(error);
  nj_request_free(request);
}

static void expect_reply(nj_client *client, nj_request *request, const char *pointer, const char *text) {
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  const char *found = NULL;
  CHECK(nj_response_json_string(response, pointer, &found, NULL, NULL) == NJ_OK);
  CHECK_TEXT(found, text);
  nj_response_release(response);
  nj_request_free(request);
  nj_error_release(error);
}

static void values_go_to_their_places(void) {
  nj_catalog *catalog = catalog_of_all();
  nj_client *client = client_with("{}", catalog);
  nj_request *request = nj_request_from_endpoint(catalog, "echo", NULL);
  CHECK(nj_request_set_argument(request, "page", "7") == NJ_OK);
  CHECK(nj_request_set_argument(request, "page", "2") == NJ_OK);
  CHECK(nj_request_set_argument_json(request, "tags", "[\"a b\", \"c\"]", 12, NULL) == NJ_OK);
  CHECK(nj_request_set_argument(request, "X-Trace", "t") == NJ_OK);
  CHECK(nj_request_set_argument(request, "X-Trace", NULL) == NJ_OK);
  CHECK(nj_request_add_query(request, "debug", "1") == NJ_OK);
  expect_reply(client, request, "/target", "/echo?page=2&tags=a%20b&tags=c&debug=1");

  request = nj_request_from_endpoint(catalog, "echo", NULL);
  CHECK(nj_request_set_argument_body_json(request, "{\"title\": \"x\"}", 14, NULL) == NJ_OK);
  expect_reply(client, request, "/body", "{\"title\":\"x\"}");
  request = nj_request_from_endpoint(catalog, "echo", NULL);
  CHECK(nj_request_set_body(request, "{\"title\": 1}", 12) == NJ_OK);
  expect_reply(client, request, "/body", "{\"title\": 1}");
  nj_client_free(client);
  nj_catalog_free(catalog);
}

static void what_is_wrong_is_told_before_anything_is_sent(void) {
  nj_catalog *catalog = catalog_of_all();
  nj_client *client = client_with("{}", catalog);
  nj_error *error = NULL;
  CHECK(nj_request_from_endpoint(catalog, "artcle", &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_REQUEST);
  CHECK_TEXT(nj_error_message(error), "there is no endpoint \"artcle\"; did you mean \"article\"?");
  nj_error_release(error);

  nj_request *request = nj_request_from_endpoint(catalog, "article", NULL);
  nj_request *copy = nj_request_from_endpoint(catalog, "article", NULL);
  refused(client, request, "endpoint \"article\": the parameter \"id\" in the path is missing");
  CHECK(nj_request_set_argument(copy, "id", "x") == NJ_OK);
  refused(client, copy, "endpoint \"article\": parameter \"id\" must be an integer, found a string");
  request = nj_request_from_endpoint(catalog, "echo", NULL);
  CHECK(nj_request_set_argument(request, "pge", "1") == NJ_OK);
  refused(client, request, "endpoint \"echo\" has no parameter \"pge\"; did you mean \"page\"?");
  request = nj_request_from_endpoint(catalog, "echo", NULL);
  CHECK(nj_request_set_argument_body_json(request, "{}", 2, NULL) == NJ_OK);
  refused(client, request, "endpoint \"echo\": the body at \"/title\" must be a value, found nothing");

  request = nj_request_new("GET", "/");
  CHECK(nj_request_set_argument(request, "id", "1") == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  CHECK(nj_request_set_argument(NULL, "id", "1") == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_from_endpoint(NULL, "article", NULL) == NULL);
  nj_client_free(client);
  nj_catalog_free(catalog);
}

static void a_catalog_tells_what_there_is(void) {
  nj_catalog *catalog = catalog_of_all();
  CHECK(nj_catalog_count(catalog) == 3);
  CHECK_TEXT(nj_catalog_name_at(catalog, 0), "article");
  CHECK(nj_catalog_name_at(catalog, 3) == NULL);
  CHECK(strstr(nj_catalog_endpoint_json(catalog, "article", NULL), "\"path\":\"/v1/articles/{id}\"") != NULL);
  CHECK(nj_catalog_endpoint_json(catalog, "artcle", NULL) == NULL);
  const char *all = nj_catalog_json(catalog, NULL);
  CHECK(strstr(all, "\"endpoints\":[\"article\",\"echo\",\"strict\"]") != NULL);
  CHECK(nj_catalog_json(catalog, NULL) == all);
  CHECK(nj_catalog_add_json(catalog, "home", "{\"path\": \"/\"}", 13, NULL) == NJ_OK);
  CHECK(strstr(nj_catalog_json(catalog, NULL), "\"strict\",\"home\"]") != NULL);
  CHECK(strstr(all, "\"strict\"]") != NULL); /* The older text is still valid. */
  nj_error *error = NULL;
  CHECK(nj_catalog_add_json(catalog, "article", article, strlen(article), &error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  error = NULL;
  CHECK(nj_catalog_add_json(catalog, "a", "{\"pth\": \"/\"}", 12, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "option \"a.path\" is missing");
  nj_error_release(error);
  CHECK(nj_catalog_add_json(catalog, "a", "{", 1, NULL) == NJ_DECODING);
  CHECK(nj_catalog_count(NULL) == 0 && nj_catalog_json(NULL, NULL) == NULL);

  nj_client *client = client_with("{}", catalog);
  nj_catalog *copy = nj_client_catalog(client);
  CHECK(nj_catalog_count(copy) == 4);
  nj_catalog_free(copy);
  nj_client_free(client);
  nj_catalog_free(catalog);
  nj_catalog_free(NULL);
  client = client_with("{}", NULL);
  CHECK(nj_client_catalog(client) == NULL);
  nj_client_free(client);
}

static void answers_are_checked_where_that_is_asked_for(void) {
  nj_catalog *catalog = catalog_of_all();
  nj_client *client = client_with("{\"response_validation\": \"error\"}", catalog);
  nj_request *request = nj_request_from_endpoint(catalog, "strict", NULL);
  nj_error *error = NULL;
  CHECK(nj_client_send(client, request, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_DECODING);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(client);
  nj_catalog_free(catalog);
}

static const char document[] =
    "openapi: 3.1.0\ninfo: { title: Demo, version: '1' }\nservers: [{ url: '%s/v1' }]\npaths:\n  /articles/{id}:\n"
    "    get:\n      operationId: read\n      parameters:\n"
    "        - { name: id, in: path, required: true, schema: { type: integer } }\n"
    "      responses: { '200': { description: it } }\n";

static void a_swagger_document_is_converted(void) {
  static const char swagger[] =
      "swagger: '2.0'\ninfo: { title: Demo, version: '1' }\nhost: %s\nbasePath: /v1\nschemes: [http]\npaths:\n"
      "  /articles/{id}:\n    get:\n      operationId: read\n      parameters:\n"
      "        - { name: id, in: path, required: true, type: integer }\n"
      "        - { name: tags, in: query, type: array, items: { type: string }, collectionFormat: tsv }\n"
      "      responses: { '200': { description: it } }\n";
  char path[512];
  snprintf(path, sizeof path, "%s/swagger.yaml", folder);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file == NULL) return;
  fprintf(file, swagger, strstr(url, "//") + 2);
  fclose(file);
  nj_error *error = NULL;
  nj_catalog *catalog = nj_catalog_load_file(path, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(nj_catalog_count(catalog) == 1);
  CHECK(strstr(nj_catalog_json(catalog, NULL), "does not exist in OpenAPI 3") != NULL);
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_catalog(config, catalog) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  nj_request *request = nj_request_from_endpoint(catalog, "read", &error);
  CHECK(nj_request_set_argument(request, "id", "1") == NJ_OK);
  nj_response *response = nj_client_send(client, request, &error);
  CHECK(nj_response_status(response) == 200);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
  nj_catalog_free(catalog);

  file = fopen(path, "w");
  fputs("swagger: '1.2'", file);
  fclose(file);
  CHECK(nj_catalog_load_file(path, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT && strstr(nj_error_message(error), "Swagger 2.0, OpenAPI 3.0"));
  nj_error_release(error);
  unlink(path);
}

static void a_document_is_a_catalog(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/openapi.yaml", folder);
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  if (file == NULL) return;
  fprintf(file, document, url);
  fclose(file);
  nj_error *error = NULL;
  nj_catalog *catalog = nj_catalog_load_file(path, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(nj_catalog_count(catalog) == 1);
  nj_client *client = client_with("{}", NULL);
  nj_catalog *loaded = nj_client_load_catalog(client, path, &error);
  CHECK(nj_catalog_count(loaded) == 1);
  nj_catalog_free(loaded);
  nj_client_free(client);

  /* The first server is the base URL. */
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_catalog(config, catalog) == NJ_OK);
  client = nj_client_new(config, &error);
  CHECK(client != NULL);
  nj_config_free(config);
  nj_request *request = nj_request_from_endpoint(catalog, "read", &error);
  CHECK(nj_request_set_argument(request, "id", "1") == NJ_OK);
  nj_response *response = nj_client_send(client, request, &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(nj_response_status(response) == 200);
  nj_response_release(response);
  nj_request_free(request);
  nj_client_free(client);
  nj_catalog_free(catalog);
  unlink(path);
  CHECK(nj_catalog_load_file(path, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_STORAGE);
  nj_error_release(error);
}

/* Callbacks run on the waiting thread, and never on a thread of the library. */
static pthread_t here;
static int requested, responses, elsewhere;

static nj_status before(void *context, nj_prepared_request *request) {
  (void)context, (void)request;
  requested++;
  elsewhere += !pthread_equal(here, pthread_self());
  return NJ_OK;
}

static void after(void *context, const nj_prepared_request *request, const nj_response *response,
                  const nj_error *error) {
  (void)context, (void)request, (void)response, (void)error;
  responses++;
  elsewhere += !pthread_equal(here, pthread_self());
}

static void callbacks_run_on_the_thread_that_waits(void) {
  here = pthread_self();
  nj_config *config = nj_config_new();
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_on_request(config, before, NULL) == NJ_OK);
  CHECK(nj_config_on_response(config, after, NULL) == NJ_OK);
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  nj_catalog *catalog = nj_client_load_catalog(client, "url:/openapi.json", &error);
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(nj_catalog_count(catalog) > 0);
  CHECK(requested >= 1 && responses == requested && elsewhere == 0);
  nj_catalog_free(catalog);
  nj_client_free(client);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  url = argv[1];
  folder = argv[2];
  values_go_to_their_places();
  what_is_wrong_is_told_before_anything_is_sent();
  a_catalog_tells_what_there_is();
  answers_are_checked_where_that_is_asked_for();
  a_swagger_document_is_converted();
  a_document_is_a_catalog();
  callbacks_run_on_the_thread_that_waits();
  FINISH();
}
