/* Signs requests with AWS Signature Version 4, and sends one request.
 *
 *   cc sign_aws.c $(pkg-config --cflags --libs nightjar)
 *   AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... AWS_REGION=us-east-1 ./a.out s3 GET https://bucket.s3.amazonaws.com/
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
#define _GNU_SOURCE
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

typedef struct aws_login {
  const char *key_id, *secret, *session_token; /* the token may be NULL */
  const char *region, *service;
  const char *time; /* YYYYMMDDTHHMMSSZ; NULL: the time of the request */
} aws_login;

static void write_hex(char *text, const unsigned char *digest) {
  for (int index = 0; index < 32; index++) snprintf(text + 2 * index, 3, "%02x", digest[index]);
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Returns the text with all bytes as %XX, except unreserved ones and those in `kept`. `decodes`: %XX in the text is decoded
 * first. */
static char *encoded(const char *text, size_t length, int decodes, const char *kept) {
  char *result = malloc(3 * length + 1), *end = result;
  if (result == NULL) return NULL;
  for (size_t at = 0; at < length; at++) {
    unsigned char byte = (unsigned char)text[at];
    if (decodes && byte == '%' && at + 2 < length && digit(text[at + 1]) >= 0 && digit(text[at + 2]) >= 0) {
      byte = (unsigned char)(16 * digit(text[at + 1]) + digit(text[at + 2]));
      at += 2;
    } else if (byte != 0 && strchr(kept, byte) != NULL) {
      *end++ = (char)byte;
      continue;
    }
    if (byte < 128 && (byte | 32) >= 'a' && (byte | 32) <= 'z') *end++ = (char)byte;
    else if ((byte >= '0' && byte <= '9') || (byte != 0 && strchr("-._~", byte) != NULL)) *end++ = (char)byte;
    else end += sprintf(end, "%%%02X", byte);
  }
  *end = 0;
  return result;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Writes the query items sorted by name and value. While they are sorted, the lowest byte separates name and value. */
static void write_query(FILE *writer, const char *query) {
  char *items[256];
  size_t count = 0;
  while (*query != 0 && count < 256) {
    size_t length = strcspn(query, "&"), name_length = strcspn(query, "=&");
    char *name = encoded(query, name_length, 1, "");
    char *value = name_length < length ? encoded(query + name_length + 1, length - name_length - 1, 1, "") : strdup("");
    if (name != NULL && value != NULL && asprintf(&items[count], "%s\1%s", name, value) > 0) count++;
    free(name);
    free(value);
    query += length + (query[length] == '&');
  }
  qsort(items, count, sizeof *items, compare);
  for (size_t index = 0; index < count; index++) {
    *strchr(items[index], '\1') = '=';
    fprintf(writer, "%s%s", index > 0 ? "&" : "", items[index]);
    free(items[index]);
  }
}

static int is_signed(const char *name) {
  return !strcasecmp(name, "host") || !strcasecmp(name, "content-type") || !strncasecmp(name, "x-amz-", 6);
}

/* Writes "name:value" for each signed header, sorted by name, and returns their names, joined with ";". */
static char *write_headers(FILE *writer, nj_prepared_request *request) {
  char *lines[256], *names = NULL;
  size_t count = 0, length = 0;
  for (size_t index = 0; index < nj_prepared_request_header_count(request) && count < 256; index++) {
    const char *name = nj_prepared_request_header_name_at(request, index);
    if (!is_signed(name)) continue;
    if (asprintf(&lines[count], "%s\1%s", name, nj_prepared_request_header_value_at(request, index)) < 0) continue;
    for (char *c = lines[count]; *c != '\1'; c++) *c |= *c >= 'A' && *c <= 'Z' ? 32 : 0;
    count++;
  }
  qsort(lines, count, sizeof *lines, compare);
  FILE *list = open_memstream(&names, &length);
  for (size_t index = 0; index < count; index++) {
    *strchr(lines[index], '\1') = ':';
    fprintf(writer, "%s\n", lines[index]);
    if (list) fprintf(list, "%s%.*s", index > 0 ? ";" : "", (int)strcspn(lines[index], ":"), lines[index]);
    free(lines[index]);
  }
  if (list) fclose(list);
  return names;
}

/* Sets Authorization. `payload` is the digest of the body. */
static nj_status authorize(const aws_login *login, nj_prepared_request *request, const char *time, const char *payload) {
  const char *url = nj_prepared_request_url(request), *path = strchr(strstr(url, "://") + 3, '/');
  size_t path_length = strcspn(path, "?");
  char *canonical = NULL, *names, *encoded_path, scope[200], text[400], hex[65], *authorization = NULL;
  size_t length = 0;
  FILE *writer = open_memstream(&canonical, &length);
  if (writer == NULL) return NJ_INVALID_REQUEST;
  /* The path is encoded again, except for S3. */
  encoded_path = encoded(path, path_length, 0, strcmp(login->service, "s3") == 0 ? "/%" : "/");
  fprintf(writer, "%s\n%s\n", nj_prepared_request_method(request), encoded_path);
  write_query(writer, path[path_length] == '?' ? path + path_length + 1 : "");
  fputc('\n', writer);
  names = write_headers(writer, request);
  fprintf(writer, "\n%s\n%s", names, payload);
  fclose(writer);

  unsigned char digest[32], key[32];
  nj_sha256(canonical, length, digest);
  write_hex(hex, digest);
  snprintf(scope, sizeof scope, "%.8s/%s/%s/aws4_request", time, login->region, login->service);
  snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope, hex);
  char first[200];
  snprintf(first, sizeof first, "AWS4%s", login->secret);
  nj_hmac_sha256(first, strlen(first), time, 8, key);
  nj_hmac_sha256(key, 32, login->region, strlen(login->region), key);
  nj_hmac_sha256(key, 32, login->service, strlen(login->service), key);
  nj_hmac_sha256(key, 32, "aws4_request", 12, key);
  nj_hmac_sha256(key, 32, text, strlen(text), digest);
  write_hex(hex, digest);
  nj_status status = NJ_INVALID_REQUEST;
  if (asprintf(&authorization, "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s", login->key_id, scope, names,
               hex) > 0) {
    status = nj_prepared_request_set_header(request, "Authorization", authorization);
    free(authorization);
  }
  free(encoded_path);
  free(names);
  free(canonical);
  return status;
}

/* The before hook. The context is an aws_login. */
static nj_status sign(void *context, nj_prepared_request *request) {
  const aws_login *login = context;
  int is_s3 = strcmp(login->service, "s3") == 0;
  const char *payload = nj_prepared_request_body_sha256(request);
  if (payload == NULL) { /* a body that is read while it is sent */
    if (!is_s3) return NJ_INVALID_REQUEST;
    payload = "UNSIGNED-PAYLOAD";
  }
  char now[32];
  struct tm parts;
  time_t seconds = time(NULL);
  strftime(now, sizeof now, "%Y%m%dT%H%M%SZ", gmtime_r(&seconds, &parts));
  const char *time = login->time ? login->time : now;
  nj_status status = nj_prepared_request_set_header(request, "X-Amz-Date", time);
  if (status == NJ_OK && is_s3) status = nj_prepared_request_set_header(request, "X-Amz-Content-Sha256", payload);
  if (status == NJ_OK && login->session_token) {
    status = nj_prepared_request_set_header(request, "X-Amz-Security-Token", login->session_token);
  }
  return status == NJ_OK ? authorize(login, request, time, payload) : status;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) {
    fprintf(stderr, "usage: %s SERVICE METHOD URL [BODY]\n", argv[0]);
    return 2;
  }
  aws_login login = {.key_id = getenv("AWS_ACCESS_KEY_ID"), .secret = getenv("AWS_SECRET_ACCESS_KEY"),
                     .session_token = getenv("AWS_SESSION_TOKEN"), .region = getenv("AWS_REGION"), .service = argv[1]};
  if (!login.key_id || !login.secret || !login.region) {
    fprintf(stderr, "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION\n");
    return 2;
  }
  nj_config *config = nj_config_new();
  nj_config_on_request(config, sign, &login);
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_request *request = nj_request_new(argv[2], argv[3]);
  if (argc == 5) nj_request_set_body(request, argv[4], strlen(argv[4]));
  nj_response *response = client ? nj_client_send(client, request, &error) : NULL;
  if (response) printf("%d\n%s\n", nj_response_status(response), nj_response_text(response, NULL));
  else fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(error)), nj_error_message(error));
  int status = response ? 0 : 1;
  nj_response_release(response);
  nj_error_release(error);
  nj_request_free(request);
  nj_client_free(client);
  nj_config_free(config);
  return status;
}
