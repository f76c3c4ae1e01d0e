/* Chats over a WebSocket in the event loop of the program: poll() watches standard input and the descriptor of the queue.
 * Lines are sent, messages are printed, and the end of the input closes the WebSocket.
 *
 *   websocket BASE_URL PATH */
#include <nightjar.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct chat {
  int unanswered; /* lines that have not come back */
  bool is_open, has_ended;
  int status;
};

static void opened(void *context, nj_websocket *socket) {
  (void)socket;
  ((struct chat *)context)->is_open = true;
}

static void received(void *context, nj_websocket *socket, const nj_message *message) {
  (void)socket;
  struct chat *chat = context;
  chat->unanswered--;
  printf("< %s\n", nj_message_data(message, NULL));
}

static void ended(void *context, nj_websocket *socket, const nj_error *err) {
  struct chat *chat = context;
  chat->has_ended = true;
  if (err) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    chat->status = 1;
  } else {
    printf("closed with %d\n", nj_websocket_close_code(socket));
  }
}

static const nj_websocket_callbacks callbacks = {sizeof callbacks, opened, received, NULL, ended};

/* Sends a line. Returns false at the end of the input. */
static bool send_line(struct chat *chat, nj_websocket *socket) {
  char line[1024];
  if (!fgets(line, sizeof line, stdin)) return false;
  size_t length = strcspn(line, "\n");
  /* Blocks while the send queue is full. The client's thread empties it. */
  nj_error *err = NULL;
  if (nj_websocket_send(socket, NJ_MESSAGE_TEXT, line, length, 30, &err) == NJ_OK) {
    chat->unanswered++;
  } else {
    fprintf(stderr, "not sent: %s: %s\n", line, nj_error_message(err));
    nj_error_release(err);
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s BASE_URL PATH\n", argv[0]);
    return 2;
  }
  nj_error *err = NULL;
  nj_config *config = nj_config_new();
  nj_config_set_base_url(config, argv[1]);
  nj_client *client = nj_client_new(config, &err);
  nj_queue *queue = nj_queue_new();
  nj_request *req = nj_request_new("GET", argv[2]);
  struct chat chat = {0};
  nj_websocket *socket = client ? nj_client_start_websocket(client, req, NULL, 0, queue, &callbacks, &chat, &err) : NULL;
  if (!socket) {
    fprintf(stderr, "%s\n", nj_error_message(err));
    chat.status = 1;
    chat.has_ended = true;
  }

  setvbuf(stdin, NULL, _IONBF, 0); /* poll() does not see lines in the buffer of stdio */
  bool reads_input = true, is_closing = false;
  while (!chat.has_ended) {
    struct pollfd waits[] = {{.fd = nj_queue_fd(queue), .events = POLLIN},
                             {.fd = reads_input && chat.is_open ? 0 : -1, .events = POLLIN}};
    if (poll(waits, 2, -1) < 0) break;
    if (waits[0].revents) nj_queue_poll(queue, 0);
    if (waits[1].revents) reads_input = send_line(&chat, socket);
    if (!reads_input && chat.unanswered == 0 && !is_closing) {
      is_closing = true;
      nj_websocket_start_close(socket, 1000, NULL, NULL);
    }
  }

  nj_websocket_release(socket);
  nj_request_free(req);
  nj_client_free(client);
  nj_queue_free(queue);
  nj_config_free(config);
  nj_error_release(err);
  return chat.status;
}
