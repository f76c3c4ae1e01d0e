/* GraphQL operations, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <sys/stat.h>
#include <unistd.h>

static nj_client *client;

static const char *article = "query($id: ID!) { article(id: $id) { id secret } }";
static const char *list = "query($after: String) { articles(first: 10, after: $after) {"
                          "  pageInfo { endCursor hasNextPage } edges { node { id } } } }";
static const char *comment = "mutation($input: CreateCommentInput!) { createComment(input: $input) { body } }";

/* Sends an operation. Returns the kind of its error; NJ_OK with `*response` if it succeeds. */
static nj_status send(const char *document, const char *variables, const nj_graphql_schema *schema,
                      nj_response **response, char *message, size_t size) {
  nj_request *request = nj_request_new("POST", "/graphql");
  nj_error *error = NULL;
  size_t length = variables ? strlen(variables) : 0;
  nj_status status = nj_request_set_graphql(request, document, NULL, variables, length, schema, &error);
  *response = status == NJ_OK ? nj_client_send(client, request, &error) : NULL;
  if (error) {
    status = nj_error_kind(error);
    snprintf(message, size, "%s", nj_error_message(error));
  }
  nj_error_release(error);
  nj_request_free(request);
  return status;
}

/* Returns the string at a JSON Pointer; NULL if there is none. Valid until the response is released. */
static const char *string_at(const nj_response *response, const char *pointer) {
  const char *text = NULL;
  size_t length;
  return nj_response_json_string(response, pointer, &text, &length, NULL) == NJ_OK ? text : NULL;
}

static void operations(void) {
  nj_response *response;
  char message[256] = "";
  CHECK(send(article, "{\"id\": 7}", NULL, &response, message, sizeof message) == NJ_OK);
  CHECK_TEXT(string_at(response, "/data/article/id"), "7");
  CHECK_TEXT(string_at(response, "/errors/0/path/1"), "secret");
  nj_response_release(response);
  CHECK(send("{ article { id } }", NULL, NULL, &response, message, sizeof message) == NJ_GRAPHQL && response == NULL);
  CHECK(send(comment, "{\"input\": {\"articleId\": 1, \"authorId\": 1, \"body\": \"C\"}}", NULL, &response, message,
             sizeof message) == NJ_OK);
  CHECK_TEXT(string_at(response, "/data/createComment/body"), "C");
  nj_response_release(response);
}

static void arguments(void) {
  nj_response *response;
  char message[256] = "";
  nj_request *request = nj_request_new("POST", "/graphql");
  CHECK(send(article, "{\"idd\": 7}", NULL, &response, message, sizeof message) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(message, "the GraphQL operation has no variable \"idd\"; did you mean \"id\"?");
  CHECK(send("{ a", NULL, NULL, &response, message, sizeof message) == NJ_INVALID_ARGUMENT);
  CHECK(send(article, "{\"id\"", NULL, &response, message, sizeof message) == NJ_DECODING);
  CHECK(send("subscription { a }", NULL, NULL, &response, message, sizeof message) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_graphql(request, NULL, NULL, NULL, 0, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_graphql(NULL, "{ a }", NULL, NULL, 0, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_graphql(request, "{ a }", "B", NULL, 0, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_request_set_graphql(request, "\xff", NULL, NULL, 0, NULL, NULL) == NJ_INVALID_ARGUMENT);
  const char *options = "{\"graphql\": {\"query\": \"query($a: Int) { a }\", \"variables\": {\"a\": \"1\"}}}";
  CHECK(nj_request_merge_json(request, options, strlen(options), NULL) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
  request = nj_request_new("PUT", "/graphql");
  CHECK(nj_request_set_graphql(request, "{ a }", NULL, NULL, 0, NULL, NULL) == NJ_INVALID_ARGUMENT);
  nj_request_free(request);
}

static void schemas(const char *folder) {
  nj_response *response;
  nj_error *error = NULL;
  char message[256] = "", path[256];
  struct stat status;
  snprintf(path, sizeof path, "%s/graphql-%d/schema.json", folder, (int)getpid());
  for (int i = 0; i < 2; i++) {
    nj_graphql_schema *schema = nj_client_load_graphql_schema(client, "/graphql", path, 3600, &error);
    CHECK(schema != NULL && error == NULL);
    CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    CHECK(send(comment, "{\"input\": {\"articleId\": 1, \"authorId\": 1, \"body\": 2}}", schema, &response, message,
               sizeof message) == NJ_INVALID_ARGUMENT);
    CHECK_TEXT(message, "the variable \"input.body\" must be a string, got an integer");
    nj_graphql_schema_free(schema);
  }
  unlink(path);
  *strrchr(path, '/') = '\0';
  rmdir(path);
  nj_graphql_schema *fresh = nj_client_load_graphql_schema(client, "/graphql", "", 0, NULL);
  CHECK(fresh != NULL && access(path, F_OK) != 0);
  nj_graphql_schema_free(fresh);
  CHECK(nj_client_load_graphql_schema(client, "/graphql", "/dev/null/x", 1, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_STORAGE);
  nj_error_release(error);
  CHECK(nj_client_load_graphql_schema(client, "/echo", "", 1, NULL) == NULL);
  CHECK(nj_client_load_graphql_schema(client, "/graphql", "", -1, NULL) == NULL);
  CHECK(nj_client_load_graphql_schema(NULL, "/graphql", "", 1, NULL) == NULL);
  CHECK(nj_graphql_schema_new("{}", 2, &error) == NULL && nj_error_kind(error) == NJ_DECODING);
  nj_error_release(error);
  nj_graphql_schema_free(NULL);
}

static void pages(void) {
  nj_request *request = nj_request_new("POST", "/graphql");
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
  CHECK(nj_request_set_graphql(request, list, NULL, NULL, 0, NULL, NULL) == NJ_OK);
  CHECK(nj_pagination_set_graphql(pagination, article, NULL, NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_pagination_set_graphql(pagination, list, NULL, "/users", NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_pagination_set_graphql(pagination, list, NULL, "/articles", NULL) == NJ_OK);
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  const char *item;
  int count = 0;
  while (nj_paginator_next_item(paginator, &item, NULL, NULL) == NJ_NEXT_FOUND) {
    char expected[32];
    snprintf(expected, sizeof expected, "{\"id\":\"%d\"}", ++count);
    CHECK_TEXT(item, expected);
  }
  CHECK(count == 25);
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

/* Reads the results of a countdown over a WebSocket. */
static void subscriptions(void) {
  nj_request *request = nj_request_new("GET", "/graphql");
  const char *options = "{\"graphql\": {\"query\": \"subscription($n: Int!) { countdown(from: $n) }\","
                        " \"variables\": {\"n\": 2}}}";
  nj_websocket *socket = nj_websocket_new(client, request, options, strlen(options), NULL);
  const nj_message *message = NULL;
  nj_error *error = NULL;
  for (int number = 2; number >= 0; number--) {
    char expected[64];
    snprintf(expected, sizeof expected, "{\"data\":{\"countdown\":%d}}", number);
    CHECK(nj_websocket_receive(socket, 10, &message, &error) == NJ_OK && message != NULL);
    CHECK_TEXT(message ? nj_message_data(message, NULL) : NULL, expected);
  }
  CHECK(nj_websocket_receive(socket, 10, &message, &error) == NJ_OK && message == NULL && error == NULL);
  nj_websocket_release(socket);

  options = "{\"graphql\": \"subscription { nothing }\"}";
  socket = nj_websocket_new(client, request, options, strlen(options), NULL);
  CHECK(nj_websocket_receive(socket, 10, &message, &error) == NJ_GRAPHQL && message == NULL);
  nj_error_release(error);
  nj_websocket_release(socket);
  options = "{\"graphql\": \"{ article(id: 1) { id } }\"}";
  CHECK(nj_websocket_new(client, request, options, strlen(options), NULL) == NULL);
  options = "{\"pieces\": true, \"graphql\": \"subscription { countdown(from: 1) }\"}";
  CHECK(nj_websocket_new(client, request, options, strlen(options), NULL) == NULL);
  nj_request_free(request);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  operations();
  arguments();
  schemas(argv[2]);
  pages();
  subscriptions();
  nj_client_free(client);
  FINISH();
}
