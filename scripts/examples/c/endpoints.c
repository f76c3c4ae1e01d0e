/* Describes an API once and calls it by name. Arguments are checked before the request is sent.
 *
 *   nightjar demo --port 8080
 *   cc endpoints.c $(pkg-config --cflags --libs nightjar) -o endpoints && ./endpoints http://127.0.0.1:8080 */
#include <nightjar.h>
#include <stdio.h>
#include <string.h>

static const char article[] =
    "{\"path\": \"/v1/articles/{id}\", \"summary\": \"One article\","
    " \"parameters\": {\"id\": {\"type\": \"integer\", \"minimum\": 1}},"
    " \"response\": {\"type\": \"object\", \"required\": [\"id\", \"title\"]}}";

/* Requests an article, and prints its title or the error. */
static int show(nj_client *client, nj_catalog *catalog, const char *id) {
  nj_error *error = NULL;
  nj_request *request = nj_request_from_endpoint(catalog, "article", &error);
  nj_response *response = NULL;
  if (request != NULL) {
    nj_request_set_argument(request, "id", id);
    response = nj_client_send(client, request, &error);
  }
  const char *title = NULL;
  if (response != NULL && nj_response_json_string(response, "/title", &title, NULL, NULL) == NJ_OK) {
    printf("article %s: %s\n", id, title);
  } else {
    printf("article %s: %s\n", id, error == NULL ? "no title" : nj_error_message(error));
  }
  nj_response_release(response);
  nj_request_free(request);
  nj_error_release(error);
  return title != NULL;
}

int main(int argc, char **argv) {
  const char *origin = argc > 1 ? argv[1] : "http://127.0.0.1:8080";
  nj_error *error = NULL;
  nj_catalog *catalog = nj_catalog_new();
  nj_client *client = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, origin);
  if (nj_catalog_add_json(catalog, "article", article, strlen(article), &error) == NJ_OK) {
    nj_config_set_catalog(config, catalog);
    client = nj_client_new(config, &error);
  }
  nj_config_free(config);
  if (client == NULL) {
    fprintf(stderr, "%s\n", nj_error_message(error));
    nj_error_release(error);
    nj_catalog_free(catalog);
    return 1;
  }
  for (size_t index = 0; index < nj_catalog_count(catalog); index++) {
    printf("%s\n", nj_catalog_endpoint_json(catalog, nj_catalog_name_at(catalog, index), NULL));
  }
  int found = show(client, catalog, "1");
  show(client, catalog, "first"); /* rejected: not an integer */
  nj_client_free(client);
  nj_catalog_free(catalog);
  return found ? 0 : 1;
}
