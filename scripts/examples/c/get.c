/* Fetches a URL and prints it.   cc get.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080/v1/articles */
#include <nightjar.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s URL\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_client *client = nj_client_new(NULL, &err);
  nj_request *req = nj_request_new("GET", argv[1]);
  nj_response *res = client ? nj_client_send(client, req, &err) : NULL;
  if (!res) {
    fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
  } else {
    size_t length;
    const char *body = nj_response_body(res, &length);
    const char *type = nj_response_header(res, "content-type");
    fprintf(stderr, "%d %s\n", nj_response_status(res), type ? type : "");
    fwrite(body, 1, length, stdout);
  }
  int status = res ? 0 : 1;
  nj_response_release(res);
  nj_error_release(err);
  nj_request_free(req);
  nj_client_free(client);
  return status;
}
