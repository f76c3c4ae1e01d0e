/* Downloads files in the background: the first run starts the downloads and ends, a worker process performs them, and a
 * second run shows the progress of one and handles the ends of all.
 *
 *   cc -I PREFIX/include background.c -L PREFIX/lib -lnightjar -Wl,-rpath,PREFIX/lib -o background
 *   background PREFIX/bin/nightjar JOURNAL start ID URL FILE [ID URL FILE]...
 *   background PREFIX/bin/nightjar JOURNAL finish ID
 *
 * JOURNAL is a file. With NULL instead of its path, nj_transfers_new uses the journal of the user. */
#include <nightjar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Prints and releases an error. Returns the exit status. */
static int fail(nj_error *error) {
  fprintf(stderr, "%s\n", nj_error_message(error));
  nj_error_release(error);
  return 1;
}

/* Writes a text as a JSON string. */
static void write_string(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    if ((unsigned char)*text < 0x20) {
      fprintf(out, "\\u%04x", *text);
    } else {
      fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
  }
  fputc('"', out);
}

/* Records a download. If the journal has it already, for example because the program runs again, nothing changes. */
static int start(nj_transfers *transfers, const char *id, const char *url, const char *file) {
  char *options = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&options, &length);
  fputs("{\"download\": ", out);
  write_string(out, url);
  fputs(", \"to\": ", out);
  write_string(out, file);
  fputs("}", out);
  fclose(out);
  nj_error *error = NULL;
  nj_transfer *transfer = nj_transfers_start(transfers, id, options, length, &error);
  free(options);
  if (transfer == NULL) return fail(error);
  printf("%s: continues in the background\n", nj_transfer_id(transfer));
  nj_transfer_free(transfer);
  return 0;
}

/* Shows the progress of a transfer until it ends. */
static int show(nj_transfers *transfers, const char *id) {
  const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
  for (;; nanosleep(&pause, NULL)) {
    nj_error *error = NULL;
    nj_transfer *transfer = nj_transfers_get(transfers, id, &error);
    if (error != NULL) return fail(error);
    if (transfer == NULL) {
      fprintf(stderr, "there is no transfer %s\n", id);
      return 1;
    }
    bool has_ended = nj_transfer_get_state(transfer) >= NJ_TRANSFER_DONE;
    long long count = nj_transfer_transferred(transfer), total = nj_transfer_total(transfer);
    double rate = nj_transfer_rate(transfer);
    nj_transfer_free(transfer);
    fprintf(stderr, "\r%s: %lld", id, count);
    if (total >= 0) fprintf(stderr, " of %lld", total);
    fprintf(stderr, " bytes");
    if (rate >= 0) fprintf(stderr, ", %.0f bytes/s", rate);
    fprintf(stderr, has_ended ? "   \n" : "   ");
    if (has_ended) return 0;
  }
}

/* Handles the end of each transfer of the journal. Without nj_transfers_acknowledge, the next run handles it again. */
static int finish(nj_transfers *transfers) {
  int status = 0;
  nj_error *error = NULL;
  nj_transfer *transfer;
  while ((transfer = nj_transfers_next_ended(transfers, 0, &error)) != NULL) {
    const char *id = nj_transfer_id(transfer);
    switch (nj_transfer_get_state(transfer)) {
    case NJ_TRANSFER_DONE:
      printf("%s: %lld bytes\n", nj_transfer_path(transfer), (long long)nj_transfer_total(transfer));
      break;
    case NJ_TRANSFER_FAILED:
      printf("%s failed: %s\n", id, nj_error_message(nj_transfer_error(transfer)));
      status = 1;
      break;
    default:
      printf("%s was cancelled, or its result is not known\n", id);
      status = 1;
    }
    nj_transfers_acknowledge(transfers, id, &error);
    nj_transfer_free(transfer);
    if (error != NULL) break;
  }
  return error != NULL ? fail(error) : status;
}

int main(int count, char **words) {
  bool starts = count >= 7 && (count - 4) % 3 == 0 && strcmp(words[3], "start") == 0;
  if (!starts && !(count == 5 && strcmp(words[3], "finish") == 0)) {
    fprintf(stderr, "usage: %s NIGHTJAR JOURNAL start ID URL FILE [ID URL FILE]... | finish ID\n", words[0]);
    return 2;
  }
  nj_error *error = NULL;
  nj_transfers *transfers = nj_transfers_new(words[2], words[1], &error);
  if (transfers == NULL) return fail(error);
  int status = 0;
  for (int place = 4; starts && status == 0 && place < count; place += 3) {
    status = start(transfers, words[place], words[place + 1], words[place + 2]);
  }
  if (!starts) {
    /* If the worker was stopped, for example by a restart of the machine, the transfers continue from here. */
    status = nj_transfers_wake(transfers, &error) == NJ_OK ? show(transfers, words[4]) : fail(error);
    if (status == 0) status = finish(transfers);
  }
  nj_transfers_free(transfers);
  return status;
}
