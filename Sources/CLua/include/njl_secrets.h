/* njl_secrets.h - texts and URLs without their secrets. */
#ifndef NJL_SECRETS_H
#define NJL_SECRETS_H

#include "njl_types.h"

/* Returns whether a header, parameter or variable of that name most likely holds a credential. */
bool njl_is_secret_name(njl_bytes name);
/* Returns the text with the recognized secrets masked; the caller releases the returned text. */
njl_text *njl_redacted(njl_bytes text);
/* Returns an http or https URL as it is sent, or with secrets masked for display. Owned by the caller. Returns NULL
 * and sets `*error` if the URL is invalid. */
njl_text *njl_url_canonical(njl_bytes url, bool shows_secrets, njl_future **error);

#endif
