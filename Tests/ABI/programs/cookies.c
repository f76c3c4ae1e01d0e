/* Cookies from C: cookies DEMO_URL FOLDER. curl reads and writes the same cookies.txt. */
#include "check.h"
#include <nightjar.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *url, *folder;

static const char *place(const char *name) {
  static char path[4][1024];
  static int next;
  char *text = path[next++ % 4];
  snprintf(text, sizeof path[0], "%s/%s", folder, name);
  return text;
}

static int run(const char *format, const char *a, const char *b) {
  char command[4096];
  snprintf(command, sizeof command, format, a, b);
  return system(command);
}

static nj_client *client_with(nj_cookies *cookies) {
  nj_config *config = nj_config_new();
  nj_error *error = NULL;
  CHECK(nj_config_set_base_url(config, url) == NJ_OK);
  CHECK(nj_config_set_cookies(config, cookies) == NJ_OK);
  nj_client *client = nj_client_new(config, &error);
  CHECK(client != NULL && error == NULL);
  nj_config_free(config);
  return client;
}

/* Whether the response to a GET contains this text, regardless of its status. */
static int says(nj_client *client, const char *path, const char *wanted) {
  nj_request *request = nj_request_new("GET", path);
  nj_error *error = NULL;
  nj_response *response = nj_client_send(client, request, &error);
  nj_request_free(request);
  size_t length = 0;
  const char *body = response ? nj_response_body(response, &length) : NULL;
  int has = body != NULL && strstr(body, wanted) != NULL;
  if (!has) fprintf(stderr, "%s: %s\n", path, body ? body : nj_error_message(error));
  nj_response_release(response);
  nj_error_release(error);
  return has;
}

static size_t count(const nj_cookies *cookies) {
  nj_cookie_list *list = nj_cookies_list(cookies);
  size_t result = nj_cookie_list_count(list);
  nj_cookie_list_free(list);
  return result;
}

static void lists_sets_and_deletes(void) {
  nj_cookies *cookies = nj_cookies_new(NJ_COOKIES_ALL);
  nj_error *error = NULL;
  CHECK(nj_cookies_set(cookies, "https://example.com/", "a=1; Secure; HttpOnly; SameSite=Lax; Max-Age=60", &error) == NJ_OK);
  CHECK(nj_cookies_set(cookies, "https://example.com/x/", "b=2; Path=/x", &error) == NJ_OK);
  CHECK(nj_cookies_set(cookies, "http://example.com/", "c=3; Secure", &error) == NJ_INVALID_ARGUMENT);
  CHECK_TEXT(nj_error_message(error), "storing the cookie failed: it is Secure but was not received over https");
  nj_error_release(error);
  nj_cookie_list *list = nj_cookies_list(cookies);
  CHECK(nj_cookie_list_count(list) == 2);
  CHECK_TEXT(nj_cookie_list_name_at(list, 0), "a");
  CHECK_TEXT(nj_cookie_list_value_at(list, 0), "1");
  CHECK_TEXT(nj_cookie_list_domain_at(list, 0), "example.com");
  CHECK_TEXT(nj_cookie_list_path_at(list, 0), "/");
  CHECK_TEXT(nj_cookie_list_same_site_at(list, 0), "lax");
  CHECK(nj_cookie_list_secure_at(list, 0) && nj_cookie_list_http_only_at(list, 0));
  CHECK(nj_cookie_list_expires_at(list, 0) > 1.7e9);
  CHECK_TEXT(nj_cookie_list_same_site_at(list, 1), "unspecified");
  CHECK(!nj_cookie_list_secure_at(list, 1) && !nj_cookie_list_http_only_at(list, 1));
  CHECK(nj_cookie_list_expires_at(list, 1) == 0);
  CHECK(nj_cookie_list_name_at(list, 2) == NULL && nj_cookie_list_same_site_at(list, 2) == NULL);
  nj_cookie_list_free(list);
  CHECK(nj_cookies_delete(cookies, "a", NULL, "/x") == 0);
  CHECK(nj_cookies_delete(cookies, NULL, "EXAMPLE.com", NULL) == 2);
  CHECK(nj_cookies_flush(cookies, NULL) == NJ_OK);
  CHECK(nj_cookies_set(cookies, "http://example.com/", "d=4", NULL) == NJ_OK);
  nj_cookies_clear(cookies);
  CHECK(count(cookies) == 0);
  nj_cookies_free(cookies);
}

static void a_logout_clears_the_cookies_of_its_login(void) {
  nj_cookies *cookies = nj_cookies_open(place("login.db"), NJ_COOKIES_ALL, NULL);
  nj_client *client = client_with(cookies);
  CHECK(nj_cookies_set(cookies, "https://example.com/", "other=1; Path=/; Max-Age=60", NULL) == NJ_OK);
  CHECK(says(client, "/cookies/set?name=session&value=1&path=/&max_age=1000", "set"));
  CHECK(nj_client_log_out(client, NULL, false, NULL) == NJ_INVALID_REQUEST);
  CHECK(count(cookies) == 2);
  CHECK(nj_client_log_out(client, NULL, true, NULL) == NJ_OK);
  CHECK(count(cookies) == 1);
  CHECK(says(client, "/cookies", "\"fields\":[]"));
  nj_client_free(client);
  nj_cookies_free(cookies);
  cookies = nj_cookies_open(place("login.db"), NJ_COOKIES_ALL, NULL);
  CHECK(count(cookies) == 1);
  nj_cookies_free(cookies);
}

static void a_file_outlives_its_client(void) {
  nj_error *error = NULL;
  nj_cookies *cookies = nj_cookies_open(place("jar.db"), NJ_COOKIES_ALL, &error);
  CHECK(cookies != NULL);
  nj_client *client = client_with(cookies);
  CHECK(says(client, "/cookies/set?name=kept&value=1&path=/&max_age=1000", "set"));
  CHECK(says(client, "/cookies/set?name=lost&value=1&path=/", "set"));
  CHECK(says(client, "/cookies", "kept=1; lost=1"));
  struct stat status;
  CHECK(stat(place("jar.db"), &status) == 0 && (status.st_mode & 0777) == 0600);
  nj_cookies *same = nj_client_cookies(client);
  CHECK(count(same) == 2);
  nj_cookies_free(same);
  nj_cookies_free(cookies);
  nj_client_free(client);

  cookies = nj_cookies_open(place("jar.db"), NJ_COOKIES_FIRST_PARTY, &error);
  CHECK(count(cookies) == 1);
  client = client_with(cookies);
  CHECK(says(client, "/cookies", "kept=1\""));
  CHECK(nj_cookies_delete(cookies, "kept", NULL, NULL) == 1);
  CHECK(nj_cookies_flush(cookies, &error) == NJ_OK);
  nj_client_free(client);
  nj_cookies_free(cookies);

  cookies = nj_cookies_open(place("jar.db"), NJ_COOKIES_ALL, &error);
  CHECK(cookies != NULL && count(cookies) == 0);
  nj_cookies_free(cookies);
}

static void what_cannot_be_a_file_is_refused(void) {
  nj_error *error = NULL;
  CHECK(nj_cookies_open(place("none/jar.db"), NJ_COOKIES_ALL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_STORAGE);
  nj_error_release(error);
  CHECK(nj_cookies_open(NULL, NJ_COOKIES_ALL, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  CHECK(nj_cookies_open(folder, NJ_COOKIES_ALL, NULL) == NULL);
  CHECK(nj_cookies_open(place("jar.db"), (nj_cookie_policy)77, NULL) == NULL);
  CHECK(nj_cookies_flush(NULL, NULL) == NJ_INVALID_ARGUMENT);
  CHECK(nj_client_cookies(NULL) == NULL);
  nj_cookies_clear(NULL);

  nj_config *config = nj_config_new();
  char json[1200];
  snprintf(json, sizeof json, "{\"cookies\": {\"file\": \"%s\"}}", place("ephemeral.db"));
  CHECK(nj_config_merge_json(config, json, strlen(json), NULL) == NJ_OK);
  CHECK(nj_config_set_ephemeral(config, true) == NJ_OK);
  CHECK(nj_client_new(config, &error) == NULL);
  CHECK(nj_error_kind(error) == NJ_INVALID_ARGUMENT);
  nj_error_release(error);
  struct stat status;
  CHECK(stat(place("ephemeral.db"), &status) != 0);
  CHECK(nj_config_set_ephemeral(config, false) == NJ_OK);
  nj_client *client = nj_client_new(config, NULL);
  CHECK(client != NULL && stat(place("ephemeral.db"), &status) == 0);
  nj_client_free(client);
  nj_config_free(config);
}

/* SQLite must not be used in the child: its calls fail, and the parent's file stays intact. */
static void a_forked_child_leaves_its_parents_file_alone(void) {
  nj_cookies *cookies = nj_cookies_open(place("forked.db"), NJ_COOKIES_ALL, NULL);
  CHECK(nj_cookies_set(cookies, "http://h/", "before=1; Max-Age=100", NULL) == NJ_OK);
  CHECK(nj_cookies_flush(cookies, NULL) == NJ_OK);
  pid_t child = fork();
  if (child == 0) {
    nj_error *error = NULL;
    CHECK(nj_cookies_list(cookies) == NULL);
    CHECK(nj_cookies_set(cookies, "http://h/", "child=1; Max-Age=100", NULL) == NJ_FORKED);
    CHECK(nj_cookies_flush(cookies, NULL) == NJ_FORKED);
    CHECK(nj_cookies_open(place("forked.db"), NJ_COOKIES_ALL, &error) == NULL);
    CHECK(nj_error_kind(error) == NJ_FORKED);
    nj_error_release(error);
    nj_cookies_free(cookies);
    CHECK(nj_cookies_open(place("forked.db"), NJ_COOKIES_ALL, NULL) == NULL);
    nj_cookies *own = nj_cookies_open(place("childs-own.db"), NJ_COOKIES_ALL, NULL);
    CHECK(own != NULL);
    nj_cookies_free(own);
    /* Replaces the process, so that valgrind does not report the memory of the parent's threads as lost. */
    execlp(checks_failed ? "false" : "true", "child", (char *)NULL);
    _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(nj_cookies_set(cookies, "http://h/", "after=1; Max-Age=100", NULL) == NJ_OK);
  nj_cookies_free(cookies);
  cookies = nj_cookies_open(place("forked.db"), NJ_COOKIES_ALL, NULL);
  CHECK(count(cookies) == 2);
  nj_cookies_free(cookies);
}

static void curl_and_we_read_each_others_files(void) {
  nj_error *error = NULL;
  CHECK(run("curl -s -o /dev/null -c '%s' '%s/cookies/set?name=fromcurl&value=1&path=/&max_age=1000&http_only=true'",
            place("curl.txt"), url) == 0);
  nj_cookies *cookies = nj_cookies_new(NJ_COOKIES_ALL);
  size_t skipped = 77;
  CHECK(nj_cookies_import(cookies, place("curl.txt"), &skipped, &error) == NJ_OK);
  CHECK(skipped == 0 && count(cookies) == 1);
  nj_client *client = client_with(cookies);
  CHECK(says(client, "/cookies", "fromcurl=1"));
  CHECK(says(client, "/cookies/set?name=fromus&value=2&path=/", "set"));
  CHECK(nj_cookies_export(cookies, place("ours.txt"), &error) == NJ_OK);
  CHECK(run("curl -s -b '%s' '%s/cookies' | grep -q 'fromcurl=1; fromus=2'", place("ours.txt"), url) == 0);
  nj_client_free(client);
  nj_cookies_free(cookies);
  CHECK(nj_cookies_import(NULL, place("curl.txt"), NULL, NULL) == NJ_INVALID_ARGUMENT);
}

int main(int count, char **words) {
  if (count != 3) return 2;
  url = words[1];
  folder = words[2];
  lists_sets_and_deletes();
  a_logout_clears_the_cookies_of_its_login();
  a_file_outlives_its_client();
  what_cannot_be_a_file_is_refused();
  a_forked_child_leaves_its_parents_file_alone();
  curl_and_we_read_each_others_files();
  FINISH();
}
