/* Reads lists of the demo API: MODE URL COUNT PREFETCH.
 *
 *   work    reads pages of ten items, with 20 ms of work for each page; prints the wall time
 *   memory  reads item by item; prints the resident memory after a tenth of the items and at the end, and the peak */
#define _GNU_SOURCE
#include "measure.h"
#include <nightjar.h>
#include <unistd.h>

static nj_paginator *open_list(nj_client *client, const char *url, const char *options) {
  nj_error *err = NULL;
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_CURSOR);
  nj_request *request = nj_request_new("GET", url);
  nj_paginator *paginator = NULL;
  if (nj_pagination_merge_json(pagination, options, strlen(options), &err) == NJ_OK)
    paginator = nj_paginator_new(client, request, pagination, NULL, &err);
  if (!paginator) fprintf(stderr, "%s\n", nj_error_message(err)), exit(1);
  nj_request_free(request);
  nj_pagination_free(pagination);
  return paginator;
}

static void work(nj_paginator *paginator, long count) {
  double cpu = cpu_us(), wall = wall_us();
  nj_page *page = NULL;
  nj_error *err = NULL;
  long pages = 0;
  while (nj_paginator_next_page(paginator, &page, &err) == NJ_NEXT_FOUND) {
    usleep(20000);
    pages++;
    nj_page_release(page);
  }
  if (err || pages != count) fprintf(stderr, "%ld pages: %s\n", pages, err ? nj_error_message(err) : ""), exit(1);
  report(cpu_us() - cpu, wall_us() - wall);
}

static void memory(nj_paginator *paginator, long count) {
  const char *item;
  nj_error *err = NULL;
  long items = 0;
  double early = 0, cpu = cpu_us();
  while (nj_paginator_next_item(paginator, &item, NULL, &err) == NJ_NEXT_FOUND)
    if (++items == count / 10) early = memory_kib("VmRSS:");
  if (err || items != count) fprintf(stderr, "%ld items: %s\n", items, err ? nj_error_message(err) : ""), exit(1);
  printf("{\"early_kib\": %.0f, \"late_kib\": %.0f, \"peak_kib\": %.0f, \"cpu_us_per_item\": %.3f}\n", early,
         memory_kib("VmRSS:"), memory_kib("VmHWM:"), (cpu_us() - cpu) / (double)items);
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  char options[128];
  snprintf(options, sizeof options, "{\"items\": \"/results\", \"next\": \"/next_cursor\", \"prefetch\": %d}", atoi(argv[4]));
  nj_config *config = nj_config_new();
  nj_client *client = nj_client_new(config, NULL);
  nj_paginator *paginator = open_list(client, argv[2], options);
  if (strcmp(argv[1], "work") == 0) work(paginator, atol(argv[3]));
  else memory(paginator, atol(argv[3]));
  nj_paginator_free(paginator);
  nj_client_free(client);
  nj_config_free(config);
  return 0;
}
