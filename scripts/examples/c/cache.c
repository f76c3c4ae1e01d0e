/* Prints the cached response at once, and the fresh response when it arrives: a memory cache with the policy
 * offline-first.
 *   cc cache.c $(pkg-config --cflags --libs nightjar) && ./a.out http://127.0.0.1:8080 */
#include <nightjar.h>
#include <stdio.h>

static const char *const sources[] = {"the server", "another call", "the cache", "the cache, confirmed by the server",
                                      "the cache, stale"};

struct progress {
  int finished, expected;
};

static void show(const char *which, const nj_response *res) {
  printf("%s: %s from %s\n", which, nj_response_body(res, NULL), sources[nj_response_source(res)]);
}

static void refreshed(void *context, const nj_response *res, const nj_error *err) {
  struct progress *progress = context;
  progress->finished++;
  if (res) show("the fresh response", res);
  else fprintf(stderr, "the revalidation failed: %s\n", nj_error_message(err));
}

static void done(void *context, nj_task *task, const nj_response *res, const nj_error *err) {
  (void)task;
  struct progress *progress = context;
  progress->finished++;
  if (!res) {
    fprintf(stderr, "%s: %s\n", nj_status_name(nj_error_kind(err)), nj_error_message(err));
    return;
  }
  show("the cached response", res);
  if (nj_response_is_being_refreshed(res)) progress->expected++;
}

/* Starts the request and waits for all its callbacks. */
static void run(nj_client *client, nj_request *req, nj_queue *queue) {
  struct progress progress = {0, 1};
  nj_request_on_refresh(req, queue, refreshed, &progress);
  nj_task *task = nj_client_start(client, req, queue, done, &progress, NULL);
  nj_task_release(task);
  while (task && progress.finished < progress.expected) nj_queue_poll(queue, -1);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DEMO_URL\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_cache *cache = nj_cache_new(20 << 20); /* nj_cache_open: also on disk */
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_config_set_cache(config, cache);
  nj_config_set_cache_policy(config, NJ_CACHE_OFFLINE_FIRST);
  nj_client *client = nj_client_new(config, &err);
  nj_config_free(config);
  if (!client) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    nj_error_release(err);
    nj_cache_free(cache);
    return 1;
  }

  nj_queue *queue = nj_queue_new();
  nj_request *req = nj_request_new("GET", "/cache/example?control=max-age%3D0&etag=strong");
  run(client, req, queue);                                            /* Nothing is stored: the server responds. */
  nj_request *write = nj_request_new("POST", "/cache/example");
  nj_response_release(nj_client_send(client, write, NULL));           /* The server creates a new version. */
  run(client, req, queue);                                            /* The old version at once, then the new version. */

  nj_response *res = nj_client_cache_get(client, req, NULL);             /* Sends no request. */
  if (res) show("the cache", res);
  nj_response_release(res);
  printf("%lld of %lld calls were served from the cache\n",
         (long long)nj_cache_statistics(cache, NJ_CACHE_STATISTIC_HITS),
         (long long)(nj_cache_statistics(cache, NJ_CACHE_STATISTIC_HITS) +
                     nj_cache_statistics(cache, NJ_CACHE_STATISTIC_MISSES)));

  nj_request_free(write);
  nj_request_free(req);
  nj_queue_free(queue);
  nj_client_free(client);
  nj_cache_free(cache);
  return 0;
}
