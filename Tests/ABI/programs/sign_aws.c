/* Compares the signatures of scripts/examples/c/sign_aws.c with the published test vectors of AWS Signature Version 4. */
#define main example
#include "../../../scripts/examples/c/sign_aws.c"
#undef main
#include "check.h"

typedef struct vector {
  const char *name, *method, *target, *type, *body, *headers, *signature;
} vector;

static const vector vectors[] = {
    {"get-vanilla", "GET", "/", NULL, NULL, "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", NULL, NULL, "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-unreserved", "GET",
     "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz="
     "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     NULL, NULL, "host;x-amz-date", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-empty-query-key", "GET", "/?Param1=value1", NULL, NULL, "host;x-amz-date",
     "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"post-vanilla", "POST", "/", NULL, NULL, "host;x-amz-date",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"post-vanilla-query", "POST", "/?Param1=value1", NULL, NULL, "host;x-amz-date",
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-x-www-form-urlencoded", "POST", "/", "application/x-www-form-urlencoded", "Param1=value1",
     "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
};

static aws_login login = {.key_id = "AKIDEXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                          .region = "us-east-1", .service = "service", .time = "20150830T123600Z"};
static const vector *current;

static nj_status compare_signature(void *context, nj_prepared_request *request) {
  (void)context;
  CHECK(sign(&login, request) == NJ_OK);
  char expected[400];
  snprintf(expected, sizeof expected,
           "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=%s, Signature=%s",
           current->headers, current->signature);
  CHECK_TEXT(nj_prepared_request_header(request, "Authorization"), expected);
  return NJ_OK;
}

int main(void) {
  (void)example;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, "https://example.amazonaws.com");
  nj_config_on_request(config, compare_signature, NULL);
  CHECK(nj_config_set_mock(config, "[{\"response\": 200}]", 19, NULL) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  nj_config_free(config);
  for (size_t index = 0; index < sizeof vectors / sizeof *vectors; index++) {
    current = &vectors[index];
    nj_request *request = nj_request_new(current->method, current->target);
    if (current->type) nj_request_set_header(request, "Content-Type", current->type);
    if (current->body) nj_request_set_body(request, current->body, strlen(current->body));
    nj_response *response = nj_client_send(client, request, NULL);
    if (nj_response_status(response) != 200) fprintf(stderr, "%s failed\n", current->name);
    CHECK(nj_response_status(response) == 200);
    nj_response_release(response);
    nj_request_free(request);
  }
  nj_client_free(client);
  FINISH();
}
