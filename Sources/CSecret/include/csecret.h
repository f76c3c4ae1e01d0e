/* csecret.h - one text in the desktop's Secret Service, by libsecret-1, which is loaded when it is first asked for and
 * never unloaded (GLib cannot be). Nothing here prompts: what is locked is reported. Each call blocks, bounded by the bus's
 * own limit of 25 seconds for each of its few steps, and may come from any thread. */
#ifndef CSECRET_H
#define CSECRET_H

typedef enum csecret_result {
  CSECRET_OK = 0,
  CSECRET_NONE = 1,          /* there is no such text */
  CSECRET_LOCKED = 2,        /* it, or the keyring for it, is locked */
  CSECRET_NO_KEYRING = 3,    /* there is no default keyring to put it in */
  CSECRET_FAILED = 4,        /* `message` says why */
  CSECRET_NO_LIBRARY = 5,    /* `message` says what is missing of it */
} csecret_result;

/* `message` and `text` are NULL, or to be freed with csecret_free. */
csecret_result csecret_load(const char *service, const char *account, char **text, char **message);
csecret_result csecret_store(const char *service, const char *account, const char *label, const char *text,
                             char **message);

/* Overwrites what it frees. */
void csecret_free(char *text);

#endif
