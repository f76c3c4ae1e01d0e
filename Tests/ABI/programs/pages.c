/* Paginated lists, against the demo API whose URL is the argument. */
#include "check.h"
#include <nightjar.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url;
static nj_client *client;

/* A request to a new list: /v1/lists/{name}/{style}?count={count}. */
static nj_request *list_of(const char *style, const char *count, const char *limit) {
  static int sets;
  char target[128];
  snprintf(target, sizeof target, "/v1/lists/pages-%d-%d/%s", (int)getpid(), ++sets, style);
  nj_request *request = nj_request_new("GET", target);
  nj_request_add_query(request, "count", count);
  nj_request_add_query(request, "limit", limit);
  return request;
}

/* Reads the remaining items, in the order of their identifiers from `first` on. */
static void read_items(nj_paginator *paginator, long first, long last) {
  const char *item;
  size_t length;
  nj_error *error = NULL;
  long next = first;
  nj_next_status found;
  while ((found = nj_paginator_next_item(paginator, &item, &length, &error)) == NJ_NEXT_FOUND) {
    char expected[32];
    snprintf(expected, sizeof expected, "\"id\":%ld,", next++ * 1000);
    CHECK(strstr(item, expected) != NULL);
    CHECK(strlen(item) == length && item[0] == '{');
  }
  if (error) fprintf(stderr, "%s\n", nj_error_message(error));
  CHECK(found == NJ_NEXT_END && error == NULL && item == NULL);
  CHECK(next == last + 1);
  nj_error_release(error);
}

static void styles(void) {
  static const struct {
    const char *style, *options;
  } all[] = {
      {"page", "{\"style\":\"page\",\"items\":\"/results\"}"},
      {"offset", "{\"style\":\"offset\",\"items\":\"/items\"}"},
      {"cursor", "{\"style\":\"cursor\",\"items\":\"/results\",\"next\":\"/next_cursor\"}"},
      {"link", "{\"style\":\"link\"}"},
      {"next", "{\"style\":\"next\",\"items\":\"/value\",\"next\":\"/next\",\"key\":\"/id\"}"},
      {"token", "{\"style\":\"header\",\"items\":\"/items\",\"header\":\"X-Next-Token\",\"request_header\":\"X-Token\"}"},
      {"link?next_header=X-Next-Page", "{\"next_header\":\"X-Next-Page\",\"items\":\"\"}"},
      {"cursor", "{}"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
    CHECK(nj_pagination_merge_json(pagination, all[i].options, strlen(all[i].options), NULL) == NJ_OK);
    nj_request *request = list_of(all[i].style, "35", "10");
    nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
    nj_pagination_free(pagination);
    nj_request_free(request);
    CHECK(paginator != NULL);
    read_items(paginator, 1, 35);
    char *explanation = nj_paginator_explanation(paginator);
    if (strcmp(all[i].options, "{}") == 0) CHECK(strncmp(explanation, "guessed: ", 9) == 0);
    nj_text_free(explanation);
    nj_paginator_refresh(paginator);
    read_items(paginator, 1, 35);
    nj_paginator_free(paginator);
  }
}

static nj_pagination *by_cursor(void) {
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_CURSOR);
  CHECK(nj_pagination_set_items(pagination, "/results") == NJ_OK);
  CHECK(nj_pagination_set_next(pagination, "/next_cursor") == NJ_OK);
  CHECK(nj_pagination_set_key(pagination, "/id") == NJ_OK);
  return pagination;
}

static void whole_pages(void) {
  nj_pagination *pagination = by_cursor();
  nj_request *request = list_of("cursor", "25", "10");
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  nj_page *page;
  const char *item;
  size_t length;
  CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_FOUND);
  CHECK(nj_page_number(page) == 1 && nj_page_count(page) == 10);
  CHECK(nj_response_status(nj_page_response(page)) == 200);
  CHECK(strstr(nj_page_item(page, 9, &length), "\"id\":10000,") != NULL);
  CHECK(nj_page_item(page, 9, NULL) == nj_page_item(page, 9, NULL));
  CHECK(nj_page_item(page, 10, NULL) == NULL && nj_page_item(page, (size_t)-1, NULL) == NULL);
  /* A position in the middle of a page, from which another paginator continues. */
  char *state = nj_page_state(page, 4);
  nj_paginator *other = nj_paginator_new(client, request, pagination, state, NULL);
  read_items(other, 5, 25);
  nj_paginator_free(other);
  nj_text_free(state);
  nj_page_release(page);
  CHECK(nj_paginator_next_item(paginator, &item, NULL, NULL) == NJ_NEXT_FOUND && strstr(item, "\"id\":11000,") != NULL);
  state = nj_paginator_state(paginator);
  other = nj_paginator_new(client, request, pagination, state, NULL);
  read_items(other, 12, 25);
  nj_paginator_free(other);
  nj_text_free(state);
  CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_FOUND);
  CHECK(nj_page_number(page) == 3 && nj_page_count(page) == 5);
  nj_page *kept = nj_page_retain(page);
  nj_page_release(page);
  CHECK(nj_page_count(kept) == 5);
  nj_page_release(kept);
  CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_END && page == NULL);
  CHECK(nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_END);
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

static void failing_page(void) {
  nj_pagination *pagination = by_cursor();
  nj_request *request = list_of("cursor", "25", "10");
  nj_request_add_query(request, "fail", "2");
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  const char *item;
  nj_error *error = NULL;
  int count = 0;
  while (nj_paginator_next_item(paginator, &item, NULL, &error) == NJ_NEXT_FOUND) count++;
  /* There is no error if the prefetch of the page failed, and the page was loaded again when it was requested. */
  if (error) {
    CHECK(count == 10 && nj_error_kind(error) == NJ_SERVER);
    nj_error_release(error);
    read_items(paginator, 11, 25);
  } else {
    CHECK(count == 25);
  }
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

static void custom(void) {
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_CUSTOM);
  nj_pagination_set_items(pagination, "/results");
  nj_request *request = list_of("cursor", "25", "10");
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  nj_page *page;
  nj_error *error = NULL;
  int pages = 0;
  CHECK(nj_paginator_set_next_url(paginator, NULL) == NJ_OK); /* No page has been returned yet, so this is misuse. */
  CHECK(nj_paginator_next_page(paginator, &page, &error) == NJ_NEXT_FAILED);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  while (nj_paginator_next_page(paginator, &page, NULL) == NJ_NEXT_FOUND) {
    const nj_response *response = nj_page_response(page);
    const char *cursor = NULL; /* stays NULL if the member is null */
    nj_response_json_string(response, "/next_cursor", &cursor, NULL, NULL);
    const char *items[] = {"cursor", cursor, NULL};
    pages++;
    CHECK(nj_paginator_set_next_query(paginator, cursor ? items : NULL) == NJ_OK);
    nj_page_release(page);
  }
  CHECK(pages == 3);
  const char *odd[] = {"cursor", NULL};
  CHECK(nj_paginator_set_next_query(paginator, odd) == NJ_INVALID_ARGUMENT);
  nj_paginator_free(paginator);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

typedef struct tally {
  size_t items;
  int pages, ends, failures;
  nj_status failure;
} tally;

static void page_came(void *context, nj_paginator *paginator, nj_page *page, const nj_error *error) {
  (void)paginator;
  tally *self = context;
  if (page) {
    self->pages++;
    self->items += nj_page_count(page);
  } else if (error) {
    self->failures++;
    self->failure = nj_error_kind(error);
  } else {
    self->ends++;
  }
}

static void queued(void) {
  nj_pagination *pagination = by_cursor();
  nj_request *request = list_of("cursor", "25", "10");
  nj_queue *queue = nj_queue_new();
  nj_paginator *paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
  tally all = {0};
  /* Requested concurrently, pages arrive in order. */
  for (int i = 0; i < 4; i++) CHECK(nj_paginator_start_next_page(paginator, queue, page_came, &all) == NJ_OK);
  while (all.ends == 0) nj_queue_poll(queue, -1);
  CHECK(all.pages == 3 && all.items == 25 && all.failures == 0);
  nj_paginator_free(paginator);

  /* The paginator is cancelled and freed before the page arrives. */
  nj_request_add_query(request, "delay", "3000");
  for (int i = 0; i < 2; i++) {
    tally cut = {0};
    paginator = nj_paginator_new(client, request, pagination, NULL, NULL);
    CHECK(nj_paginator_start_next_page(paginator, queue, page_came, &cut) == NJ_OK);
    if (i == 0) nj_paginator_cancel(paginator);
    nj_paginator_free(paginator);
    while (cut.failures == 0) nj_queue_poll(queue, -1);
    CHECK(cut.failure == NJ_CANCELLED && cut.pages == 0 && cut.ends == 0);
  }
  nj_queue_free(queue);
  nj_pagination_free(pagination);
  nj_request_free(request);
}

/* Hooks run on the waiting thread, and never on a thread of the library. */
static pthread_t here;
static int hooked, elsewhere;

static nj_status before(void *context, nj_prepared_request *request) {
  (void)context, (void)request;
  hooked++;
  elsewhere += !pthread_equal(here, pthread_self());
  return NJ_OK;
}

static void hooks(void) {
  here = pthread_self();
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_config_on_request(config, before, NULL);
  nj_client *other = nj_client_new(config, NULL);
  nj_config_free(config);
  nj_request *request = list_of("cursor", "35", "10");
  nj_paginator *paginator = nj_paginator_new(other, request, NULL, NULL, NULL);
  read_items(paginator, 1, 35);
  CHECK(hooked == 4 && elsewhere == 0);
  nj_paginator_free(paginator);
  nj_queue *queue = nj_queue_new();
  paginator = nj_paginator_new(other, request, NULL, NULL, NULL);
  tally all = {0};
  while (all.ends == 0) {
    int pages = all.pages;
    CHECK(nj_paginator_start_next_page(paginator, queue, page_came, &all) == NJ_OK);
    while (all.ends == 0 && all.pages == pages) nj_queue_poll(queue, -1);
  }
  CHECK(all.pages == 4 && all.items == 35 && hooked == 8 && elsewhere == 0);
  nj_paginator_free(paginator);
  /* The queue, the client and the paginator are freed in this order while a page is prefetched. */
  paginator = nj_paginator_new(other, request, NULL, NULL, NULL);
  CHECK(nj_paginator_next_item(paginator, NULL, NULL, NULL) == NJ_NEXT_FOUND);
  CHECK(nj_paginator_start_next_page(paginator, queue, page_came, &all) == NJ_OK);
  nj_queue_free(queue);
  nj_client_free(other);
  nj_error *error = NULL;
  CHECK(nj_paginator_next_page(paginator, &(nj_page *){NULL}, &error) == NJ_NEXT_FAILED && nj_error_kind(error) == NJ_CLOSED);
  nj_error_release(error);
  nj_paginator_free(paginator);
  nj_request_free(request);
}

static atomic_bool has_returned;

/* Cancels repeatedly, because a cancel before the page is requested has no effect. */
static void *cancel_it(void *paginator) {
  while (!atomic_load(&has_returned)) {
    nj_paginator_cancel(paginator);
    sched_yield();
  }
  return NULL;
}

static void cancelled(void) {
  nj_request *request = list_of("cursor", "25", "10");
  nj_request_add_query(request, "delay", "4000");
  nj_paginator *paginator = nj_paginator_new(client, request, NULL, NULL, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, cancel_it, paginator);
  nj_error *error = NULL;
  const char *item;
  CHECK(nj_paginator_next_item(paginator, &item, NULL, &error) == NJ_NEXT_FAILED);
  atomic_store(&has_returned, true);
  CHECK(nj_error_kind(error) == NJ_CANCELLED);
  nj_error_release(error);
  pthread_join(thread, NULL);
  nj_paginator_free(paginator);
  nj_request_free(request);
}

/* No callback runs in the child, not even inside the failing call. */
static void forked(void) {
  nj_request *request = list_of("cursor", "25", "10");
  nj_queue *queue = nj_queue_new();
  nj_paginator *paginator = nj_paginator_new(client, request, NULL, NULL, NULL);
  CHECK(nj_paginator_next_item(paginator, NULL, NULL, NULL) == NJ_NEXT_FOUND);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    checks_failed = 0;
    tally none = {0};
    CHECK(nj_paginator_start_next_page(paginator, queue, page_came, &none) == NJ_FORKED);
    CHECK(none.pages == 0 && none.ends == 0 && none.failures == 0);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execl("/bin/sh", "sh", "-c", checks_failed ? "exit 1" : "exit 0", (char *)NULL);
    _exit(2);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  nj_paginator_free(paginator);
  nj_queue_free(queue);
  nj_request_free(request);
}

/* The demo API's description defines the pagination of its lists. */
static void endpoints(void) {
  nj_error *error = NULL;
  nj_catalog *catalog = nj_client_load_catalog(client, "url:/openapi.json", &error);
  CHECK(catalog != NULL && error == NULL);
  nj_request *request = nj_request_from_endpoint(catalog, "list_users", NULL);
  CHECK(nj_request_set_argument(request, "per_page", "3") == NJ_OK);
  nj_paginator *paginator = nj_paginator_new(client, request, NULL, NULL, &error);
  CHECK(paginator != NULL && error == NULL);
  const char *item;
  long count = 0;
  while (nj_paginator_next_item(paginator, &item, NULL, &error) == NJ_NEXT_FOUND) count++;
  CHECK(error == NULL && count > 3);
  char *explanation = nj_paginator_explanation(paginator);
  CHECK_TEXT(explanation, "");
  nj_text_free(explanation);
  nj_paginator_free(paginator);
  CHECK(nj_request_set_argument(request, "per_pge", "3") == NJ_OK);
  CHECK(nj_paginator_new(client, request, NULL, NULL, &error) == NULL);
  CHECK_TEXT(nj_error_message(error), "endpoint \"list_users\" has no parameter \"per_pge\"; did you mean \"per_page\"?");
  nj_error_release(error);
  nj_request_free(request);
  nj_catalog_free(catalog);
}

static void misuse(void) {
  nj_request *request = list_of("cursor", "5", "5");
  nj_error *error = NULL;
  nj_page *page;
  const char *item;
  CHECK(nj_pagination_new((nj_pagination_style)99) == NULL);
  nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
  CHECK(nj_pagination_set_items(pagination, "results") == NJ_INVALID_ARGUMENT);
  CHECK(nj_pagination_set_key(NULL, "/id") == NJ_INVALID_ARGUMENT);
  CHECK(nj_pagination_set_next(pagination, NULL) == NJ_OK);
  CHECK(nj_pagination_merge_json(pagination, "{\"nxt\":1}", 9, &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "unknown option \"nxt\"; did you mean \"next\"?");
  nj_error_release(error);
  CHECK(nj_pagination_merge_json(pagination, "{", 1, NULL) == NJ_DECODING);
  nj_pagination_free(pagination);
  CHECK(nj_paginator_new(NULL, request, NULL, NULL, NULL) == NULL);
  CHECK(nj_paginator_new(client, NULL, NULL, NULL, NULL) == NULL);
  CHECK(nj_paginator_new(client, request, NULL, "nonsense", &error) == NULL);
  CHECK_TEXT(nj_error_message(error), "the state was not created by a paginator, or it is damaged");
  nj_error_release(error);
  CHECK(nj_paginator_next_item(NULL, &item, NULL, &error) == NJ_NEXT_FAILED && item == NULL);
  nj_error_release(error);
  CHECK(nj_paginator_next_page(NULL, &page, NULL) == NJ_NEXT_FAILED && page == NULL);
  nj_paginator *paginator = nj_paginator_new(client, request, NULL, NULL, NULL);
  CHECK(nj_paginator_next_page(paginator, NULL, NULL) == NJ_NEXT_FAILED);
  CHECK(nj_paginator_start_next_page(paginator, NULL, page_came, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_paginator_next_item(paginator, NULL, NULL, NULL) == NJ_NEXT_FOUND);
  CHECK(nj_paginator_set_next_url(NULL, "/x") == NJ_INVALID_ARGUMENT);
  nj_paginator_free(paginator);
  nj_paginator_free(NULL);
  nj_pagination_free(NULL);
  nj_page_release(NULL);
  nj_paginator_cancel(NULL);
  nj_paginator_refresh(NULL);
  CHECK(nj_paginator_state(NULL) == NULL && nj_paginator_explanation(NULL) == NULL && nj_page_state(NULL, 0) == NULL);
  CHECK(nj_page_retain(NULL) == NULL && nj_page_count(NULL) == 0 && nj_page_response(NULL) == NULL);
  nj_request_free(request);
}

/* The position is in the JSON body of a POST request. The routes match only the expected bodies. */
static void position_in_the_body(void) {
  static const struct {
    const char *routes, *options;
  } all[] = {
      {"[{\"path\":\"/s\",\"json\":{\"q\":1,\"page\":{\"token\":\"t3\"}},\"response\":{\"json\":[5]}},"
       "{\"path\":\"/s\",\"json\":{\"q\":1,\"page\":{\"token\":\"t2\"}},"
       "\"response\":{\"json\":[3,4],\"headers\":{\"X-Next-Token\":\"t3\"}}},"
       "{\"path\":\"/s\",\"body\":\"{\\\"q\\\":1}\",\"response\":{\"json\":[1,2],\"headers\":{\"X-Next-Token\":\"t2\"}}}]",
       "{\"style\":\"header\",\"header\":\"X-Next-Token\",\"items\":\"\",\"body_param\":\"/page/token\"}"},
      {"[{\"path\":\"/s\",\"json\":{\"q\":1,\"after\":\"c3\"},\"response\":{\"json\":{\"data\":[5],\"next\":null}}},"
       "{\"path\":\"/s\",\"json\":{\"q\":1,\"after\":\"c2\"},\"response\":{\"json\":{\"data\":[3,4],\"next\":\"c3\"}}},"
       "{\"path\":\"/s\",\"body\":\"{\\\"q\\\":1}\",\"response\":{\"json\":{\"data\":[1,2],\"next\":\"c2\"}}}]",
       "{\"style\":\"cursor\",\"items\":\"/data\",\"next\":\"/next\",\"body_param\":\"/after\"}"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    nj_config *config = nj_config_new();
    CHECK(nj_config_set_base_url(config, "http://api.test") == NJ_OK);
    CHECK(nj_config_set_mock(config, all[i].routes, strlen(all[i].routes), NULL) == NJ_OK);
    nj_client *mocked = nj_client_new(config, NULL);
    nj_config_free(config);
    nj_request *request = nj_request_new("POST", "/s");
    CHECK(nj_request_set_body_json(request, "{\"q\":1}", 7) == NJ_OK);
    nj_pagination *pagination = nj_pagination_new(NJ_PAGINATION_GUESS);
    CHECK(nj_pagination_merge_json(pagination, all[i].options, strlen(all[i].options), NULL) == NJ_OK);
    nj_error *error = NULL;
    nj_paginator *paginator = nj_paginator_new(mocked, request, pagination, NULL, &error);
    const char *item;
    int count = 0;
    while (nj_paginator_next_item(paginator, &item, NULL, &error) == NJ_NEXT_FOUND) CHECK(atoi(item) == ++count);
    if (error) fprintf(stderr, "%s\n", nj_error_message(error));
    CHECK(count == 5 && error == NULL);
    CHECK(nj_client_mock_verify(mocked, NULL) == NJ_OK);
    nj_error_release(error);
    nj_paginator_free(paginator);
    nj_pagination_free(pagination);
    nj_request_free(request);
    nj_client_free(mocked);
  }
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  url = argv[1];
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, url);
  nj_config_set_retry_attempts(config, 1);
  client = nj_client_new(config, NULL);
  nj_config_free(config);
  styles();
  whole_pages();
  position_in_the_body();
  failing_page();
  custom();
  queued();
  hooks();
  cancelled();
  forked();
  endpoints();
  misuse();
  nj_client_free(client);
  FINISH();
}
