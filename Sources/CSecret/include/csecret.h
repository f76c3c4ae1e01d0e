/* csecret.h - stores a text in the desktop's Secret Service with libsecret-1, which is loaded on first use and never
 * unloaded, because GLib cannot be unloaded. No function prompts; a locked keyring is an error. Each call blocks,
 * limited by the D-Bus timeout of 25 seconds for each of its few steps. Any thread may call. */
#ifndef CSECRET_H
#define CSECRET_H

typedef enum csecret_result {
  CSECRET_OK = 0,
  CSECRET_NONE = 1,          /* no such text */
  CSECRET_LOCKED = 2,        /* the text or its keyring is locked */
  CSECRET_NO_KEYRING = 3,    /* there is no default keyring */
  CSECRET_FAILED = 4,        /* `message` contains the reason */
  CSECRET_NO_LIBRARY = 5,    /* `message` contains the reason why the library cannot be used */
} csecret_result;

/* Sets `message` and `text` to NULL or to a string that the caller frees with csecret_free. */
csecret_result csecret_load(const char *service, const char *account, char **text, char **message);
csecret_result csecret_store(const char *service, const char *account, const char *label, const char *text,
                             char **message);

/* Overwrites the text before it frees it. */
void csecret_free(char *text);

#endif
