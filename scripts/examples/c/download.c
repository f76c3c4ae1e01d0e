/* Downloads a file and shows the progress. A second run continues a download that was interrupted.
 *
 *   cc -I PREFIX/include download.c -L PREFIX/lib -lnightjar -Wl,-rpath,PREFIX/lib -o download
 *   download URL FILE [CONNECTIONS] */
#include <nightjar.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal) {
  (void)signal;
  is_interrupted = 1;
}

static void show(void *context, nj_download *download, const nj_download_progress *progress) {
  (void)context;
  if (is_interrupted) nj_download_cancel(download, true);
  if (progress->total < 0) {
    fprintf(stderr, "\r%lld bytes", (long long)progress->received);
  } else {
    double percent = progress->total == 0 ? 100 : 100.0 * (double)progress->received / (double)progress->total;
    fprintf(stderr, "\r%3.0f %%, %.0f s left   ", percent, progress->time_left < 0 ? 0 : progress->time_left);
  }
}

int main(int count, char **words) {
  if (count < 3 || count > 4) {
    fprintf(stderr, "usage: %s URL FILE [CONNECTIONS]\n", words[0]);
    return 2;
  }
  signal(SIGINT, interrupt);
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  nj_client *client = nj_client_new(config, &error);
  nj_config_free(config);
  nj_request *request = nj_request_new("GET", words[1]);
  char options[64];
  int length = snprintf(options, sizeof options, "{\"connections\": %d}", count > 3 ? atoi(words[3]) : 1);
  nj_download_callbacks callbacks = {.size = sizeof callbacks, .progress = show};
  nj_download *download = NULL;
  nj_status status = client == NULL ? NJ_CONNECT
                                    : nj_client_download(client, request, words[2], options, (size_t)length, &callbacks,
                                                         NULL, &download, &error);
  nj_downloaded_file file;
  if (nj_download_get_file(download, &file)) {
    char *path = nj_download_path(download);
    printf("\n%s: %lld bytes, %lld of them from an earlier run\n", path, (long long)file.size, (long long)file.resumed);
    nj_text_free(path);
  } else {
    char *state = nj_download_resume_state(download);
    fprintf(stderr, "\n%s%s\n", nj_error_message(error), state ? "; run the program again to continue" : "");
    nj_text_free(state);
  }
  nj_error_release(error);
  nj_download_release(download);
  nj_request_free(request);
  nj_client_free(client);
  return status == NJ_OK ? 0 : 1;
}
