/* csecret.h - stores texts in the desktop's Secret Service, one text for each service and account.
 *
 * Uses libsecret-1, which is loaded on first use and never unloaded, because GLib does not support unloading. Never
 * prompts: locked items are reported. Each call blocks and consists of a few steps on the bus, each with a timeout of
 * 25 seconds. Callable from any thread. */
#ifndef CSECRET_H
#define CSECRET_H

typedef enum csecret_result {
  CSECRET_OK = 0,
  CSECRET_NONE = 1,          /* the text does not exist */
  CSECRET_LOCKED = 2,        /* the text, its keyring or the default keyring is locked */
  CSECRET_NO_KEYRING = 3,    /* no default keyring exists in which the text could be stored */
  CSECRET_FAILED = 4,        /* `message` contains the reason */
  CSECRET_NO_LIBRARY = 5,    /* `message` contains the reason, such as a missing function */
} csecret_result;

/* These functions set `*message` and `*text` to NULL or to texts that the caller frees with csecret_free. */
csecret_result csecret_load(const char *service, const char *account, char **text, char **message);
csecret_result csecret_store(const char *service, const char *account, const char *label, const char *text,
                             char **message);

/* Overwrites the text and frees it. `text` may be NULL. */
void csecret_free(char *text);

#endif
