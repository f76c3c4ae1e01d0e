/* Uploads a file with tus and shows the progress. If the upload fails, its state is written to FILE.state, and a second
 * run continues.
 *
 *   cc -I PREFIX/include upload.c -L PREFIX/lib -lnightjar -Wl,-rpath,PREFIX/lib -o upload
 *   upload FILE URL */
#include <nightjar.h>
#include <stdio.h>
#include <string.h>

static void show(void *context, nj_upload *upload, const nj_upload_progress *progress) {
  (void)context, (void)upload;
  double percent = progress->total <= 0 ? 100 : 100.0 * (double)progress->sent / (double)progress->total;
  fprintf(stderr, "\r%3.0f %%", percent);
}

/* Writes the options. The state of an earlier upload, JSON itself, becomes a JSON string. */
static void write_options(char *options, size_t size, FILE *state) {
  size_t length = (size_t)snprintf(options, size, "{\"protocol\": \"tus\"%s", state ? ", \"resume\": \"" : "");
  for (int byte; state && length < size - 8 && (byte = fgetc(state)) != EOF;) {
    if (byte == '"' || byte == '\\') options[length++] = '\\';
    options[length++] = (char)byte;
  }
  snprintf(options + length, size - length, "%s", state ? "\"}" : "}");
}

int main(int count, char **words) {
  if (count != 3) {
    fprintf(stderr, "usage: %s FILE URL\n", words[0]);
    return 2;
  }
  char path[4096], options[16384];
  snprintf(path, sizeof path, "%s.state", words[1]);
  FILE *file = fopen(path, "r");
  write_options(options, sizeof options, file);
  if (file) fclose(file);

  nj_error *error = NULL;
  nj_config *config = nj_config_new();
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  nj_request *request = nj_request_new("POST", words[2]);
  nj_upload_callbacks callbacks = {.size = sizeof callbacks, .progress = show};
  nj_upload *upload = NULL;
  nj_status status = client == NULL ? NJ_CONNECT
                                    : nj_client_upload(client, request, words[1], options, strlen(options), &callbacks,
                                                       NULL, &upload, &error);
  nj_uploaded_content content;
  if (nj_upload_get_content(upload, &content)) {
    char *url = nj_upload_url(upload);
    printf("\n%s: %lld bytes, %lld of them from an earlier run\n", url, (long long)content.size,
           (long long)content.resumed);
    nj_text_free(url);
    remove(path);
  } else {
    fprintf(stderr, "\n%s\n", nj_error_message(error));
    char *state = nj_upload_resume_state(upload);
    FILE *kept = state ? fopen(path, "w") : NULL;
    if (kept) {
      fputs(state, kept);
      fclose(kept);
    }
    nj_text_free(state);
  }
  nj_error_release(error);
  nj_upload_release(upload);
  nj_request_free(request);
  nj_client_free(client);
  return status == NJ_OK ? 0 : 1;
}
