/* Prints the events of an event stream. The stream connects again by itself.
 *
 *   events BASE_URL PATH [LAST_EVENT_ID]      continues after the event with this id */
#include <nightjar.h>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s BASE_URL PATH [LAST_EVENT_ID]\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = nj_client_new(config, &err);
  nj_request *req = nj_request_new("GET", argv[2]);
  /* The request's Last-Event-ID is the start of the stream. */
  if (argc > 3) nj_request_set_header(req, "Last-Event-ID", argv[3]);
  nj_events *events = client ? nj_events_new(client, req, NULL, 0, &err) : NULL;

  const nj_event *event = NULL;
  nj_status status = events ? NJ_OK : nj_error_kind(err);
  while (events && (status = nj_events_next(events, NJ_NO_LIMIT, &event, &err)) == NJ_OK && event) {
    printf("%s %s: %s\n", nj_event_type(event), nj_event_id(event), nj_event_data(event, NULL));
  }
  if (status == NJ_OK) printf("to continue: %s\n", nj_events_last_event_id(events));
  else fprintf(stderr, "%s\n", nj_error_message(err));

  nj_events_free(events);
  nj_request_free(req);
  nj_client_free(client);
  nj_config_free(config);
  nj_error_release(err);
  return status == NJ_OK ? 0 : 1;
}
