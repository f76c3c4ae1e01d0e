/* njl_network.h - the status of the network. */
#ifndef NJL_NETWORK_H
#define NJL_NETWORK_H

#include "njl_types.h"

typedef struct njl_network {
  bool is_online;
  int is_metered; /* negative: unknown */
  int is_captive; /* negative: unknown */
  bool is_constrained;
  char interface[64]; /* empty: none */
  char kind[16];      /* empty: unknown */
} njl_network;

/* Waits up to half a second if the status is not known yet. */
void njl_network_read(njl_network *status);
void njl_network_set_constrained(bool is_constrained);

/* The changes of the network, for one Lua state. */
typedef struct njl_changes njl_changes;
njl_changes *njl_changes_new(njl_engine *engine);
void njl_changes_free(njl_changes *changes); /* ends the wait in progress */
/* Takes the next status: first the current status, and then the status after each change. Returns false if there is
 * none yet. At most 16 statuses wait to be taken; then each new status replaces the oldest. */
bool njl_changes_take(njl_changes *changes, njl_network *status);
/* Waits for the next status. A poll reports `wait` when a status has arrived or `changes` is freed. Returns an outcome,
 * owned by the caller and abandoned like a call. Returns NULL and sets `*error` on failure, for example if another wait
 * is in progress. */
njl_future *njl_changes_await(njl_engine *engine, njl_changes *changes, njl_wait *wait, njl_future **error);

#endif
